#include "agent/source/instance_selection.h"

#include <algorithm>
#include <utility>

#include "perflib/aggregates.h"
#include "perflib/guid.h"

namespace fleetperf::agent {
namespace {

using perflib::Pattern;

void Append(const std::vector<std::string>& texts,
            std::vector<Pattern>* patterns) {
  for (const std::string& text : texts) patterns->emplace_back(text);
}

bool MatchesAny(const std::vector<Pattern>& patterns, absl::string_view name) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [&](const Pattern& pattern) { return pattern.Matches(name); });
}

}  // namespace

bool NamesCounterset(const std::string& text,
                     const perflib::CountersetRegistration& registration) {
  if (const auto guid = perflib::ParseGuid(text)) {
    return *guid == registration.guid;
  }
  return Pattern(text).Matches(registration.name);
}

InstanceSelection::InstanceSelection(
    const perflib::CountersetRegistration& registration,
    absl::Span<const PlannedQuery> queries,
    absl::Span<const InstanceRule> rules) {
  for (const InstanceRule& rule : rules) {
    if (!NamesCounterset(rule.counterset, registration)) continue;
    Append(rule.include, &include_);
    Append(rule.exclude, &exclude_);
  }
  named_ = include_;
  for (const PlannedQuery& query : queries) {
    if (NamesCounterset(query.counterset, registration)) {
      Append(query.instances, &named_);
      Append(query.aggregates, &aggregates_);
    }
  }
}

bool InstanceSelection::Contains(absl::string_view name) const {
  if (ContainsAll() || IsAggregate(name)) return true;
  return (!HasIncludes() || MatchesAny(include_, name)) && !Excludes(name);
}

bool InstanceSelection::Excludes(absl::string_view name) const {
  return MatchesAny(exclude_, name) && !IsAggregate(name);
}

bool InstanceSelection::IsAggregate(absl::string_view name) const {
  return perflib::HasAggregateName(name) || MatchesAny(aggregates_, name);
}

bool InstanceSelection::Names(absl::string_view name) const {
  return MatchesAny(named_, name);
}

void SharedSelection::Set(const std::string& counterset,
                          InstanceSelection selection) {
  InstanceSelection& present = selections_[counterset];
  if (present == selection) return;
  present = std::move(selection);
  ++generation_;
}

bool SharedSelection::Contains(absl::string_view name) const {
  bool has_includes = false;
  bool is_included = false;
  for (const auto& [counterset, selection] : selections_) {
    if (selection.Excludes(name)) return false;
    has_includes = has_includes || selection.HasIncludes();
    is_included =
        is_included || (selection.HasIncludes() && selection.Contains(name));
  }
  return !has_includes || is_included;
}

bool SharedSelection::ContainsAll() const {
  return std::all_of(
      selections_.begin(), selections_.end(),
      [](const auto& entry) { return entry.second.ContainsAll(); });
}

bool SharedSelection::Excludes(absl::string_view name) const {
  return std::any_of(
      selections_.begin(), selections_.end(),
      [&](const auto& entry) { return entry.second.Excludes(name); });
}

bool SharedSelection::Names(absl::string_view name) const {
  return std::any_of(
      selections_.begin(), selections_.end(),
      [&](const auto& entry) { return entry.second.Names(name); });
}

}  // namespace fleetperf::agent
