// The frequency of the timestamp counter.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_TIMESTAMP_FREQUENCY_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_TIMESTAMP_FREQUENCY_H_

#include <cstdint>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Hz, as the kernel converts the counter to ns for perf_event; exact to about
// 1 in 10^9. Virtual machines' kernels often do not: then, the counter is
// compared with the clock for 10 ms. 0: not x86. Needs no PMU.
uint64_t TimestampHertz(perf_event::System& system);

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_TIMESTAMP_FREQUENCY_H_
