#include "agent/collect/player.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect/plan.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "perflib/bytes.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

using perflib::CountersetRegistration;

constexpr absl::Duration kProgressInterval = absl::Seconds(2);
// The interval at which the player checks whether it was stopped.
constexpr absl::Duration kStopInterval = absl::Milliseconds(100);

absl::Status CaptureError(const v1::Capture& capture, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the capture of ", capture.machine(), " ", what));
}

InstanceSelection ToSelection(const CountersetRegistration& registration,
                              const v1::CapturedQuery& query) {
  const std::string counterset = registration.guid.ToString();
  return {registration,
          {{.counterset = counterset, .aggregates = registration.aggregates}},
          {{.counterset = counterset,
            .include = {query.include().begin(), query.include().end()},
            .exclude = {query.exclude().begin(), query.exclude().end()}}}};
}

InstanceFilter ToFilter(const v1::CapturedFilter& proto) {
  InstanceFilter filter;
  for (const std::string& text : proto.instances()) {
    filter.instances.emplace_back(text);
  }
  for (const std::string& text : proto.except()) {
    filter.except.emplace_back(text);
  }
  return filter;
}

absl::StatusOr<ResolvedQuery> ToQuery(const v1::Capture& capture,
                                      const v1::CapturedQuery& proto) {
  ResolvedQuery query;
  bool found = false;
  for (const v1::CountersetRegistration& counterset : capture.countersets()) {
    if (counterset.guid() != proto.counterset()) continue;
    ASSIGN_OR_RETURN(query.registration, FromProto(counterset));
    found = true;
  }
  if (!found)
    return CaptureError(capture, "lacks the registration of a counterset");
  query.interval = FromProto(capture.interval());
  const absl::Status interval = CheckInterval(query.interval);
  if (!interval.ok()) {
    return CaptureError(
        capture, absl::StrCat("has an invalid interval: ", interval.message()));
  }
  if (proto.counter_ids().empty()) {
    return CaptureError(capture, "has a query without counters");
  }
  absl::flat_hash_set<uint32_t> ids;
  for (const uint32_t id : proto.counter_ids()) {
    if (!ids.insert(id).second) {
      return CaptureError(capture,
                          absl::StrCat("asks for counter ", id, " twice"));
    }
    if (query.registration.FindCounter(id) == nullptr) {
      return CaptureError(
          capture, absl::StrCat("lacks counter ", id, " of counterset \"",
                                query.registration.name, "\""));
    }
    const bool only_linked = std::count(proto.only_linked().begin(),
                                        proto.only_linked().end(), id) > 0;
    query.counters.push_back({.id = id, .only_linked = only_linked});
  }
  if (proto.has_start_counter_id()) {
    query.start_counter_id = proto.start_counter_id();
  }
  for (const v1::CapturedFilter& filter : proto.filters()) {
    query.filters.push_back(ToFilter(filter));
  }
  if (query.filters.empty()) query.filters.emplace_back();
  query.selection = ToSelection(query.registration, proto);
  query.wrap32 = proto.wrap32();
  return query;
}

}  // namespace

uint64_t EpochOf(const std::vector<Recording>& recordings,
                 const std::string& machine) {
  // The version is included because other versions may cut batches differently.
  std::string digests = Sha256(absl::StrCat(kVersion, " ", machine));
  for (const Recording& recording : recordings) {
    if (recording.block_paths.empty()) continue;
    digests += Sha256(recording.capture.SerializeAsString());
    for (const std::string& path : recording.block_paths) {
      const absl::StatusOr<std::string> block = ReadFile(path);
      digests += Sha256(block.ok() ? *block : "cannot be read");
    }
  }
  return perflib::LoadAt<uint64_t>(Sha256(digests), 0);
}

absl::StatusOr<std::vector<CountersetRegistration>> RegistrationsOf(
    const std::vector<Recording>& recordings) {
  std::map<perflib::Guid, CountersetRegistration> by_guid;
  for (const Recording& recording : recordings) {
    for (const auto& proto : recording.capture.countersets()) {
      ASSIGN_OR_RETURN(CountersetRegistration registration, FromProto(proto));
      by_guid[registration.guid] = std::move(registration);
    }
  }
  std::vector<CountersetRegistration> registrations;
  for (auto& [guid, registration] : by_guid) {
    registrations.push_back(std::move(registration));
  }
  return registrations;
}

Player::Player(const Options& options)
    : options_(options),
      instances_(options.machine, &options.delivery->dictionary()) {}

