// Counts the calling thread through perf_event.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_PERF_EVENT_COUNTERS_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_PERF_EVENT_COUNTERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driver/perf_event/system.h"
#include "driver/pmc/experiments/thread_counters.h"

namespace fleetperf::pmc {

// Counts user mode, and reads through RDPMC where the kernel permits it. The
// system must outlive the object. Errors are those of Builder::Build.
absl::StatusOr<std::unique_ptr<ThreadCounters>> CountThread(
    perf_event::System& system);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_PERF_EVENT_COUNTERS_H_
