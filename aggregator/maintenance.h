// Keeps a store in shape, in a thread of its own.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_H_

#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

// Compacts the store as its samples come, and removes what was received longer
// ago than `retention`, until it is destroyed.
class Maintenance {
 public:
  // `store` outlives this.
  Maintenance(Store* store, absl::Duration retention);
  ~Maintenance();

 private:
  void Run();
  void Compact(absl::Time idle_since);
  void Check(absl::string_view action, const absl::Status& status);

  Store& store_;
  const absl::Duration retention_;
  absl::Time next_drop_ = absl::InfinitePast();
  LogOncePerCause log_;
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_H_
