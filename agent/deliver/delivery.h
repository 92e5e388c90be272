// From samples to batches in the spool.
//
// Ticks are held back for a while and sent together, because wake-ups are what
// a fleet costs; while somebody watches, each tick is sent at once.

#ifndef FLEETPERF_AGENT_DELIVER_DELIVERY_H_
#define FLEETPERF_AGENT_DELIVER_DELIVERY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/deliver/batch_builder.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/samples.h"
#include "agent/deliver/spool.h"
#include "base/clock.h"

namespace fleetperf::agent {

enum class LossCause {
  kSpoolFull,
  kRejected,
  kOverrun,       // the previous tick took too long
  kSourceFailed,  // the source gave no block
};

// Thread-safe.
class Delivery {
 public:
  struct Options {
    uint64_t epoch = 0;
    // A tick waits at most so long for others to be sent with. The first does
    // not wait.
    absl::Duration batch_period = absl::Seconds(10);
    uint64_t spool_bytes = uint64_t{64} << 20;
    // If not 0, a batch has so many blocks, whatever the time is and whoever
    // watches: the same blocks make the same batches.
    uint64_t blocks_per_batch = 0;
    const Clock* clock = &Clock::Real();
  };

  explicit Delivery(const Options& options);
  ~Delivery();

  uint64_t epoch() const { return options_.epoch; }
  absl::Duration batch_period() const { return options_.batch_period; }
  Dictionary& dictionary() { return dictionary_; }
  Spool& spool() { return spool_; }

  // A number for a query handle, BlockSamples::handle, that no other has.
  uint32_t NewHandle() { return next_handle_++; }

  // Called, on the thread that caused it, when the spool has a new batch.
  void SetBatchListener(std::function<void()> listener);

  void Add(BlockSamples block);
  // Reports ticks that will never come; those of one machine and cause are
  // added up until they are sent. `machine` may be empty: all of them.
  void AddLoss(const std::string& machine, const TickRange& ticks,
               LossCause cause);

  // Whether each tick is sent at once. Sends what was held back.
  void SetLive(bool live);

  // Sends what was held back.
  void Flush();

 private:
  void StartHolding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDue(absl::Duration until_next_tick) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BuildBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Notify();

  const Options options_;
  Dictionary dictionary_;
  Spool spool_;
  std::atomic<uint32_t> next_handle_ = 1;

  absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  BatchBuilder builder_ ABSL_GUARDED_BY(mutex_);
  TickRange held_ ABSL_GUARDED_BY(mutex_);
  absl::Duration held_since_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::pair<std::string, LossCause>, TickRange> losses_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DELIVERY_H_
