// Hardware events that several tests count.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_EVENTS_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_EVENTS_H_

#include "driver/perf_event/event.h"

namespace fleetperf::perf_event {

inline Event Cycles() { return Hardware(HardwareEvent::kCpuCycles); }
inline Event Instructions() { return Hardware(HardwareEvent::kInstructions); }
inline Event Misses() { return Hardware(HardwareEvent::kCacheMisses); }

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_EVENTS_H_
