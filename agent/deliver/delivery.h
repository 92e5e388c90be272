// From samples to ticks and batches in the spool.
//
// Ticks are held back for a while and sent together, because wake-ups are what
// a fleet costs; while somebody watches, each tick is sent at once.

#ifndef FLEETPERF_AGENT_DELIVER_DELIVERY_H_
#define FLEETPERF_AGENT_DELIVER_DELIVERY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/deliver/batch_builder.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/receipts.h"
#include "agent/deliver/samples.h"
#include "agent/deliver/spool.h"
#include "base/clock.h"

namespace fleetperf::v1 {
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Thread-safe.
class Delivery {
 public:
  struct Options {
    uint64_t epoch = 0;  // of a spool in memory
    // A tick waits at most so long for others to be sent with. The first does
    // not wait.
    absl::Duration batch_period = absl::Seconds(10);
    uint64_t spool_bytes = uint64_t{64} << 20;  // of a spool in memory
    // If not 0, a batch has so many blocks, whatever the time is and whoever
    // watches: the same blocks make the same batches.
    uint64_t blocks_per_batch = 0;
    const Clock* clock = &Clock::Real();
  };

  Delivery(const Options& options, std::unique_ptr<Spool> spool);
  // With a spool in memory.
  explicit Delivery(const Options& options);
  ~Delivery();

  absl::Duration batch_period() const { return options_.batch_period; }
  Dictionary& dictionary() { return spool_->dictionary(); }
  Spool& spool() { return *spool_; }
  const Spool& spool() const { return *spool_; }
  Receipts& receipts() { return receipts_; }

  // What was done since the start.
  struct Counts {
    uint64_t ticks = 0;       // given to Add
    uint64_t samples = 0;     // values in them
    uint64_t lost_ticks = 0;  // given to AddLoss
    uint64_t batches = 0;     // given to the spool
  };
  Counts counts() const;

  // A number for a query handle, BlockSamples::handle, that no other has.
  uint32_t NewHandle() { return next_handle_++; }

  // Called, on the thread that caused it and compressed it, when the spool has
  // a new batch.
  void SetBatchListener(std::function<void()> listener);

  void Add(BlockSamples block);
  // Reports ticks that will never come; those of one machine and cause are
  // added up until they are sent. `machine` may be empty: all of them.
  void AddLoss(const std::string& machine, const TickRange& ticks,
               LossCause cause);

  // Whether each tick is sent at once. Sends what was held back.
  void SetLive(bool live);
  // The same, but what was held back goes with the next tick: for callbacks,
  // which must not compress a batch.
  void SetLiveFromNextTick(bool live);

  // Sends what was held back.
  void Flush();

 private:
  struct Closed;

  void StartHolding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDue(absl::Duration until_next_tick) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HoldsAnything() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What was defined and retired since the last call, which is also added to
  // defined_.
  v1::BatchContent TakeDefinitions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Closed CloseBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Others add ticks meanwhile.
  void SealBatch(Closed closed) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const std::unique_ptr<Spool> spool_;
  Receipts receipts_;
  std::atomic<uint32_t> next_handle_ = 1;

  mutable absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  BatchBuilder builder_ ABSL_GUARDED_BY(mutex_);
  TickRange held_ ABSL_GUARDED_BY(mutex_);
  absl::Duration held_since_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_losses_ ABSL_GUARDED_BY(mutex_) = false;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  // The definitions and retirements of the next batch so far.
  const std::unique_ptr<v1::BatchContent> defined_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DELIVERY_H_
