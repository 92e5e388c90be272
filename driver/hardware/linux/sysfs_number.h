// Numbers in files of /sys.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_SYSFS_NUMBER_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_SYSFS_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Returns the number that is all of the file; std::nullopt if the file cannot
// be read or has another text, such as "Unavailable" or a negative number.
inline std::optional<uint64_t> ReadNumber(perf_event::System& system,
                                          const std::string& path) {
  const auto text = system.ReadFile(path);
  uint64_t number;
  if (!text.ok() ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_SYSFS_NUMBER_H_
