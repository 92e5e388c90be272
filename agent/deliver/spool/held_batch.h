// A batch in the spool, with its payload or the payload's place in the files.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_HELD_BATCH_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_HELD_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/deliver/spooled_batch.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {

// A payload's place in the spool's files.
struct PayloadPlace {
  uint32_t segment = 0;  // 0: none
  uint64_t offset = 0;
};

struct HeldBatch {
  // `spooled.batch` is nullptr if the payload is only in a segment.
  SpooledBatch spooled;
  absl::Duration age;  // the spool's age when the batch was sealed
  v1::Compression compression = v1::COMPRESSION_NONE;
  uint32_t content_size = 0;
  uint64_t fingerprint = 0;
  uint32_t size = 0;  // of the payload
  PayloadPlace payload;

  bool is_dropped() const { return spooled.dropped.has_value(); }

  // Stores a sealed batch.
  void SetBatch(v1::Batch batch) {
    compression = batch.compression();
    content_size = batch.content_size();
    fingerprint = batch.fingerprint();
    size = static_cast<uint32_t>(batch.payload().size());
    spooled.batch = std::make_shared<const v1::Batch>(std::move(batch));
  }
  // Returns the batch with its payload, as it was sealed.
  SpooledBatch WithPayload(std::string bytes) const {
    v1::Batch batch;
    batch.set_compression(compression);
    batch.set_content_size(content_size);
    batch.set_fingerprint(fingerprint);
    batch.set_payload(std::move(bytes));
    SpooledBatch whole = spooled;
    whole.batch = std::make_shared<const v1::Batch>(std::move(batch));
    return whole;
  }
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_HELD_BATCH_H_
