// Counts of all CPUs while a command runs, for systems that do not count
// processes.

#ifndef FLEETPERF_DRIVER_PMC_SYSTEM_COUNTS_H_
#define FLEETPERF_DRIVER_PMC_SYSTEM_COUNTS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/pmc/machine.h"
#include "driver/pmc/stat.h"

namespace fleetperf::pmc {

// Thread-compatible.
class SystemCounts {
 public:
  // Starts counting `events`, texts such as "D1/08" (CODE/UMASK in
  // hexadecimal); without any, what perf counts by default. A machine that
  // cannot count is an error of each count.
  //   InvalidArgument   a text that is no such event
  static absl::StatusOr<SystemCounts> Start(
      const Machine& machine, const std::vector<std::string>& events);

  // Returns the growth of all CPUs since the start. A count that no CPU has is
  // NotFound.
  std::vector<StatCount> Read();

 private:
  SystemCounts() = default;

  std::vector<std::string> events_;
  absl::Status status_;
  std::unique_ptr<hardware::HardwareReader> reader_;
  std::map<int, hardware::HardwareReading> before_;
};

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_SYSTEM_COUNTS_H_
