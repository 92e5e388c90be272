// Parses the driver's replies. They are checked: the driver may be of another
// version, or not ours.

#ifndef FLEETPERF_DRIVER_HARDWARE_DRIVER_REPLY_H_
#define FLEETPERF_DRIVER_HARDWARE_DRIVER_REPLY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {

struct DriverDescription {
  pmu::Description machine;
  std::vector<pmu::CpuDescription> cpus;  // by number
};

// Fields that a later version appends are ignored. DataLoss: sizes or numbers
// that no driver sends.
absl::StatusOr<DriverDescription> ParseDescription(absl::string_view reply);
absl::StatusOr<std::vector<pmu::CpuCounts>> ParseCounts(
    absl::string_view reply);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_DRIVER_REPLY_H_
