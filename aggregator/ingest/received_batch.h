// A batch on its way from an agent's stream to subscribers and the store.

#ifndef FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_
#define FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

class Epoch;

struct ReceivedBatch {
  std::shared_ptr<Epoch> epoch;
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;  // of its payload
  absl::Time received;
  v1::Batch batch;                                     // as received
  std::shared_ptr<const v1::Definitions> definitions;  // nullptr: none
  DecodedBatch decoded;
  // If not empty, the reason why the batch is rejected. Then only its
  // definitions are kept, and `decoded` holds the resulting losses.
  std::string reject_reason;
  // Whether the batch is already stored under the epoch that its epoch was
  // forked from. Then only its definitions are kept.
  bool is_copy = false;
  // Of Pool::kBatchBytes, until the batch is stored. Used by one thread: first
  // the session's, then that of commits.
  mutable CallerQuota::Share memory;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_
