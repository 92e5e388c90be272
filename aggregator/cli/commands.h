// The commands of fleetperf. Each prints its result to standard output and
// returns what went wrong, or AlreadyReported.

#ifndef FLEETPERF_AGGREGATOR_CLI_COMMANDS_H_
#define FLEETPERF_AGGREGATOR_CLI_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/cli/connection.h"
#include "aggregator/cli/output.h"

namespace fleetperf {
class StopSignal;
}  // namespace fleetperf

namespace fleetperf::cli {

// The command failed, and standard error says how.
inline absl::Status AlreadyReported() {
  return absl::Status(absl::StatusCode::kInvalidArgument, "");
}

// `verbose`: with the plan of each, and what became of its queries.
absl::Status ListMachines(const Connection& connection, Format format,
                          const std::string& machine, bool verbose);
absl::Status ListCountersets(const Connection& connection, Format format,
                             const std::string& machine);
absl::Status ListCounters(const Connection& connection, Format format,
                          const std::string& counterset);
absl::Status ListInstances(const Connection& connection, Format format,
                           const std::string& counterset,
                           const std::string& machine);

// Texts as they were typed; empty where nothing was.
struct QueryFlags {
  std::vector<std::string> paths;
  std::string since;
  std::string from;
  std::string to;
  std::string step;
  std::string over;
  uint32_t top = 0;
  uint32_t bottom = 0;
  std::string where;
  std::string agg;
  std::vector<std::string> by;
  bool raw = false;
  bool scale = false;
  bool cap100 = false;
  std::string collect;  // have agents collect so long before
};
absl::Status Query(const Connection& connection, Format format,
                   const QueryFlags& flags);

// Draws the values: in the file `output`, or if that is empty in the terminal.
// Without flags.step, windows are as short as the chart has room for.
absl::Status Plot(const Connection& connection, const QueryFlags& flags,
                  const std::string& output);

struct ExplainFlags {
  std::string path;
  std::string at;
};
absl::Status Explain(const Connection& connection, Format format,
                     const ExplainFlags& flags);

struct WatchFlags {
  std::vector<std::string> paths;
  std::string since;
  std::string interval;
  std::string where;
  uint32_t top = 0;
  uint32_t bottom = 0;
  bool raw = false;
  std::string collect;  // have agents collect meanwhile, but not longer
};
// Runs until `stop`, or until nobody reads its output. On a terminal keys sort
// and turn pages.
absl::Status Watch(const Connection& connection, Format format,
                   const WatchFlags& flags, StopSignal* stop);

// Prints what is in files that are blocks. The rest is printed also where parts
// are rejected.
absl::Status Decode(Format format, const std::vector<std::string>& files);

struct CalcFlags {
  bool wrap32 = false;
};
// Reads raw samples from standard input, a JSON object a line.
absl::Status Calc(const CalcFlags& flags);

// Has the aggregator copy its store into a directory of its machine.
absl::Status Backup(const Connection& connection, const std::string& directory);

// What an operator is to know of the aggregator itself.
absl::Status ShowStatus(const Connection& connection, Format format);

// Says that the aggregator's clock is right, after it jumped.
absl::Status ConfirmClock(const Connection& connection);

struct PkiFlags {
  std::string directory;
  std::string name;                // init: of the authority
  std::string role;                // issue
  std::vector<std::string> names;  // issue
  std::string output;              // issue: files without their endings
  std::string valid;               // a duration
  bool force = false;              // overwrite
};
absl::Status PkiInit(const PkiFlags& flags);
absl::Status PkiIssue(const PkiFlags& flags);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_COMMANDS_H_
