// The models of CPUs: as Linux reports them, and their code names.

#ifndef FLEETPERF_DRIVER_EVENTS_CORE_MODEL_H_
#define FLEETPERF_DRIVER_EVENTS_CORE_MODEL_H_

#include "absl/strings/string_view.h"
#include "driver/events/events.h"

namespace fleetperf::events {

// The model of the first CPU in the contents of /proc/cpuinfo. The type of core
// is not there: it stays 0. The vendor is kOther unless all numbers are there.
Core CoreOfCpuinfo(absl::string_view text);

// Returns the vendor's code name: "Ice Lake-SP", "Zen 3". Models that Linux has
// one list of events for share a name: "Skylake to Comet Lake". "" if the model
// is unknown.
const char* CodeNameOf(const Core& core);

}  // namespace fleetperf::events

#endif  // FLEETPERF_DRIVER_EVENTS_CORE_MODEL_H_
