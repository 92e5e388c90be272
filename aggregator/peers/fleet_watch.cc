#include "aggregator/peers/fleet_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The subscriber waits for a peer that is down.
constexpr absl::Duration kBeginTimeout = absl::Seconds(5);
// The waits before a stream is begun again. They grow unless the stream lasted
// longer than the longest one: a peer may answer, and then fail each time.
constexpr absl::Duration kFirstWait = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Seconds(10);
// The wait before an address is tried again that leads to a known store.
constexpr absl::Duration kDuplicateWait = absl::Minutes(1);
// The time by which a stream that is begun again overlaps with the one before:
// agents hold samples for some seconds, and longer after an interruption.
constexpr absl::Duration kOverlap = absl::Minutes(1);
// The limit of the stored values that such a stream begins with.
constexpr absl::Duration kLongestCatchUp = absl::Minutes(10);
// The messages of a source before others get their turn.
constexpr int kMessagesAtOnce = 16;

bool HasValues(const v1::SubscribeResponse& message) {
  return message.points_size() > 0 || message.raw_samples_size() > 0;
}

// Whether the subscription would fail again.
bool IsErrorOfRequest(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

std::set<std::string> MissingPaths(const v1::SubscribeResponse& first) {
  std::set<std::string> paths;
  for (const v1::Missing& missing : first.missing()) {
    paths.insert(missing.path());
  }
  return paths;
}

}  // namespace

FleetWatch::FleetWatch(Options options) : options_(std::move(options)) {
  sources_.push_back(MakeSource(nullptr));
}

FleetWatch::~FleetWatch() = default;

std::unique_ptr<FleetWatch::Source> FleetWatch::MakeSource(
    std::shared_ptr<PeerChannel> peer) {
  return std::make_unique<Source>(
      Source{.peer = std::move(peer),
             .merged = merge_.Begin(),
             .backoff = Backoff(kFirstWait, kLongestWait)});
}

absl::Duration FleetWatch::Work(const Peers::List& peers, absl::Duration now) {
  if (options_.merged->has_end()) return absl::InfiniteDuration();
  if (!begin_until_.has_value()) begin_until_ = now + kBeginTimeout;
  FollowList(peers);
  bool has_more = false;
  for (const auto& source : sources_) {
    if (source->peer != nullptr && source->stream == nullptr &&
        source->next_attempt <= now) {
      Connect(source.get());
    }
    has_more |= Receive(source.get(), now);
  }
  if (!begun_at_.has_value() && IsReadyToBegin(now)) {
    Begin(now);
    has_more = true;
  }
  if (has_more) return now;
  absl::Duration next = absl::InfiniteDuration();
  if (!begun_at_.has_value() && now < *begin_until_) next = *begin_until_;
  for (const auto& source : sources_) {
    if (source->peer == nullptr || source->stream != nullptr) continue;
    next = std::min(next, source->next_attempt);
  }
  return next;
}

void FleetWatch::FollowList(const Peers::List& peers) {
  const auto is_known = [&](const std::shared_ptr<PeerChannel>& peer) {
    return std::any_of(
        sources_.begin(), sources_.end(),
        [&](const auto& source) { return source->peer == peer; });
  };
  bool has_changed = false;
  std::erase_if(sources_, [&](const auto& source) {
    if (source->peer == nullptr ||
        std::count(peers.begin(), peers.end(), source->peer) > 0) {
      return false;
    }
    options_.merged->AddPaced(
        std::make_shared<const FeedUpdate>(merge_.End(source->merged)));
    has_changed = true;
    return true;
  });
  for (const auto& peer : peers) {
    if (is_known(peer)) continue;
    sources_.push_back(MakeSource(peer));
    has_changed = true;
  }
  if (!has_changed) return;
  // Whoever changes the list may have started others, too.
  for (const auto& source : sources_) source->next_attempt = {};
  ReportMachines();
  ReportUnreachable();
}

void FleetWatch::Connect(Source* source) {
  v1::SubscribeRequest request = options_.request;
  request.set_own_machines_only(true);
  // History that was not sent is read again; the merge leaves out what was.
  const bool repeats =
      !std::exchange(source->has_sent_history, false) &&
      (source->missing_since.has_value() || options_.request.has_start());
  if (!repeats) source->missing_since = HeardUntil(*source);
  if (source->missing_since.has_value()) {
    *request.mutable_start() = fleetperf::ToProto(std::max(
        *source->missing_since, Clock::Real().Now() - kLongestCatchUp));
  }
  source->merged = merge_.Resume(source->merged);
  source->stream =
      std::make_unique<PeerStream>(source->peer, request, options_.wake);
}

std::optional<absl::Time> FleetWatch::HeardUntil(const Source& source) const {
  std::optional<absl::Time> newest = source.merged.newest();
  if (!newest.has_value() && !options_.request.has_start()) newest = begun_at_;
  if (!newest.has_value()) return std::nullopt;
  // A machine's clock may be ahead.
  return std::min(*newest, source.heard_at) - kOverlap;
}

bool FleetWatch::Receive(Source* source, absl::Duration now) {
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    const bool must_wait = begun_at_.has_value()
                               ? options_.merged->IsFullOfHistory()
                               : source->first.has_value();
    if (must_wait) return false;
    v1::SubscribeResponse message;
    if (!Take(source, &message)) {
      const auto end = EndOf(*source);
      if (end.has_value()) Fail(source, *end, now);
      return false;
    }
    Use(message, source, now);
  }
  return true;
}

bool FleetWatch::Take(Source* source, v1::SubscribeResponse* message) {
  if (source->peer != nullptr) {
    return source->stream != nullptr && source->stream->Take(message);
  }
  Outbox::Message own;
  if (!options_.own->Take(&own)) return false;
  message->Swap(&own.response);
  for (const auto& part : own.encoded_values) message->MergeFromString(*part);
  return true;
}

