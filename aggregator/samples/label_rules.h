// The labels that the aggregator's configuration sets for machines.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_LABEL_RULES_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_LABEL_RULES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "aggregator/samples/labels.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {

// Sets labels of the machines whose names match.
struct LabelRule {
  std::vector<perflib::Pattern> machines;  // one must match
  Labels labels;                           // see SetLabels
};

// A list of rules. Names without wildcards are looked up, so that thousands of
// them cost nothing; each pattern is compared. Immutable.
class LabelRules {
 public:
  LabelRules() = default;  // no rules
  explicit LabelRules(std::vector<LabelRule> rules);

  // Returns the labels that the rules set for a machine, for SetLabels. Of
  // rules that set the same label, the last one holds. `machine` is canonical.
  Labels For(const std::string& machine) const;

 private:
  std::vector<Labels> labels_;  // by number of the rule
  absl::flat_hash_map<std::string, std::vector<size_t>> by_name_;
  std::vector<std::pair<perflib::Pattern, size_t>> patterns_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_LABEL_RULES_H_
