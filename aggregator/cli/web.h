// The commands of the aggregator's page for browsers.

#ifndef FLEETPERF_AGGREGATOR_CLI_WEB_H_
#define FLEETPERF_AGGREGATOR_CLI_WEB_H_

#include "absl/status/status.h"

namespace fleetperf::cli {

class Connection;

// Prints a link that logs a browser in to the page.
absl::Status MakeLoginLink(const Connection& connection);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_WEB_H_
