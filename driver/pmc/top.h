// `fleetperf-pmc top`: a table of all CPUs, again and again.

#ifndef FLEETPERF_DRIVER_PMC_TOP_H_
#define FLEETPERF_DRIVER_PMC_TOP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

struct TopOptions {
  absl::Duration interval = absl::Seconds(1);
  uint32_t count = 0;  // of tables; 0: until the process is stopped
  bool json = false;   // an object per CPU and interval
};

// Prints to standard output: on a terminal, each table replaces the last one.
absl::Status RunTop(const Machine& machine, const TopOptions& options);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_TOP_H_
