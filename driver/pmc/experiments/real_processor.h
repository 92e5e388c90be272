// What the operating system does for a RealProcessor.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_REAL_PROCESSOR_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_REAL_PROCESSOR_H_

#include "absl/time/time.h"

namespace fleetperf::pmc {

// The time since a fixed moment, by a clock that resolves microseconds.
absl::Duration PreciseTime();

// Lets the calling thread run on one CPU only: that which runs it. Returns the
// CPU's number, or -1 if the system refuses.
int PinThisThread();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_REAL_PROCESSOR_H_
