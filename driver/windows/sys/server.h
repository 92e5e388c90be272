// Serves the clients of the device: passes their requests to the PMU core, one
// at a time.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_SERVER_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_SERVER_H_

#include <stddef.h>
#include <stdint.h>

#include "driver/pmu/pmu.h"
#include "driver/windows/access/device_interface.h"
#include "driver/windows/sys/kernel.h"
#include "driver/windows/sys/notifications.h"

namespace fleetperf::pmu_device {

// Thread-safe. IRQL: PASSIVE_LEVEL or APC_LEVEL.
class Server final : public Listener {
 public:
  // `memory` is that of the Pmu.
  Server(pmu::Machine& machine, void* memory);

  // Carries out a request. `buffer` has `request_size` bytes of input, and
  // takes a DeviceReply and the core's reply, of together up to
  // `reply_capacity` bytes, which must be at least that of a DeviceReply.
  // Returns their size.
  size_t Handle(pmu::ClientId client, pmu::Command command, void* buffer,
                size_t request_size, size_t reply_capacity);

  // The client is gone.
  void Close(pmu::ClientId client);

  // All clients are gone.
  void Stop();

  void OnCpuAdded(uint32_t cpu) override;
  void OnSleep() override;
  void OnWake() override;

 private:
  KMUTEX mutex_;  // guards the rest
  pmu::Pmu pmu_;
};

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_SERVER_H_
