#include "aggregator/query/resolver.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"

namespace fleetperf::aggregator {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::Path;
using perflib::Pattern;

// Among the names that match a pattern without wildcards, a name in the same
// case takes precedence.
bool IsOverruled(const Pattern& pattern, const std::string& name,
                 const std::set<std::string>& names) {
  return !pattern.has_wildcards() && name != pattern.literal() &&
         names.contains(pattern.literal());
}

// Returns the nearest name, or the command that lists the names.
std::string Hint(absl::string_view wrong, const std::set<std::string>& names,
                 absl::string_view command) {
  return DidYouMeanOrSee(
      wrong, std::vector<std::string>(names.begin(), names.end()), command);
}

// The type URL of the payload with the path.
constexpr char kMissedPath[] = "fleetperf/missed_path";

}  // namespace

std::optional<std::string> MissedPath(const absl::Status& status) {
  const auto payload = status.GetPayload(kMissedPath);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

std::string CollectAdvice(const std::string& path) {
  return absl::StrCat(
      "add it to \"plans\" in the aggregator's configuration, or collect it "
      "for a while, as an operator: fleetperf query ",
      ShellQuoted(Excerpt(path)), " --collect 60s");
}

absl::Status CheckHasInstance(const std::string& text, const Path& path,
                              const CountersetRegistration& registration) {
  if (path.instance.has_value() && !registration.HasInstances()) {
    return absl::NotFoundError(absl::StrCat(
        Excerpt(text), ": counterset \"", registration.name,
        "\" has no instances; write ",
        ShellQuoted(absl::StrCat("\\", perflib::EscapeName(registration.name),
                                 "\\", Excerpt(path.counter.text())))));
  }
  if (!path.instance.has_value() && registration.HasInstances()) {
    return absl::NotFoundError(absl::StrCat(
        Excerpt(text), ": counterset \"", registration.name,
        "\" has instances; for all of them write ",
        ShellQuoted(absl::StrCat("\\", perflib::EscapeName(registration.name),
                                 "(*)\\", Excerpt(path.counter.text())))));
  }
  return absl::OkStatus();
}

absl::StatusOr<PathSet> PathSet::Parse(const std::vector<std::string>& paths,
                                       const Directory& directory) {
  return Parse(paths, directory.CountersetNames());
}

absl::StatusOr<PathSet> PathSet::Parse(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& known_countersets) {
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        "a counter path is required, such as "
        "'\\Processor Information(_Total)\\% Processor Time'");
  }
  PathSet set;
  for (const std::string& text : paths) {
    absl::StatusOr<Path> path = perflib::ParsePath(text, known_countersets);
    if (!path.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Excerpt(text), ": ", path.status().message()));
    }
    set.AddMachine(path->machine);
    set.paths_.push_back({text, *std::move(path)});
  }
  return set;
}

void PathSet::AddMachine(const Pattern& machine) {
  if (!machine.has_wildcards()) {
    machine_names_.insert(absl::AsciiStrToLower(machine.literal()));
  } else if (std::find(machine_patterns_.begin(), machine_patterns_.end(),
                       machine) == machine_patterns_.end()) {
    machine_patterns_.push_back(machine);
  }
}

bool PathSet::MatchesMachine(const std::string& machine) const {
  return HasPathOf(machine) && filter_.Matches(machine);
}

bool PathSet::MatchesMachine(const std::string& machine,
                             const Labels& labels) const {
  return HasPathOf(machine) && filter_.Matches(machine, labels);
}

bool PathSet::HasPathOf(const std::string& machine) const {
  const bool is_named = !machine_names_.empty() &&
                        machine_names_.contains(absl::AsciiStrToLower(machine));
  const auto matches = [&](const Pattern& pattern) {
    return pattern.Matches(machine);
  };
  return is_named || std::any_of(machine_patterns_.begin(),
                                 machine_patterns_.end(), matches);
}

bool PathSet::NamesMachine(const std::string& machine) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const NamedPath& path) {
    return !path.path.machine.has_wildcards() && MatchesMachine(path, machine);
  });
}

