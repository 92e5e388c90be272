// The units of calculated values.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_
#define FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_

#include <string>

#include "perflib/registration.h"

namespace fleetperf::aggregator {

// Returns "%", "s", "1/s", "B", "B/s", "KiB", "MiB", "bit/s", or empty for a
// plain number. Percentages, seconds and rates follow from the type. Bytes are
// recognized by the counter's name, since PerfLib has no other indication.
std::string UnitOf(const perflib::CounterRegistration& counter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_UNIT_H_