std::optional<absl::Status> FleetWatch::EndOf(const Source& source) const {
  if (source.peer == nullptr) return options_.own->ended();
  if (source.stream == nullptr) return std::nullopt;
  return source.stream->ended();
}

void FleetWatch::Use(const v1::SubscribeResponse& message, Source* source,
                     absl::Duration now) {
  if (source->peer != nullptr && !std::exchange(source->has_answered, true)) {
    source->store_id = message.store_id();
    source->answered_at = now;
    source->problem = absl::OkStatus();
    const bool is_duplicate = IsDuplicate(*source);
    if (is_duplicate) Disconnect(source, now + kDuplicateWait);
    if (begun_at_.has_value()) ReportUnreachable();
    if (is_duplicate) return;
  }
  if (HasValues(message)) source->heard_at = Clock::Real().Now();
  if (!begun_at_.has_value()) {
    source->first = message;
    return;
  }
  auto update = merge_.Add(message, &source->merged);
  if (!update.ok()) return Fail(source, update.status(), now);
  if (message.has_live_machines()) {
    source->machines = message.live_machines();
    ReportMachines();
  }
  // History does not make a series late.
  auto shared = std::make_shared<const FeedUpdate>(*std::move(update));
  if (!source->has_sent_history &&
      (source->missing_since.has_value() || options_.request.has_start())) {
    options_.merged->AddHistory(std::move(shared));
  } else {
    options_.merged->AddPaced(std::move(shared));
  }
  if (!message.history_sent()) return;
  source->has_sent_history = true;
  options_.merged->AddPaced(
      std::make_shared<const FeedUpdate>(merge_.EndBefore(&source->merged)));
}

bool FleetWatch::IsDuplicate(const Source& source) const {
  return source.store_id == options_.own_store_id ||
         std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
           return other.get() != &source && other->has_answered &&
                  other->store_id == source.store_id;
         });
}

void FleetWatch::Disconnect(Source* source, absl::Duration next_attempt) {
  source->stream.reset();
  source->first.reset();
  source->has_answered = false;
  source->store_id.clear();
  source->machines.Clear();
  source->next_attempt = next_attempt;
}

void FleetWatch::Fail(Source* source, const absl::Status& problem,
                      absl::Duration now) {
  if (source->peer == nullptr || IsErrorOfRequest(problem)) {
    return options_.merged->End(problem);
  }
  // The first problem stays: the subscriber knows it.
  source->problem.Update(problem);
  if (source->has_answered && now - source->answered_at > kLongestWait) {
    source->backoff.Reset();
  }
  Disconnect(source, now + source->backoff.Next());
  if (!begun_at_.has_value()) return;
  ReportMachines();
  ReportUnreachable();
}

bool FleetWatch::IsReadyToBegin(absl::Duration now) {
  if (!sources_.front()->first.has_value()) return false;
  for (const auto& source : sources_) {
    if (source->stream == nullptr || source->has_answered) continue;
    if (now < *begin_until_) return false;
    source->problem = absl::UnavailableError(absl::StrCat(
        "the aggregator at ", source->peer->address(), " does not answer"));
  }
  return true;
}

void FleetWatch::Begin(absl::Duration now) {
  std::set<std::string> missing = MissingPaths(*sources_.front()->first);
  bool has_problem = false;
  for (const auto& source : sources_) {
    has_problem |= !source->problem.ok();
    if (!source->first.has_value()) continue;
    const std::set<std::string> of_source = MissingPaths(*source->first);
    std::erase_if(missing, [&](const std::string& path) {
      return !of_source.contains(path);
    });
  }
  v1::SubscribeResponse first;
  for (const v1::Missing& path : sources_.front()->first->missing()) {
    if (missing.contains(path.path())) *first.add_missing() = path;
  }
  const auto& paths = options_.request.paths();
  const bool all_are_missing = std::all_of(
      paths.begin(), paths.end(),
      [&](const std::string& path) { return missing.contains(path); });
  if (all_are_missing && first.missing_size() > 0 && !has_problem) {
    return options_.merged->End(absl::NotFoundError(first.missing(0).reason()));
  }
  begun_at_ = Clock::Real().Now();
  options_.merged->SetFirst(std::move(first));
  ReportUnreachable();
  for (const auto& source : sources_) {
    if (!source->first.has_value()) continue;
    Use(*std::exchange(source->first, std::nullopt), source.get(), now);
  }
  options_.merged->Begin();
}

void FleetWatch::ReportMachines() {
  v1::LiveMachines all;
  for (const auto& source : sources_) {
    const v1::LiveMachines& machines = source->machines;
    all.set_live(all.live() + machines.live());
    all.set_widened(all.widened() + machines.widened());
    const absl::Duration interval =
        fleetperf::FromProto(machines.widened_interval());
    if (machines.has_widened_interval() &&
        interval > fleetperf::FromProto(all.widened_interval())) {
      *all.mutable_widened_interval() = machines.widened_interval();
    }
  }
  options_.merged->SetLiveMachines(all);
}

void FleetWatch::ReportUnreachable() {
  v1::UnreachablePeers unreachable;
  std::set<std::string> addresses;
  for (const auto& source : sources_) {
    if (source->problem.ok()) continue;
    v1::UnreachablePeer* const peer = unreachable.add_peers();
    peer->set_address(source->peer->address());
    peer->set_reason(std::string(source->problem.message()));
    addresses.insert(peer->address());
  }
  if (std::exchange(reported_, addresses) == addresses) return;
  options_.merged->SetUnreachable(unreachable);
}

}  // namespace fleetperf::aggregator
