// Encodes the samples of one machine for a peer.

#ifndef FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ENCODER_H_
#define FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/samples/frame.h"
#include "fleetperf/v1/peer.pb.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class SampleEncoder {
 public:
  // Sends a part of the answer. An error ends the encoding.
  using Send = std::function<absl::Status(const v1::ReadSamplesResponse&)>;

  // `schemas` are those of the request's countersets, in their order; null for
  // those that the machine does not have.
  SampleEncoder(std::vector<std::shared_ptr<const Schema>> schemas, Send send)
      : schemas_(std::move(schemas)), send_(std::move(send)) {}

  // Sends the numbers of the agent's epochs.
  absl::Status SendEpochs(const std::map<uint32_t, uint64_t>& epochs);
  // Adds a frame of one of the schemas that is not folded.
  absl::Status Add(const Frame& frame);
  // The next call returns its error.
  void Add(const Loss& loss);
  // Sends what is left.
  absl::Status Finish();

 private:
  absl::Status AddPart(const Frame& frame);
  absl::StatusOr<uint32_t> NumberOf(
      const std::shared_ptr<const CollectedQuery>& query);
  absl::StatusOr<uint32_t> NumberOf(
      const std::shared_ptr<const Instance>& instance);
  // Sends the part if it is too large with another item of so many bytes.
  absl::Status MakeRoom(size_t bytes);

  const std::vector<std::shared_ptr<const Schema>> schemas_;
  const Send send_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, uint32_t> queries_;
  absl::flat_hash_map<std::shared_ptr<const Instance>, uint32_t> instances_;
  v1::ReadSamplesResponse response_;
  size_t bytes_ = 0;  // of the items in response_
  absl::Status added_losses_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_SAMPLE_ENCODER_H_
