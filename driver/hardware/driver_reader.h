// Hardware counters from fleetperf's driver, or from the PMU core in a test.

#ifndef FLEETPERF_DRIVER_HARDWARE_DRIVER_READER_H_
#define FLEETPERF_DRIVER_HARDWARE_DRIVER_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/os/clock.h"
#include "driver/hardware/device.h"
#include "driver/hardware/reader.h"

namespace fleetperf::hardware {

// Asks the device for the machine's description. The first Update reserves the
// PMU and programs it, until the reader is destroyed. The clock must outlive
// the reader.
//   NotFound          no CPU has a PMU
//   DataLoss          the driver is not of this version
//   InvalidArgument   `options` has more events than a CPU has counters
//   errors of the device
absl::StatusOr<std::unique_ptr<HardwareReader>> MakeDriverReader(
    std::unique_ptr<Device> device, const ReaderOptions& options,
    const Clock& clock = Clock::Real());

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_DRIVER_READER_H_
