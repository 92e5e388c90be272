#include "aggregator/maintenance.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kRemovalInterval = absl::Minutes(10);
// Batches wait so long for more of their agent, before they are moved on.
constexpr absl::Duration kIdle = absl::Minutes(10);

}  // namespace

Maintenance::Maintenance(Store* store, const Retention& retention)
    : store_(*store), retention_(retention), thread_([this] {
        do {
          Run();
        } while (!stop_.WaitForNotificationWithTimeout(kInterval));
      }) {}

Maintenance::~Maintenance() {
  stop_.Notify();
  thread_.join();
}

void Maintenance::Run() {
  const absl::Time now = absl::Now();
  Compact(now - kIdle);
  if (stop_.HasBeenNotified() || now < next_removal_) return;
  next_removal_ = now + kRemovalInterval;
  Check("remove old samples", store_.DropBefore(now - retention_.all));
  Thin(Resolution::kMinute, now - retention_.full_resolution);
  Thin(Resolution::kHour, now - retention_.minute_resolution);
  if (retention_.max_size > 0) {
    Check("keep the store small", store_.DropTo(retention_.max_size));
  }
}

void Maintenance::Thin(Resolution resolution, absl::Time time) {
  for (bool more = true; more && !stop_.HasBeenNotified();) {
    const auto done = store_.Thin(resolution, time);
    Check("thin old samples", done.status());
    more = done.ok() && *done;
  }
}

void Maintenance::Compact(absl::Time idle_since) {
  for (bool more = true; more && !stop_.HasBeenNotified();) {
    const auto done = store_.Compact(idle_since);
    Check("compact the store", done.status());
    more = done.ok() && *done;
  }
}

void Maintenance::Check(absl::string_view action, const absl::Status& status) {
  if (status.ok()) return;
  log_.Warn(action, absl::StrCat("cannot ", action, ": ", status.message()));
}

}  // namespace fleetperf::aggregator
