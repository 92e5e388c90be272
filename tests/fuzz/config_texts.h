// The texts of configurations, for their fuzzers.

#ifndef FLEETPERF_TESTS_FUZZ_CONFIG_TEXTS_H_
#define FLEETPERF_TESTS_FUZZ_CONFIG_TEXTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/config/planned_query.h"
#include "tests/fuzz/check.h"

namespace fleetperf {

inline void AddTexts(const std::vector<std::string>& more,
                     std::vector<std::string>* texts) {
  texts->insert(texts->end(), more.begin(), more.end());
}

inline void AddTexts(const std::vector<PlannedQuery>& queries,
                     std::vector<std::string>* texts) {
  for (const PlannedQuery& query : queries) {
    AddTexts({query.counterset, query.name}, texts);
    AddTexts(query.counters, texts);
    AddTexts(query.instances, texts);
    AddTexts(query.aggregates, texts);
    AddTexts(query.machines, texts);
  }
}

inline void AddTexts(const std::vector<InstanceRule>& rules,
                     std::vector<std::string>* texts) {
  for (const InstanceRule& rule : rules) {
    texts->push_back(rule.counterset);
    AddTexts(rule.include, texts);
    AddTexts(rule.exclude, texts);
  }
}

// Checks that an error names the file.
inline void CheckError(const absl::Status& status) {
  FUZZ_CHECK(status.ok() || absl::StartsWith(status.message(), "fuzz.yaml"));
}

}  // namespace fleetperf

#endif  // FLEETPERF_TESTS_FUZZ_CONFIG_TEXTS_H_
