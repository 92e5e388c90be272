// Explains why the kernel refused to open an event.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_OPEN_ERROR_H_
#define FLEETPERF_DRIVER_PERF_EVENT_OPEN_ERROR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

struct RefusedOpen {
  const Event* event;
  const Attributes* attributes;
  uint32_t known_size;  // Attributes::size after the call
  int pid;
  int cpu;
  bool is_cgroup;
};

// Returns an error that names the event, the cause and the next step. Reads
// settings of `system` that the cause depends on.
absl::Status OpenError(System& system, int error, const RefusedOpen& refused);

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_OPEN_ERROR_H_
