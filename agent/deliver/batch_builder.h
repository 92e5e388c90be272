// Puts the samples of some ticks into the form in which they are sent.

#ifndef FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_
#define FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/deliver/samples.h"

namespace fleetperf::v1 {
class Batch;
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Adds the samples of one block to `content`.
void AddBlock(const BlockSamples& block, v1::BatchContent* content);

// The batch of a serialized v1::BatchContent, compressed if that is smaller,
// with its fingerprint. It has no epoch and no sequence yet.
v1::Batch PackBatch(std::string content);

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
