#include "aggregator/query/path_check.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/query/series.h"
#include "base/excerpt.h"
#include "base/suggest.h"
#include "base/units.h"

namespace fleetperf::aggregator {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::Path;

// The limit of names compared for a suggestion.
constexpr size_t kMaxSuggestions = 10'000;

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
           (!path.instance.has_value() || path.instance->Matches(instance)) &&
           path.instance_index.value_or(index) == index;
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
      for (const std::string& name : instances) {
        if (pending.seen.size() == kMaxSuggestions) return;
        pending.seen.insert(name);
      }
    }
  }
}

std::vector<absl::Status> PathCheck::Missing(
    const Directory& directory, const IsCancelled& is_cancelled) const {
  std::vector<absl::Status> missing;
  for (const Pending& pending : pending_) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    // Aggregates that a choice or combination leaves out are samples, too.
    const auto matches = [&](const std::string& name) {
      return pending.path.path.instance->Matches(name);
    };
    if (std::any_of(pending.seen.begin(), pending.seen.end(), matches) &&
        std::all_of(pending.seen.begin(), pending.seen.end(), IsAggregate)) {
      continue;
    }
    absl::Status status = Explain(pending, directory, is_cancelled);
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    status.SetPayload(kMissingPath, absl::Cord(pending.path.text));
    missing.push_back(std::move(status));
  }
  return missing;
}

absl::Status PathCheck::Explain(const Pending& pending,
                                const Directory& directory,
                                const IsCancelled& is_cancelled) const {
  const std::string text = Excerpt(pending.path.text);
  const Path& path = pending.path.path;
  const auto& seen = pending.seen;
  if (path.instance.has_value() && !seen.empty() &&
      std::none_of(seen.begin(), seen.end(), [&](const std::string& name) {
        return path.instance->Matches(name);
      })) {
    const std::string& instance = path.instance->text();
    return absl::NotFoundError(absl::StrCat(
        text, ": there was no instance \"", Excerpt(instance),
        "\" in this time",
        DidYouMeanOrSee(instance,
                        std::vector<std::string>(seen.begin(), seen.end()),
                        absl::StrCat("fleetperf instances '",
                                     Excerpt(path.counterset.text()), "'"))));
  }
  std::optional<absl::Time> newest_tick;
  std::optional<absl::Time> newest_sample;
  bool is_collected = false;
  for (const std::string& machine : directory.Machines()) {
    if (!CheckNotCancelled(is_cancelled).ok()) break;
    if (!path.machine.Matches(machine) || !filter_.Matches(machine)) continue;
    for (const auto& counterset : directory.Countersets(machine)) {
      const auto selection = PathSet::SelectCounters(path, *counterset);
      if (!selection.has_value()) continue;
      const std::set<uint32_t> now = directory.Collecting(machine, *counterset);
      newest_sample = std::max(newest_sample, directory.NewestSample(machine));
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
        "; choose an earlier time, add it to \"plans\" in the aggregator's "
        "configuration, or collect it for a while, as an operator: --collect "
        "60s"));
  }
  const auto newest = newest_tick.has_value() ? newest_tick : newest_sample;
  return absl::OutOfRangeError(absl::StrCat(
      text, ": there are no samples in this time",
      newest.has_value()
          ? absl::StrCat("; the newest sample is of ", FormatUtc(*newest))
          : "; see the times of the newest samples: fleetperf machines"));
}

}  // namespace fleetperf::aggregator