std::optional<Selection> PathSet::SelectCounters(
    const Path& path, const CollectedCounterset& counterset) {
  const CountersetRegistration& registration = counterset.schema->registration;
  if (!path.MatchesCounterset(registration.name, registration.guid) ||
      path.instance.has_value() != registration.HasInstances()) {
    return std::nullopt;
  }
  std::set<std::string> names;  // for IsOverruled
  for (const CounterRegistration& counter : registration.counters) {
    if (path.counter.has_wildcards()) break;
    names.insert(counter.name);
  }
  Selection selection{.instance = path.instance,
                      .instance_index = path.instance_index,
                      .literal_instance = path.literal_instance};
  for (const CounterRegistration& counter : registration.counters) {
    if (!counterset.counters.contains(counter.counter_id) ||
        !path.MatchesCounter(counter.name, counter.counter_id) ||
        IsOverruled(path.counter, counter.name, names)) {
      continue;
    }
    selection.counter_ids.push_back(counter.counter_id);
  }
  if (selection.counter_ids.empty()) return std::nullopt;
  return selection;
}

std::vector<SelectedCounterset> PathSet::SelectFrom(
    const std::string& machine, const Directory& directory) const {
  return SelectFrom(PathsOf(machine), directory.Countersets(machine));
}

std::vector<size_t> PathSet::PathsOf(const std::string& machine) const {
  std::vector<size_t> paths;
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (MatchesMachine(paths_[i], machine)) paths.push_back(i);
  }
  return paths;
}

std::vector<SelectedCounterset> PathSet::SelectFrom(
    const std::vector<size_t>& paths, const CountersetList& countersets) const {
  std::vector<SelectedCounterset> selected;
  std::set<std::string> names;
  for (const auto& counterset : countersets) {
    names.insert(counterset->schema->registration.name);
  }
  for (const auto& counterset : countersets) {
    SelectedCounterset of_counterset{.schema = counterset->schema};
    for (const size_t number : paths) {
      const Path& path = paths_[number].path;
      if (IsOverruled(path.counterset, counterset->schema->registration.name,
                      names)) {
        continue;
      }
      if (auto selection = SelectCounters(path, *counterset)) {
        of_counterset.selections.push_back(*std::move(selection));
      }
    }
    if (!of_counterset.selections.empty()) {
      selected.push_back(std::move(of_counterset));
    }
  }
  return selected;
}

std::optional<SelectedCounterset> PathSet::SelectFrom(
    const std::string& machine,
    const std::shared_ptr<const Schema>& schema) const {
  return SelectFrom(NumbersFor(machine), schema);
}

std::vector<size_t> PathSet::NumbersFor(const std::string& machine) const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].path.machine.Matches(machine)) numbers.push_back(i);
  }
  return numbers;
}

std::optional<SelectedCounterset> PathSet::SelectFrom(
    const std::vector<size_t>& paths,
    const std::shared_ptr<const Schema>& schema) const {
  CollectedCounterset counterset{.schema = schema};
  for (const CounterRegistration& counter : schema->registration.counters) {
    counterset.counters[counter.counter_id] = absl::ZeroDuration();
  }
  SelectedCounterset selected{.schema = schema};
  for (const size_t number : paths) {
    if (auto selection = SelectCounters(paths_[number].path, counterset)) {
      selected.selections.push_back(*std::move(selection));
    }
  }
  if (selected.selections.empty()) return std::nullopt;
  return selected;
}

// A question about some machines does not look at thousands of others.
std::vector<std::string> PathSet::Candidates(const Directory& directory) const {
  return machine_patterns_.empty() ? directory.MachinesNamed(machine_names_)
                                   : directory.Machines();
}

absl::StatusOr<Selected> PathSet::Select(
    const Directory& directory, const IsCancelled& is_cancelled) const {
  std::vector<absl::Status> missed;
  auto selected = Select(directory, &missed, is_cancelled);
  return missed.empty() ? std::move(selected) : missed.front();
}

absl::StatusOr<bool> PathSet::SelectsAny(
    const NamedPath& path, const std::vector<std::string>& machines,
    const Directory& directory, const IsCancelled& is_cancelled) const {
  PathSet alone;
  alone.paths_.push_back(path);
  for (const std::string& machine : machines) {
    if (!MatchesMachine(path, machine)) continue;
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    if (!alone.SelectFrom(machine, directory).empty()) return true;
  }
  return false;
}

