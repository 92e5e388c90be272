// What collection hands to delivery: the values of one block.

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
  // If failed, why: dwStatus, or 0 if its bytes were rejected. Then there are
  // no values.
  bool failed = false;
  uint32_t failure_status = 0;
  // The instances' definition ids, in the order of the block.
  std::vector<uint32_t> instances;
  // Column by column, in each one value per instance.
  std::vector<uint64_t> values;
  // In the same order, 1 where there is a value. Empty: everywhere.
  std::vector<uint8_t> present;
};

struct BlockSamples {
  uint32_t handle = 0;  // the query handle's number; its blocks come in order
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
