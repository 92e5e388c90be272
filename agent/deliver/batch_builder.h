// Encodes the samples of several ticks as a batch.

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

// Returns the batch of a serialized v1::BatchContent, compressed if that is
// smaller, with its fingerprint. Epoch and sequence are not set.
v1::Batch PackBatch(std::string content);

// Thread-compatible.
class BatchBuilder {
 public:
  void Add(BlockSamples block);

  bool empty() const { return blocks_.empty(); }
  // The number of values added since the last Build().
  size_t values() const { return values_; }

  // Adds everything since the last Build() to `content`.
  void Build(v1::BatchContent* content);

 private:
  std::map<uint32_t, std::vector<BlockSamples>> blocks_;  // by handle
  size_t values_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_BATCH_BUILDER_H_
