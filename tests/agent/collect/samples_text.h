// Samples as text, with names in place of ids.

#ifndef FLEETPERF_TESTS_AGENT_COLLECT_SAMPLES_TEXT_H_
#define FLEETPERF_TESTS_AGENT_COLLECT_SAMPLES_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/samples.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::testing {

// Returns "Disk 1s 1/8 12/4L": the counterset, the interval, and the columns as
// counter id and value size, with L for a linked-only counter.
inline std::string QueryText(const v1::Definitions& definitions, uint32_t id) {
  for (const v1::QueryDefinition& query : definitions.queries()) {
    if (query.id() != id) continue;
    std::string text;
    for (const v1::CountersetDefinition& set : definitions.countersets()) {
      if (set.id() == query.counterset()) text = set.registration().name();
    }
    absl::StrAppend(&text, " ", query.interval().seconds(), "s");
    for (const v1::ColumnDefinition& column : query.columns()) {
      absl::StrAppend(&text, " ", column.counter_id(), "/", column.value_size(),
                      column.only_linked() ? "L" : "");
    }
    return text;
  }
  return "undefined";
}

// Returns "sda:8", or "sda:8#1" for the second instance of that name and id.
inline std::string InstanceText(const v1::Definitions& definitions,
                                uint32_t id) {
  for (const v1::InstanceDefinition& instance : definitions.instances()) {
    if (instance.id() != id) continue;
    return absl::StrCat(instance.name(), ":", instance.instance_id(),
                        instance.occurrence() > 0
                            ? absl::StrCat("#", instance.occurrence())
                            : "");
  }
  return "undefined";
}

// Returns the instances of a query with their values, "sda:8 17 -" with "-" for
// a missing value, or "failed 232".
inline std::vector<std::string> RowTexts(const v1::Definitions& definitions,
                                         const agent::QuerySamples& samples) {
  if (samples.failed) {
    return {absl::StrCat("failed ", samples.failure_status)};
  }
  std::vector<std::string> rows;
  const size_t count = samples.instances.size();
  for (size_t row = 0; row < count; ++row) {
    std::string text = InstanceText(definitions, samples.instances[row]);
    for (size_t i = row; i < samples.values.size(); i += count) {
      const bool present = samples.present.empty() || samples.present[i] != 0;
      absl::StrAppend(&text, " ",
                      present ? absl::StrCat(samples.values[i]) : "-");
    }
    rows.push_back(text);
  }
  return rows;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_COLLECT_SAMPLES_TEXT_H_
