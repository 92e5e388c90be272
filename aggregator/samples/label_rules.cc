#include "aggregator/samples/label_rules.h"

#include <set>

#include "aggregator/samples/machine_name.h"

namespace fleetperf::aggregator {

LabelRules::LabelRules(std::vector<LabelRule> rules) {
  for (LabelRule& rule : rules) {
    const size_t number = labels_.size();
    labels_.push_back(std::move(rule.labels));
    for (perflib::Pattern& machine : rule.machines) {
      if (machine.has_wildcards()) {
        patterns_.emplace_back(std::move(machine), number);
      } else {
        by_name_[CanonicalName(machine.literal())].push_back(number);
      }
    }
  }
}

Labels LabelRules::For(const std::string& machine) const {
  std::set<size_t> numbers;
  const auto named = by_name_.find(machine);
  if (named != by_name_.end()) {
    numbers.insert(named->second.begin(), named->second.end());
  }
  for (const auto& [pattern, number] : patterns_) {
    if (pattern.Matches(machine)) numbers.insert(number);
  }
  Labels labels;
  for (const size_t number : numbers) {
    // An empty value stays, because it removes the agent's label.
    for (const auto& [name, value] : labels_[number]) labels[name] = value;
  }
  return labels;
}

}  // namespace fleetperf::aggregator
