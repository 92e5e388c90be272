// Asks a peer for the samples of one machine, and decodes them.

#ifndef FLEETPERF_AGGREGATOR_PEERS_SAMPLE_DECODER_H_
#define FLEETPERF_AGGREGATOR_PEERS_SAMPLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/readable_store.h"
#include "fleetperf/v1/peer.pb.h"

namespace fleetperf::aggregator {

// Returns the request for a peer. `selected` must be set.
v1::ReadSamplesRequest RequestToPeer(const ReadableStore::ReadRequest& request);

// Checks every number of the answer, so that its frames can be used like those
// of the own store. Thread-compatible.
class SampleDecoder {
 public:
  // The longest interval of a query that is accepted from a peer.
  static constexpr absl::Duration kMaxInterval = absl::Hours(24 * 366);

  // `request` is the one that the peer was asked, and must outlive the decoder.
  // Its `selected` must be set.
  explicit SampleDecoder(const ReadableStore::ReadRequest& request)
      : request_(request) {}

  // Decodes the next part and passes on its samples, one frame at a time, which
  // may be much larger than its bytes. Returns DataLoss if the part is
  // malformed, ResourceExhausted if all parts so far have too much to be kept,
  // and the first error of `on_frame`; the decoder must then not be used again.
  absl::Status Decode(const v1::ReadSamplesResponse& response,
                      absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                      absl::FunctionRef<void(const Loss&)> on_loss);

  // The agent's epochs so far, by the number that the frames have.
  const std::map<uint32_t, uint64_t>& epochs() const { return epochs_; }

 private:
  struct Query {
    std::shared_ptr<const CollectedQuery> query;
    std::vector<bool> wanted;  // the columns that the request needs
  };

  absl::Status AddQuery(const v1::ReadSamplesResponse::Query& proto);
  absl::Status AddInstance(const v1::ReadSamplesResponse::Instance& proto);
  // Counts the bytes of what is kept until the end.
  absl::Status Keep(size_t bytes);
  absl::StatusOr<Frame> DecodeFrame(
      const v1::ReadSamplesResponse::Frame& proto) const;
  absl::Status DecodeRuns(const v1::ReadSamplesResponse::Frame& proto,
                          Frame* frame, uint64_t* positions) const;
  absl::Status DecodeColumns(const v1::ReadSamplesResponse::Frame& proto,
                             const Query& query, uint64_t positions,
                             Frame* frame) const;

  bool HasCounter(uint32_t counterset, uint32_t counter_id);

  const ReadableStore::ReadRequest& request_;
  size_t kept_bytes_ = 0;
  // The counters of countersets that queries have, by the number of the
  // counterset.
  std::map<uint32_t, absl::flat_hash_set<uint32_t>> counters_;
  std::map<uint32_t, uint64_t> epochs_;
  std::vector<Query> queries_;
  std::vector<std::shared_ptr<const Instance>> instances_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_SAMPLE_DECODER_H_
