// Reports the missing parts of an answer: on standard error and in JSON.

#ifndef FLEETPERF_AGGREGATOR_CLI_MISSING_H_
#define FLEETPERF_AGGREGATOR_CLI_MISSING_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/cli/output.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Prints a path without samples.
void PrintMissing(const v1::Missing& missing, Format format);

// Prints machines that stopped before the range of a query, on standard error
// only the first few.
void PrintSilent(const std::vector<v1::SilentMachine>& machines, Format format);

// Prints an aggregator whose machines are missing.
void PrintUnreachable(const v1::UnreachablePeer& peer, Format format);

// Returns "the machines of the aggregator at agg-2:7443 are missing: ...".
std::string UnreachableText(const v1::UnreachablePeer& peer);

// Returns "no samples of web-1 in this time: its newest is of 21:45:12Z, 5m2s
// old".
std::string SilenceText(const v1::SilentMachine& machine, absl::Time now);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_MISSING_H_
