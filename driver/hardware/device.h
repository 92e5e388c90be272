// The way to the PMU core: through a driver's device, or in tests to a core
// with a simulated machine.

#ifndef FLEETPERF_DRIVER_HARDWARE_DEVICE_H_
#define FLEETPERF_DRIVER_HARDWARE_DEVICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {

// One client of the PMU core. Destruction releases what the client holds.
// Thread-compatible.
class Device {
 public:
  virtual ~Device() = default;

  // Sends a request, whose bytes are a structure of protocol.h or none, and
  // returns the bytes of the reply. Errors of the core are those of ErrorOf.
  virtual absl::StatusOr<std::string> Call(pmu::Command command,
                                           absl::string_view request) = 0;
};

// The status for a result of the core; OK for kOk. The message has the cause
// and the next step.
//   ResourceExhausted    kOwned, kReservedBySystem, kInUse: another owner
//   FailedPrecondition   kNotOwner, kNotProgrammed
//   NotFound             kNoPmu
//   Unimplemented        kUnknownCommand, kWrongVersion
//   InvalidArgument      all other
absl::Status ErrorOf(pmu::Command command, pmu::Result result);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_DEVICE_H_
