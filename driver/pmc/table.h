// Output of fleetperf-pmc: aligned tables and JSON.

#ifndef FLEETPERF_DRIVER_PMC_TABLE_H_
#define FLEETPERF_DRIVER_PMC_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::pmc {

// Returns lines of equal columns. The first column is aligned to the left, the
// others to the right. `rows` have the same number of cells.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows);

// A number of `digits` digits behind the point; "-" if absent.
std::string FormatNumber(std::optional<double> number, int digits);

// With K, M or G, and four or more significant digits: "12.35 M".
std::string FormatCount(std::optional<double> count);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_TABLE_H_
