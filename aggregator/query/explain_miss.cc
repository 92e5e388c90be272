#include "aggregator/query/explain_miss.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/resolver.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {
namespace {

using perflib::CounterRegistration;

// Returns an error if a name of the path is unknown; otherwise std::nullopt.
std::optional<absl::Status> ExplainNames(const std::string& text,
                                         const perflib::Path& path,
                                         Fleet* fleet,
                                         const MachineFilter& machines,
                                         const IsCancelled& is_cancelled) {
  std::vector<std::string> counterset_names;
  std::vector<std::string> counter_names;
  std::string found;  // the first counterset that matches
  const auto matches = [&](const std::string& machine) {
    return path.machine.Matches(machine) && machines.Matches(machine);
  };
  for (const FleetCounterset& counterset :
       fleet->Countersets(matches, is_cancelled)) {
    const perflib::CountersetRegistration& registration =
        counterset.registration;
    counterset_names.push_back(registration.name);
    if (!path.MatchesCounterset(registration.name, registration.guid)) continue;
    if (auto mismatch = CheckHasInstance(text, path, registration);
        !mismatch.ok()) {
      return mismatch;
    }
    if (found.empty()) found = registration.name;
    for (const CounterRegistration& counter : registration.counters) {
      if (!IsShown(counter)) continue;
      if (path.MatchesCounter(counter.name, counter.counter_id)) {
        return std::nullopt;
      }
      counter_names.push_back(counter.name);
    }
  }
  if (counterset_names.empty() || !fleet->HasMachines()) return std::nullopt;
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat(Excerpt(text), ": there is no counterset \"",
                     Excerpt(path.counterset.text()), "\"",
                     DidYouMeanOrSee(path.counterset.text(), counterset_names,
                                     "fleetperf countersets")));
  }
  return absl::NotFoundError(absl::StrCat(
      Excerpt(text), ": there is no counter \"", Excerpt(path.counter.text()),
      "\"",
      DidYouMeanOrSee(
          path.counter.text(), counter_names,
          absl::StrCat("fleetperf counters ", ShellQuoted(Excerpt(found))))));
}

absl::Status NotCollected(const std::string& path, size_t machines) {
  return absl::NotFoundError(
      absl::StrCat(Excerpt(path), ": this is not collected; ", machines,
                   machines == 1 ? " machine could: " : " machines could: ",
                   CollectAdvice(path)));
}

}  // namespace

absl::Status ExplainMiss(const absl::Status& status, Fleet* fleet,
                         const MachineFilter& machines,
                         const IsCancelled& is_cancelled) {
  const std::optional<std::string> text = MissedPath(status);
  if (!text.has_value()) return status;
  const std::vector<std::string> known = fleet->CountersetNames(is_cancelled);
  auto alone = PathSet::Parse({*text}, known);
  const auto path = perflib::ParsePath(*text, known);
  if (!alone.ok() || !path.ok()) return status;
  alone->LimitTo(machines);
  const Selected could = fleet->Select(*alone, is_cancelled);
  if (!CheckNotCancelled(is_cancelled).ok()) return status;
  absl::Status explained =
      could.empty() ? ExplainNames(*text, *path, fleet, machines, is_cancelled)
                          .value_or(status)
                    : NotCollected(*text, could.size());
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    explained.SetPayload(type, payload);
  });
  return explained;
}

absl::Status NotInCatalogues(const std::string& text, Fleet* fleet,
                             const MachineFilter& machines) {
  const absl::Status none = absl::NotFoundError(
      absl::StrCat(Excerpt(text),
                   ": no machine that matches could collect it; see: fleetperf "
                   "countersets"));
  const auto path = perflib::ParsePath(text, fleet->CountersetNames());
  if (!path.ok()) return none;
  return ExplainNames(text, *path, fleet, machines, /*is_cancelled=*/nullptr)
      .value_or(none);
}

}  // namespace fleetperf::aggregator