absl::StatusOr<std::unique_ptr<Player>> Player::Open(
    std::vector<Recording> recordings, const Options& options) {
  std::unique_ptr<Player> player(new Player(options));
  for (Recording& recording : recordings) {
    if (recording.block_paths.empty()) continue;
    std::vector<ResolvedQuery> queries;
    for (const v1::CapturedQuery& proto : recording.capture.queries()) {
      ASSIGN_OR_RETURN(ResolvedQuery query, ToQuery(recording.capture, proto));
      queries.push_back(std::move(query));
    }
    if (queries.empty())
      return CaptureError(recording.capture, "has no queries");
    Track& track = player->tracks_.emplace_back();
    track.block_paths = recording.block_paths;
    track.next_time = BlockTime(track.block_paths.front());
    track.source = MakeReplaySource(std::move(recording));
    std::vector<std::string> warnings;
    ASSIGN_OR_RETURN(
        track.collector,
        Collector::Open(track.source.get(),
                        static_cast<uint32_t>(player->tracks_.size()),
                        std::move(queries), &player->instances_, &warnings));
    for (const std::string& warning : warnings) LogWarning(warning);
    player->blocks_ += track.block_paths.size();
  }
  return player;
}

Player::Track* Player::OldestTrack() {
  Track* oldest = nullptr;
  for (Track& track : tracks_) {
    if (track.next == track.block_paths.size()) continue;
    if (oldest == nullptr || track.next_time < oldest->next_time) {
      oldest = &track;
    }
  }
  return oldest;
}

void Player::PlayBlock(Track& track) {
  const std::string& path = track.block_paths[track.next];
  BlockSamples samples;
  std::vector<std::string> problems;
  const absl::Status status = track.collector->Collect(&samples, &problems);
  if (status.ok()) {
    options_.delivery->Add(std::move(samples));
    if (!problems.empty()) ++damaged_;
  } else {
    ++unreadable_;
    if (problems.empty()) log_.Warn(path, status.message());
  }
  if (!problems.empty()) {
    const size_t more = problems.size() - 1;
    log_.Warn(path,
              absl::StrCat(path, ": ", problems.front(),
                           more > 0 ? absl::StrCat("; and ", more, " more")
                                    : std::string()));
  }
  ++played_;
  ++track.next;
  if (track.next < track.block_paths.size()) {
    track.next_time = BlockTime(track.block_paths[track.next]);
  }
}

bool Player::AwaitSpool(uint64_t bytes) const {
  while (!stopping_) {
    if (options_.delivery->spool().AwaitAtMost(bytes, kStopInterval)) {
      return true;
    }
  }
  return false;
}

absl::Status Player::Stopped() const {
  return absl::CancelledError(absl::StrCat(
      "stopped after ", played_, " of ", blocks_, " blocks; some of them may ",
      "not be stored. Play the capture again as ", options_.machine,
      " to store the rest"));
}

absl::Status Player::Finished() const {
  const Spool::Rejected rejected = options_.delivery->spool().rejected();
  std::vector<std::string> losses;
  if (unreadable_ > 0) {
    losses.push_back(absl::StrCat(unreadable_, " could not be read"));
  }
  if (damaged_ > 0) {
    losses.push_back(absl::StrCat(damaged_, " could be read only in part"));
  }
  if (rejected.batches > 0) {
    losses.push_back(absl::StrCat(
        rejected.ticks, " were in batches that the aggregator rejected (",
        rejected.batches, ")"));
  }
  if (!losses.empty()) {
    return absl::DataLossError(
        absl::StrCat("stored ", blocks_ - unreadable_ - rejected.ticks, " of ",
                     blocks_, " blocks as ", options_.machine, ": ",
                     absl::StrJoin(losses, ", "), "; the log says why"));
  }
  // The aggregator does not report whether these batches were stored in full.
  const uint64_t known = options_.delivery->spool().known();
  LogInfoOf(
      options_.machine,
      absl::StrCat(
          "played ", blocks_, " blocks as ", options_.machine, ", and ",
          known == 0 ? "all are stored"
                     : absl::StrCat("the aggregator already had the first ",
                                    known, " batches; the rest are stored")));
  return absl::OkStatus();
}

absl::Status Player::Play() {
  absl::Duration next_progress = Clock::Real().Monotonic() + kProgressInterval;
  while (Track* track = OldestTrack()) {
    if (!AwaitSpool(options_.max_spool_bytes)) return Stopped();
    PlayBlock(*track);
    if (Clock::Real().Monotonic() >= next_progress) {
      next_progress += kProgressInterval;
      LogInfo("played ", played_, " of ", blocks_, " blocks");
    }
  }
  options_.delivery->Flush();
  if (!AwaitSpool(0)) return Stopped();
  return Finished();
}

}  // namespace fleetperf::agent
