#include "base/status_macros.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/hardware/reader.h"
#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

absl::StatusOr<std::unique_ptr<HardwareReader>> OpenHardwareReader(
    const ReaderOptions& options) {
  perf_event::System& system = perf_event::LinuxSystem();
  RETURN_IF_ERROR(CheckPmu(system));
  return MakePerfEventReader(system, options.max_descriptors);
}

}  // namespace fleetperf::hardware
