// Tells of CPUs that are added, and of the machine's sleep.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_NOTIFICATIONS_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_NOTIFICATIONS_H_

#include <stdint.h>

#include "driver/windows/sys/kernel.h"

namespace fleetperf::pmu_device {

// Called at PASSIVE_LEVEL or APC_LEVEL, by any thread.
class Listener {
 public:
  virtual void OnCpuAdded(uint32_t cpu) = 0;
  virtual void OnSleep() = 0;
  virtual void OnWake() = 0;

 protected:
  ~Listener() = default;
};

class Notifications {
 public:
  // Begins to notify `listener`. Windows never removes CPUs. A Windows without
  // one of the functions, such as Wine, does without its notifications.
  void Start(Listener& listener);

  // No notification runs or begins after the return.
  void Stop();

 private:
  void StartPower(Listener& listener);

  void* processor_callback_ = nullptr;
  PCALLBACK_OBJECT power_object_ = nullptr;
  void* power_callback_ = nullptr;
};

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_NOTIFICATIONS_H_