absl::StatusOr<Selected> PathSet::Select(
    const Directory& directory, std::vector<absl::Status>* missed,
    const IsCancelled& is_cancelled) const {
  RETURN_IF_ERROR(filter_.CheckMatches());
  const std::vector<std::string> machines = Candidates(directory);
  for (const NamedPath& path : paths_) {
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    ASSIGN_OR_RETURN(const bool found,
                     SelectsAny(path, machines, directory, is_cancelled));
    if (found) continue;
    absl::Status miss = ExplainMiss(path, directory, is_cancelled);
    if (absl::IsCancelled(miss)) return miss;
    miss.SetPayload(kMissedPath, absl::Cord(path.text));
    missed->push_back(std::move(miss));
  }
  Selected selected;
  // Most machines have the same countersets, and the same paths select from
  // them. The lists exist as long as they are used as keys.
  struct Known {
    CountersetList countersets;
    std::vector<SelectedCounterset> selected;
  };
  absl::flat_hash_map<std::pair<const void*, std::vector<size_t>>, Known> known;
  for (const std::string& machine : machines) {
    if (!MatchesMachine(machine)) continue;
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    std::vector<size_t> paths = PathsOf(machine);
    CountersetList countersets = directory.Countersets(machine);
    const auto [entry, is_new] =
        known.try_emplace({countersets.id(), std::move(paths)});
    if (is_new) {
      entry->second.selected = SelectFrom(entry->first.second, countersets);
      entry->second.countersets = std::move(countersets);
    }
    if (entry->second.selected.empty()) continue;
    selected.emplace_hint(selected.end(), machine, entry->second.selected);
  }
  return selected;
}

absl::StatusOr<std::vector<CountersetList>> PathSet::ListsOf(
    const NamedPath& path, const std::vector<std::string>& machines,
    const Directory& directory, const IsCancelled& is_cancelled) const {
  std::vector<CountersetList> lists;
  absl::flat_hash_set<const void*> known;
  for (const std::string& machine : machines) {
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    if (!path.path.machine.Matches(machine)) continue;
    CountersetList list = directory.Countersets(machine);
    if (known.insert(list.id()).second) lists.push_back(std::move(list));
  }
  return lists;
}

absl::Status PathSet::ExplainMiss(const NamedPath& named,
                                  const Directory& directory,
                                  const IsCancelled& is_cancelled) const {
  const Path& path = named.path;
  const auto not_found = [&](const auto&... parts) {
    return absl::NotFoundError(
        absl::StrCat(Excerpt(named.text), ": ", parts...));
  };
  std::vector<std::string> machines = directory.Machines();
  if (!directory.HasMachines()) {
    return not_found("no agent has sent any samples yet");
  }
  std::erase_if(machines, [&](const std::string& machine) {
    return !filter_.Matches(machine);
  });
  ASSIGN_OR_RETURN(const std::vector<CountersetList> lists,
                   ListsOf(named, machines, directory, is_cancelled));
  if (lists.empty()) {
    return not_found(
        "there is no machine \"", Excerpt(path.machine.text()), "\"",
        Hint(path.machine.text(), {machines.begin(), machines.end()},
             "fleetperf machines"));
  }
  std::set<std::string> counterset_names;
  std::set<std::string> counter_names;
  std::string found;  // the first counterset that matches
  for (const CountersetList& list : lists) {
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    for (const auto& counterset : list) {
      const CountersetRegistration& registration =
          counterset->schema->registration;
      counterset_names.insert(registration.name);
      if (!path.MatchesCounterset(registration.name, registration.guid)) {
        continue;
      }
      if (found.empty()) found = registration.name;
      RETURN_IF_ERROR(CheckHasInstance(named.text, path, registration));
      for (const auto& [id, interval] : counterset->counters) {
        counter_names.insert(registration.FindCounter(id)->name);
      }
    }
  }
  if (found.empty()) {
    return not_found("no counterset \"", Excerpt(path.counterset.text()),
                     "\" is collected",
                     Hint(path.counterset.text(), counterset_names,
                          "fleetperf countersets"));
  }
  return not_found(
      "no counter \"", Excerpt(path.counter.text()), "\" is collected",
      Hint(path.counter.text(), counter_names,
           absl::StrCat("fleetperf counters ", ShellQuoted(Excerpt(found)))));
}

}  // namespace fleetperf::aggregator
