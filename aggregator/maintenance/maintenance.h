// Keeps a store in shape, in a thread of its own.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_

#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// How long samples are kept after they were received.
struct Retention {
  absl::Duration full_resolution = absl::Hours(24 * 7);
  // One a minute is left for so long. Then one an hour.
  absl::Duration minute_resolution = absl::Hours(24 * 60);
  absl::Duration all = absl::Hours(24 * 400);
  // Bytes on disk; beyond it, what was received first goes. 0: no limit.
  uint64_t max_size = 0;
};

// Compacts the store as its samples come, thins them and removes them, until it
// is destroyed; by age only while the guard lets it go by the time of day.
class Maintenance {
 public:
  // All but `retention` outlive this.
  Maintenance(Store* store, const Retention& retention, ClockGuard* guard,
              const Clock* clock);
  ~Maintenance();

 private:
  void Run();
  void Work();
  bool IsStopping();
  void Compact(absl::Time idle_since);
  void RemoveOlder(absl::Time now);
  void Thin(Resolution resolution, absl::Time time);
  void Check(absl::string_view action, const absl::Status& status);

  Store& store_;
  const Retention retention_;
  ClockGuard& guard_;
  const Clock& clock_;
  absl::Duration next_removal_;  // Clock::Monotonic()
  LogOncePerCause log_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup stopped_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_MAINTENANCE_H_
