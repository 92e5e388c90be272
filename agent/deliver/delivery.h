// Turns samples into ticks and batches in the spool.
//
// Ticks are held for a while and sent together, because wake-ups dominate the
// cost of a fleet. While a user watches, every tick is sent at once.

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
#include "base/os/clock.h"

namespace fleetperf::v1 {
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Thread-safe.
class Delivery {
 public:
  struct Options {
    uint64_t epoch = 0;  // of a spool in memory
    // The maximum time that a tick is held to be sent with others. The first
    // tick is not held.
    absl::Duration batch_period = absl::Seconds(10);
    uint64_t spool_bytes = uint64_t{64} << 20;  // of a spool in memory
    // If not 0, every batch has this number of blocks, regardless of time and
    // watchers: the same blocks always make the same batches.
    uint64_t blocks_per_batch = 0;
    const Clock* clock = &Clock::Real();
  };

  Delivery(const Options& options, std::unique_ptr<Spool> spool);
  // Creates a delivery with a spool in memory.
  explicit Delivery(const Options& options);
  ~Delivery();

  absl::Duration batch_period() const { return options_.batch_period; }
  Dictionary& dictionary() { return spool_->dictionary(); }
  Spool& spool() { return *spool_; }
  const Spool& spool() const { return *spool_; }
  Receipts& receipts() { return receipts_; }

  // Counts since the start.
  struct Counts {
    uint64_t ticks = 0;       // given to Add
    uint64_t samples = 0;     // values in them
    uint64_t lost_ticks = 0;  // given to AddLoss
    uint64_t batches = 0;     // given to the spool
  };
  Counts counts() const;

  // Returns a unique number for a query handle, BlockSamples::handle.
  uint32_t NewHandle() { return next_handle_++; }

  // Sets the function to call when the spool has a new batch. The call is made
  // by the thread that closed and compressed the batch.
  void SetBatchListener(std::function<void()> listener);

  // Adds a tick. Closes and compresses the open batch if the tick completes it.
  void Add(BlockSamples block);
  // Reports lost ticks. Losses with the same machine and cause are added up
  // until they are sent. An empty `machine` means all machines.
  void AddLoss(const std::string& machine, const TickRange& ticks,
               LossCause cause);

  // Sets whether every tick is sent at once. Sends the held ticks.
  void SetLive(bool live);
  // Same, but the held ticks are sent with the next tick. For callbacks, which
  // must not compress a batch.
  void SetLiveFromNextTick(bool live);

  // Sends the held ticks.
  void Flush();

 private:
  struct Closed;

  void StartHolding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDue(absl::Duration until_next_tick) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HoldsAnything() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the definitions and retirements since the last call, and adds them
  // to defined_.
  v1::BatchContent TakeDefinitions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Closed CloseBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Encodes and stores the batch without the lock, so that other threads can
  // add ticks.
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
