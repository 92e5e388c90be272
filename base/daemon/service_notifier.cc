#include "base/daemon/service_notifier.h"

#include <optional>
#include <utility>

#include "base/daemon/service.h"

namespace fleetperf {

ServiceNotifier::ServiceNotifier(std::function<void()> probe)
    : probe_(std::move(probe)) {
  ReportToSystemd("READY=1");
  const auto interval = SystemdWatchdogInterval();
  if (!interval.has_value()) return;
  thread_ = std::thread([this, interval] { Watch(*interval / 2); });
}

ServiceNotifier::~ServiceNotifier() {
  if (thread_.joinable()) {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      wakeup_.Notify();
    }
    thread_.join();
    // The stop has the whole interval.
    ReportToSystemd("WATCHDOG=1");
  }
  ReportToSystemd("STOPPING=1");
}

void ServiceNotifier::Watch(absl::Duration interval) {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      wakeup_.Await(
          &mutex_, interval,
          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
      if (stopping_) return;
    }
    probe_();
    ReportToSystemd("WATCHDOG=1");
  }
}

}  // namespace fleetperf
