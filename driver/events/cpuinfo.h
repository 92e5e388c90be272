// The model of CPU that Linux reports.

#ifndef FLEETPERF_DRIVER_EVENTS_CPUINFO_H_
#define FLEETPERF_DRIVER_EVENTS_CPUINFO_H_

#include "absl/strings/string_view.h"
#include "driver/events/events.h"

namespace fleetperf::events {

// The model of the first CPU in the contents of /proc/cpuinfo. The type of core
// is not there: it stays 0. The vendor is kOther unless all numbers are there.
Core CoreOfCpuinfo(absl::string_view text);

}  // namespace fleetperf::events

#endif  // FLEETPERF_DRIVER_EVENTS_CPUINFO_H_
