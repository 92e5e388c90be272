// The values of one block, passed from collection to delivery.

#ifndef FLEETPERF_AGENT_DELIVER_SAMPLES_H_
#define FLEETPERF_AGENT_DELIVER_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// One query's result in a block.
struct QuerySamples {
  uint32_t query = 0;  // its definition id
  // Whether the query failed, and why: dwStatus, or 0 if the bytes were
  // rejected. A failed query has no values.
  bool failed = false;
  uint32_t failure_status = 0;
  // The instances' definition ids, in the order of the block.
  std::vector<uint32_t> instances;
  // The values by column, one per instance in each.
  std::vector<uint64_t> values;
  // 1 for each value that is present, in the same order. Empty: all are
  // present.
  std::vector<uint8_t> present;
};

struct BlockSamples {
  uint32_t handle = 0;  // the query handle's number; its blocks are in order
  absl::Duration interval;
  perflib::Clocks clocks;
  std::vector<QuerySamples> queries;

  size_t CountValues() const {
    size_t values = 0;
    for (const QuerySamples& query : queries) values += query.values.size();
    return values;
  }
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SAMPLES_H_
