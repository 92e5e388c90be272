// The spool's batches and epochs, and the order of batches.

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

// The number of this process's epoch. It sorts after all others.
inline constexpr uint32_t kThisProcess = UINT32_MAX;

// A batch's place in the order of sending.
struct BatchPlace {
  uint32_t epoch = 0;  // the epoch's number, in the order of processes
  uint64_t sequence = 0;

  friend auto operator<=>(const BatchPlace&, const BatchPlace&) = default;
};

struct SpoolEpoch {
  uint32_t number = 0;
  uint64_t id = 0;
  uint64_t forked_from = 0;  // 0: not forked
  uint64_t acknowledged = 0;
  uint64_t last_sequence = 0;
  // Batches after this one have not arrived at the connected aggregator. Not
  // saved, so it is unknown for former processes.
  uint64_t sent = UINT64_MAX;
};

// A batch, or the remains of a dropped one.
struct SpooledBatch {
  BatchPlace place;
  std::shared_ptr<const v1::Batch> batch;  // nullptr: dropped
  std::optional<LossCause> dropped;        // the cause
  TickRange ticks;
  Losses losses;  // reported by the batch
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOLED_BATCH_H_
