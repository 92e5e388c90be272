#include "aggregator/query/path_check.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/query/series.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"
#include "base/text/units.h"

namespace fleetperf::aggregator {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::Path;

// The limit of names compared for a suggestion.
constexpr size_t kMaxSuggestions = 10'000;

// The limit of countersets of machines that are read to explain a miss.
constexpr size_t kMaxReads = 100;

// The type URL of the payload with the path.
constexpr char kMissingPath[] = "fleetperf/missing_path";

}  // namespace

std::optional<std::string> PathOf(const absl::Status& status) {
  const auto missed = MissedPath(status);
  if (missed.has_value()) return missed;
  const auto payload = status.GetPayload(kMissingPath);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

v1::Missing ToMissing(const absl::Status& status) {
  v1::Missing missing;
  missing.set_path(PathOf(status).value_or(""));
  absl::string_view reason = status.message();
  absl::ConsumePrefix(&reason, absl::StrCat(Excerpt(missing.path()), ": "));
  missing.set_reason(std::string(reason));
  return missing;
}

PathCheck::PathCheck(const PathSet& paths,
                     const std::vector<absl::Status>& missed)
    : filter_(paths.filter_) {
  std::set<std::string> without;
  for (const absl::Status& status : missed) {
    without.insert(PathOf(status).value_or(""));
  }
  for (const PathSet::NamedPath& path : paths.paths_) {
    // A side of several expressions is one path.
    if (without.insert(path.text).second) pending_.push_back({.path = path});
  }
}

void PathCheck::AddSeries(const std::string& machine, const Schema& schema,
                          uint32_t counter_id, const std::string& instance,
                          uint32_t index) {
  if (pending_.empty()) return;
  const CountersetRegistration& registration = schema.registration;
  const CounterRegistration* counter = registration.FindCounter(counter_id);
  std::erase_if(pending_, [&](const Pending& pending) {
    const Path& path = pending.path.path;
    return path.machine.Matches(machine) &&
           path.MatchesCounterset(registration.name, registration.guid) &&
           path.MatchesCounter(counter->name, counter_id) &&
           path.SelectsInstance(instance, index);
  });
}

void PathCheck::AddInstances(const std::string& machine,
                             const InstanceNames& names) {
  for (Pending& pending : pending_) {
    const Path& path = pending.path.path;
    if (!path.instance.has_value() || !path.machine.Matches(machine)) continue;
    for (const auto& [counterset, instances] : names) {
      // A GUID has no name to compare: the instances are only suggestions.
      if (!path.counterset_guid.has_value() &&
          !path.counterset.Matches(counterset)) {
        continue;
      }
      for (const auto& [name, is_aggregate] : instances) {
        if (pending.seen.size() == kMaxSuggestions) return;
        if (pending.seen.empty()) {
          pending.counterset = path.counterset_guid.has_value()
                                   ? path.counterset.text()
                                   : counterset;
        }
        pending.seen.emplace(name, is_aggregate);
      }
    }
  }
}

std::vector<absl::Status> PathCheck::Missing(
    const Directory& directory, const IsCancelled& is_cancelled,
    const TickAfterRange& tick_after) const {
  std::vector<absl::Status> missing;
  for (const Pending& pending : pending_) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    // Aggregates that a choice or combination leaves out are samples, too.
    const auto& seen = pending.seen;
    if (std::any_of(seen.begin(), seen.end(),
                    [&](const auto& one) {
                      return pending.path.path.MatchesInstance(one.first);
                    }) &&
        std::all_of(seen.begin(), seen.end(),
                    [](const auto& one) { return one.second; })) {
      continue;
    }
    absl::Status status = Explain(pending, directory, is_cancelled, tick_after);
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    status.SetPayload(kMissingPath, absl::Cord(pending.path.text));
    missing.push_back(std::move(status));
  }
  return missing;
}

absl::Status PathCheck::Explain(const Pending& pending,
                                const Directory& directory,
                                const IsCancelled& is_cancelled,
                                const TickAfterRange& tick_after) const {
  const std::string text = Excerpt(pending.path.text);
  const Path& path = pending.path.path;
  const auto& seen = pending.seen;
  if (path.instance.has_value() && !seen.empty() &&
      std::none_of(seen.begin(), seen.end(), [&](const auto& one) {
        return path.MatchesInstance(one.first);
      })) {
    const std::string& instance = path.literal_instance.has_value()
                                      ? path.literal_instance->text()
                                      : path.instance->text();
    std::vector<std::string> names;
    for (const auto& [name, is_aggregate] : seen) {
      names.push_back(perflib::EscapeInstanceName(name));
    }
    return absl::NotFoundError(absl::StrCat(
        text, ": there was no instance \"", Excerpt(instance),
        "\" in this time",
        DidYouMeanOrSee(
            instance, names,
            absl::StrCat("fleetperf instances ",
                         ShellQuoted(Excerpt(pending.counterset))))));
  }
  std::optional<absl::Time> newest_tick;
  std::optional<absl::Time> newest_sample;
  std::optional<absl::Time> next_tick;  // after the range
  size_t reads = 0;
  bool is_collected = false;
  for (const std::string& machine : directory.Machines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    if (!path.machine.Matches(machine) || !filter_.Matches(machine)) continue;
    for (const auto& counterset : directory.Countersets(machine)) {
      const auto selection = PathSet::SelectCounters(path, *counterset);
      if (!selection.has_value()) continue;
      const std::set<uint32_t> now = directory.Collecting(machine, *counterset);
      newest_sample = std::max(newest_sample, directory.NewestSample(machine));
      if (tick_after && reads++ < kMaxReads) {
        const auto tick = tick_after(machine, {.schema = counterset->schema,
                                               .selections = {*selection}});
        if (tick.has_value()) {
          next_tick = std::min(next_tick.value_or(*tick), *tick);
        }
      }
      for (const uint32_t id : selection->counter_ids) {
        is_collected = is_collected || now.contains(id);
        newest_tick =
            std::max(newest_tick,
                     directory.NewestTick(machine, *counterset->schema, id));
      }
    }
  }
  if (!is_collected) {
    return absl::OutOfRangeError(absl::StrCat(
        text, ": this is no longer collected",
        newest_tick.has_value() ? absl::StrCat("; its newest sample is of ",
                                               FormatUtc(*newest_tick))
                                : "",
        "; choose an earlier time, ", CollectAdvice(pending.path.text)));
  }
  if (next_tick.has_value() && reads <= kMaxReads) {
    return absl::OutOfRangeError(absl::StrCat(
        text,
        ": there are no samples in this time; the oldest sample after it "
        "is of ",
        FormatUtc(*next_tick)));
  }
  const auto newest = newest_tick.has_value() ? newest_tick : newest_sample;
  return absl::OutOfRangeError(absl::StrCat(
      text, ": there are no samples in this time",
      newest.has_value()
          ? absl::StrCat("; the newest sample is of ", FormatUtc(*newest))
          : "; see the times of the newest samples: fleetperf machines"));
}

}  // namespace fleetperf::aggregator
