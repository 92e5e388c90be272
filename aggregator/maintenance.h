// Keeps a store in shape, in a thread of its own.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_H_

#include <cstdint>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "base/logging.h"

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
// is destroyed.
class Maintenance {
 public:
  // `store` outlives this.
  Maintenance(Store* store, const Retention& retention);
  ~Maintenance();

 private:
  void Run();
  void Compact(absl::Time idle_since);
  void Thin(Resolution resolution, absl::Time time);
  void Check(absl::string_view action, const absl::Status& status);

  Store& store_;
  const Retention retention_;
  absl::Time next_removal_ = absl::InfinitePast();
  LogOncePerCause log_;
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_H_
