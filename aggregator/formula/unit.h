// What calculated values are measured in.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_
#define FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_

#include <string>

#include "perflib/registration.h"

namespace fleetperf::aggregator {

// "%", "s", "1/s", "B", "B/s", "KiB", "MiB", "bit/s", or empty for a plain
// number. The type tells percentages, seconds and rates; bytes are known by the
// counter's name, for which PerfLib has no other sign.
std::string UnitOf(const perflib::CounterRegistration& counter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_
