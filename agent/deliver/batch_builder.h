// Puts the samples of some ticks into the form in which they are sent.

#ifndef FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_
#define FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/deliver/samples.h"

namespace fleetperf::v1 {
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Not thread-safe.
class BatchBuilder {
 public:
  void Add(BlockSamples block);

  bool empty() const { return blocks_.empty(); }
  // Values that were added since the last Build.
  size_t values() const { return values_; }

  // Adds everything since the last Build to `content`.
  void Build(v1::BatchContent* content);

 private:
  std::map<uint32_t, std::vector<BlockSamples>> blocks_;  // by handle
  size_t values_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_
