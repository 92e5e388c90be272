// A batch on its way from an agent's stream to subscribers and the store.

#ifndef FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_
#define FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

class Epoch;

struct ReceivedBatch {
  std::shared_ptr<Epoch> epoch;
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;  // of its payload
  absl::Time received;
  v1::Batch batch;                                     // as it came
  std::shared_ptr<const v1::Definitions> definitions;  // null: none
  DecodedBatch decoded;
  // Not empty: why the batch is refused. Only its definitions are kept, and in
  // `decoded` what is lost with it.
  std::string reject_reason;
  // It was stored before, under the epoch that this one was forked from. Only
  // its definitions are kept.
  bool is_copy = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_RECEIVED_BATCH_H_
