// Reports the missing parts of an answer: on standard error and in JSON.

#ifndef FLEETPERF_CLI_MISSING_H_
#define FLEETPERF_CLI_MISSING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Prints text, which may be from outside, to standard error, after standard
// output.
void PrintNote(absl::string_view text);

// Prints a path without samples.
void PrintMissing(const v1::Missing& missing, Format format);

// Prints machines without samples in the range of a query, on standard error
// only the first few.
void PrintSilent(const std::vector<v1::SilentMachine>& machines, Format format);

// Returns "no samples of web-1 in this time: its newest is of 21:45:12Z, 5m2s
// old". If its clock is the reason: "...: its newest is of
// 2026-11-20T22:45:12Z, since its clock is 59m58s ahead of the other machines'
// clocks; set it".
std::string SilenceText(const v1::SilentMachine& machine, absl::Time now);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MISSING_H_
