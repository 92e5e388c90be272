// Batches of the spool, their epochs, and their order.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOLED_BATCH_H_
#define FLEETPERF_AGENT_DELIVER_SPOOLED_BATCH_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>

#include "agent/deliver/losses.h"

namespace fleetperf::v1 {
class Batch;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// The number of this process's epoch: it is the last.
inline constexpr uint32_t kThisProcess = UINT32_MAX;

// Where a batch is: they are sent in this order.
struct BatchPlace {
  uint32_t epoch = 0;  // its number; they are in the order of their processes
  uint64_t sequence = 0;

  friend auto operator<=>(const BatchPlace&, const BatchPlace&) = default;
};

struct SpoolEpoch {
  uint32_t number = 0;
  uint64_t id = 0;
  uint64_t forked_from = 0;  // 0: it is not
  uint64_t acknowledged = 0;
  uint64_t last_sequence = 0;
  // Batches after this one have not arrived at the aggregator that is spoken
  // to. Not in the file: of former processes it is not known.
  uint64_t sent = UINT64_MAX;
};

// A batch, or what is left of one that was dropped.
struct SpooledBatch {
  BatchPlace place;
  std::shared_ptr<const v1::Batch> batch;  // null: dropped
  std::optional<LossCause> dropped;        // why
  TickRange ticks;
  Losses losses;  // that it tells of
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOLED_BATCH_H_
