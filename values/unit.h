// The units of calculated values.

#ifndef FLEETPERF_VALUES_UNIT_H_
#define FLEETPERF_VALUES_UNIT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "perflib/registration.h"

namespace fleetperf {

// Returns "%", "s", "1/s", "B", "B/s", "KiB", "MiB", "bit/s", or empty for a
// plain number. Percentages, seconds and rates follow from the type. Bytes are
// recognized by the counter's name, since PerfLib has no other indication.
std::string UnitOf(const perflib::CounterRegistration& counter);

// Returns the factor that converts numbers in the unit `from` to the unit `to`
// of values; std::nullopt if that is impossible. `from` may also be a
// multiplier (k, M, G, T) of any unit.
std::optional<double> UnitFactor(absl::string_view from, absl::string_view to);

// Returns InvalidArgument, with the known units, if UnitFactor does not know
// `unit`. An empty unit is valid.
absl::Status CheckUnit(absl::string_view unit);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_UNIT_H_
