#include "aggregator/plan/plan_entry.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {
namespace {

using perflib::Pattern;

// Rejects a selector without a value: it could mean all agents or none.
void CheckSelector(ConfigSection& section, const char* key, bool has_value) {
  if (section.Has(key) && !has_value) {
    section.Error(key, "is empty; omit it to match all agents");
  }
}

void ReadSelectors(ConfigSection& section, PlanEntry* entry) {
  std::vector<std::string> machines;
  section.Read("machines", &machines);
  CheckSelector(section, "machines", !machines.empty());
  for (const std::string& text : machines) entry->machines.emplace_back(text);

  std::string operating_system;
  section.Read("operating_system", &operating_system);
  CheckSelector(section, "operating_system", !operating_system.empty());
  if (!operating_system.empty()) {
    entry->operating_system = Pattern(operating_system);
  }

  std::map<std::string, std::string> labels;
  section.Read("labels", &labels);
  CheckSelector(section, "labels", !labels.empty());
  for (const auto& [name, text] : labels) entry->labels[name] = Pattern(text);
}

}  // namespace

bool PlanEntry::Matches(const v1::Machine& agent) const {
  const auto is_named = std::any_of(
      machines.begin(), machines.end(),
      [&](const Pattern& pattern) { return pattern.Matches(agent.name()); });
  if (!machines.empty() && !is_named) return false;
  if (operating_system.has_value() &&
      !operating_system->Matches(agent.operating_system())) {
    return false;
  }
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto found = agent.labels().find(label.first);
    return found != agent.labels().end() && label.second.Matches(found->second);
  });
}

std::vector<PlanEntry> ReadPlans(ConfigSection& root) {
  std::vector<PlanEntry> entries;
  std::set<std::string> names;
  for (ConfigSection section : root.Sections("plans")) {
    PlanEntry& entry = entries.emplace_back();
    section.Require("name", &entry.name);
    if (!entry.name.empty() && !names.insert(entry.name).second) {
      section.Error("name",
                    absl::StrCat("two plans are named \"", entry.name, "\""));
    }
    ReadSelectors(section, &entry);
    if (!section.Has("queries")) {
      section.Error("queries",
                    "is missing; write [] for agents that collect nothing");
    }
    entry.queries = ReadQueries(section);
    entry.rules = ReadInstanceRules(section);
    for (size_t i = 0; i < entry.queries.size(); ++i) {
      entry.queries[i].name = absl::StrCat(entry.name, ": queries[", i, "]");
    }
  }
  return entries;
}

}  // namespace fleetperf::aggregator
