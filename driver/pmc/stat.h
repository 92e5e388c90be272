// `fleetperf-pmc stat`: counts what a command does.

#ifndef FLEETPERF_DRIVER_PMC_STAT_H_
#define FLEETPERF_DRIVER_PMC_STAT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

struct StatOptions {
  std::vector<std::string> command;  // and its arguments
  std::vector<std::string> events;   // empty: the defaults
  bool json = false;
  std::string output;  // a file; empty: standard error
};

struct StatCount {
  std::string event;
  std::optional<double> value;  // absent: not counted, see status
  std::string unit;             // "ms"; empty for plain counts
  absl::Status status;
  // The share of time in which the event was on the PMU; its value is scaled.
  double counted = 1;
};

struct StatResult {
  absl::Status problem;  // the command could not be executed
  std::string scope;     // what was counted: "the command and its children"
  std::vector<StatCount> counts;
  absl::Duration elapsed;
  absl::Duration user;
  absl::Duration system;
  int exit_status = 0;
};

// Runs the command, and counts. On Linux, events of the command and its
// children; on Windows, those of all CPUs meanwhile. The result's exit status
// is the command's, 128 plus the signal that ended the command, 127 if the
// command does not exist, or 126 if the command cannot be executed.
absl::StatusOr<StatResult> MeasureCommand(const Machine& machine,
                                          const StatOptions& options);

// Text or JSON, ends with a newline.
std::string FormatStat(const StatOptions& options, const StatResult& result);

// Measures and prints. Returns the exit status.
absl::StatusOr<int> RunStat(const Machine& machine, const StatOptions& options);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_STAT_H_
