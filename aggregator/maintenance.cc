#include "aggregator/maintenance.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kDropInterval = absl::Minutes(10);
// Batches wait so long for more of their agent, before they are moved on.
constexpr absl::Duration kIdle = absl::Minutes(10);

}  // namespace

Maintenance::Maintenance(Store* store, absl::Duration retention)
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
  if (stop_.HasBeenNotified() || now < next_drop_) return;
  next_drop_ = now + kDropInterval;
  Check("remove old samples", store_.DropBefore(now - retention_));
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
