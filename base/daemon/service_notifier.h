// Reports the state of a daemon to systemd.

#ifndef FLEETPERF_BASE_DAEMON_SERVICE_NOTIFIER_H_
#define FLEETPERF_BASE_DAEMON_SERVICE_NOTIFIER_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf {

// Lives as long as the daemon serves. Does nothing if systemd expects no
// reports. Thread-compatible.
class ServiceNotifier {
 public:
  // Reports that the daemon is ready. If the unit has WatchdogSec=, a thread
  // calls `probe` at half of that interval and reports each return. A probe
  // that takes a daemon's locks does not return after a deadlock, and
  // systemd restarts the daemon.
  explicit ServiceNotifier(std::function<void()> probe);
  // Reports that the daemon stops. Waits for a running probe.
  ~ServiceNotifier();

 private:
  void Watch(absl::Duration interval);

  const std::function<void()> probe_;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // not joinable without a watchdog
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DAEMON_SERVICE_NOTIFIER_H_
