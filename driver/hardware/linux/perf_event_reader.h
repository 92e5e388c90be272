// Hardware counters from Linux's perf_event.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_PERF_EVENT_READER_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_PERF_EVENT_READER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "base/os/clock.h"
#include "driver/hardware/reader.h"
#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Whether the machine has a PMU that counts instructions of all processes.
// Otherwise, the reason and the next step.
absl::Status CheckPmu(perf_event::System& system);

// Events are open from the first Update on. The clock and the system must
// outlive the reader.
std::unique_ptr<HardwareReader> MakePerfEventReader(
    perf_event::System& system, size_t max_descriptors,
    const Clock& clock = Clock::Real());

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_PERF_EVENT_READER_H_
