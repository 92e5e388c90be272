// Queries and instance lists in PerfLib's format: PERF_COUNTER_IDENTIFIER
// (PerfAddCounters, PerfQueryCounterInfo) and the result of
// PerfEnumerateCounterSetInstances.

#ifndef FLEETPERF_PERFLIB_QUERY_H_
#define FLEETPERF_PERFLIB_QUERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// PERF_COUNTER_IDENTIFIER
struct CounterIdentifier {
  Guid counterset;
  uint32_t counter_id = kWildcardCounter;
  // A multi-instance counterset requires a name; "*" means all. A
  // single-instance counterset has none.
  std::string instance;  // UTF-8
  uint32_t instance_id = kWildcardInstanceId;
  uint32_t status = kErrorSuccess;  // set by PerfAddCounters
  // The position of the query's result in a block, set by PerfQueryCounterInfo.
  uint32_t index = 0;

  bool operator==(const CounterIdentifier&) const = default;
};

// Identifiers are stored back to back. Every Size is checked against the
// remaining bytes.
absl::StatusOr<std::vector<CounterIdentifier>> ReadCounterIdentifiers(
    absl::string_view bytes);
std::string WriteCounterIdentifiers(
    const std::vector<CounterIdentifier>& identifiers);

struct InstanceName {
  std::string name;  // UTF-8
  uint32_t instance_id = 0;

  bool operator==(const InstanceName&) const = default;
};

// PERF_INSTANCE_HEADERs are stored back to back. Every Size is checked against
// the remaining bytes.
absl::StatusOr<std::vector<InstanceName>> ReadInstanceList(
    absl::string_view bytes);
std::string WriteInstanceList(const std::vector<InstanceName>& instances);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_QUERY_H_
