#include <utility>

#include "base/status_macros.h"
#include "driver/hardware/driver_reader.h"
#include "driver/hardware/reader.h"
#include "driver/windows/client/open_device.h"

namespace fleetperf::hardware {

absl::StatusOr<std::unique_ptr<HardwareReader>> OpenHardwareReader(
    const ReaderOptions& options) {
  ASSIGN_OR_RETURN(auto device, OpenDevice());
  return MakeDriverReader(std::move(device), options);
}

}  // namespace fleetperf::hardware
