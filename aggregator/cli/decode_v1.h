// decode, for data of PerfLib V1.

#ifndef FLEETPERF_AGGREGATOR_CLI_DECODE_V1_H_
#define FLEETPERF_AGGREGATOR_CLI_DECODE_V1_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "aggregator/cli/output.h"

namespace fleetperf::cli {

// Returns whether the bytes begin as the value of HKEY_PERFORMANCE_DATA does.
bool IsV1Data(absl::string_view bytes);

// Calls `use` with a record for each value: object and counter are the title
// indexes, because names are not in the data. Returns the defects.
std::vector<std::string> ForEachV1Value(
    absl::string_view bytes, absl::FunctionRef<void(const Record&)> use);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_DECODE_V1_H_
