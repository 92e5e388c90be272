// Compacts, thins and removes stored samples on a thread of its own.
//
// Every ten seconds, the thread compacts the store and has the clock guard
// check for jumps. Every ten minutes, it also removes and thins samples by age
// and then removes the samples received first until the store fits its size
// limit. Samples are removed by age only while the clock guard trusts the time
// of day. The schedule follows the monotonic clock.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/store/store.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// The ages, by time of receipt, up to which samples are retained.
struct Retention {
  absl::Duration full_resolution = absl::Hours(24 * 7);
  // The age up to which one sample per minute is retained; then one per hour.
  absl::Duration minute_resolution = absl::Hours(24 * 60);
  absl::Duration all = absl::Hours(24 * 400);
  // Bytes on disk. Beyond it, the samples received first are removed. 0: no
  // limit.
  uint64_t max_size = 0;
};

// Maintains a store from construction to destruction. It must be the only
// caller of the store's Compact, Thin, DropBefore and DropTo.
// Thread-compatible.
class Maintenance {
 public:
  // The pointers must outlive the object.
  Maintenance(Store* store, const Retention& retention, ClockGuard* guard,
              const Clock* clock);
  ~Maintenance();

  // The number of failed steps since the start. They are tried again.
  // Thread-safe.
  uint64_t failures() const { return failures_; }

  // Replaces the retention. The next removal, within ten minutes, uses it.
  // Thread-safe.
  void SetRetention(const Retention& retention);

 private:
  void Run();
  void RunOnce();
  Retention GetRetention();
  bool IsStopping();
  void Compact(absl::Time idle_since);
  void RemoveOlder(const Retention& retention, absl::Time now);
  void Thin(Resolution resolution, absl::Time time);
  void Check(absl::string_view action, const absl::Status& status);

  Store& store_;
  ClockGuard& guard_;
  const Clock& clock_;
  absl::Duration next_removal_;  // Clock::Monotonic(); used only by the thread
  LogOncePerCause log_;
  std::atomic<uint64_t> failures_ = 0;
  absl::Mutex mutex_;
  Retention retention_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup stopped_;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_
