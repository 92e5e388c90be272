// The batches that the aggregator has not acknowledged yet.
//
// This spool keeps them in memory: they survive the loss of the connection, not
// of the agent.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf::v1 {
class Batch;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// A stretch of ticks: those that a batch tells of, or lost ones.
struct TickRange {
  uint64_t ticks = 0;
  absl::Time start = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();

  void Extend(const TickRange& other);
};

// Thread-safe.
class Spool {
 public:
  // Holds at most `max_bytes` of payload, but always the newest batch.
  explicit Spool(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds a batch, whose sequence is one more than that of the one before. If
  // there is no room, the oldest ones go.
  void Append(v1::Batch batch, const TickRange& ticks);

  // The first batch with a sequence greater than `sequence`; null if there is
  // none.
  std::shared_ptr<const v1::Batch> Next(uint64_t sequence) const;

  // Removes the batches up to `sequence`.
  void Acknowledge(uint64_t sequence);

  // Removes one batch, which the aggregator refused for good.
  void Reject(uint64_t sequence);

  // What was removed by Reject.
  struct Rejected {
    uint64_t batches = 0;
    uint64_t ticks = 0;
  };
  Rejected rejected() const;

  // The aggregator had the batches up to `sequence` before this process made
  // them.
  void SetKnown(uint64_t sequence);
  uint64_t known() const;

  // The oldest sequence held, and the newest that was ever appended. If none is
  // held, the first is one more than the last.
  struct Extent {
    uint64_t first = 1;
    uint64_t last = 0;
  };
  Extent extent() const;

  // Waits until it holds at most `bytes` of payload. False if that takes longer
  // than `timeout`.
  bool AwaitAtMost(uint64_t bytes, absl::Duration timeout) const;

  // What had to go since the last call; no ticks if nothing had to.
  TickRange TakeLost();

 private:
  struct Entry {
    std::shared_ptr<const v1::Batch> batch;
    TickRange ticks;
  };

  // The first entry with a sequence of at least `sequence`.
  std::deque<Entry>::const_iterator Find(uint64_t sequence) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  mutable absl::Mutex mutex_;
  mutable Wakeup acknowledged_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  TickRange lost_ ABSL_GUARDED_BY(mutex_);
  Rejected rejected_ ABSL_GUARDED_BY(mutex_);
  uint64_t known_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_H_
