#include "driver/hardware/reader.h"

namespace fleetperf::hardware {

absl::StatusOr<std::unique_ptr<HardwareReader>> OpenHardwareReader(
    const ReaderOptions&) {
  return absl::UnavailableError(
      "the driver fleetperf_pmu is not installed; install it as administrator "
      "with: fleetperf-pmu.exe install");
}

}  // namespace fleetperf::hardware
