// The commands of fleetperf. Each prints its result to standard output and
// returns its error, or AlreadyReported.

#ifndef FLEETPERF_CLI_COMMANDS_H_
#define FLEETPERF_CLI_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/connection_flags.h"
#include "cli/machine_flags.h"
#include "cli/output.h"

namespace fleetperf {
class StopSignal;
}  // namespace fleetperf

namespace fleetperf::cli {

class Aggregators;
class Connection;

// The error of a command that has reported its failure on standard error.
inline absl::Status AlreadyReported() {
  return absl::Status(absl::StatusCode::kInvalidArgument, "");
}

// `verbose` adds the plan of each machine and the state of its queries.
absl::Status ListMachines(const Aggregators& aggregators, Format format,
                          const MachineFlags& machines, bool verbose);
// Makes all aggregators forget machines that no agent collects from any more:
// all of them or none. Only says what would be forgotten if `dry_run`.
absl::Status ForgetMachines(const Aggregators& aggregators,
                            const std::vector<std::string>& names,
                            bool dry_run);
absl::Status ListCountersets(const Aggregators& aggregators, Format format,
                             const MachineFlags& machines);
absl::Status ListCounters(const Aggregators& aggregators, Format format,
                          const std::string& counterset,
                          const MachineFlags& machines);
absl::Status ListInstances(const Aggregators& aggregators, Format format,
                           const std::string& counterset,
                           const MachineFlags& machines);
// Finds counters, instances and machines by words; lists at most `limit`.
absl::Status Find(const Aggregators& aggregators, Format format,
                  const std::vector<std::string>& words,
                  const MachineFlags& machines, uint32_t limit);

// Flags as typed; empty if not given.
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
  bool pivot = false;
  bool cap100 = false;
  std::string collect;  // a duration for which agents collect before the query
  MachineFlags machines;
};
absl::Status Query(const Aggregators& aggregators, Format format,
                   const QueryFlags& flags);

// Draws the values to the file `output`, or to the terminal if that is empty.
// Without flags.step, windows are as short as the chart's resolution allows.
absl::Status Plot(const Aggregators& aggregators, const QueryFlags& flags,
                  const std::string& output);

struct ExplainFlags {
  std::string path;
  std::string at;
  MachineFlags machines;
};
absl::Status Explain(const Aggregators& aggregators, Format format,
                     const ExplainFlags& flags);

struct WatchFlags {
  std::vector<std::string> paths;
  std::string since;
  std::string interval;
  std::string where;
  uint32_t top = 0;
  uint32_t bottom = 0;
  bool raw = false;
  bool pivot = false;
  std::string collect;  // the maximum duration of additional collection
  uint32_t count = 0;   // of samples of each series; 0: no limit
  std::string duration;
  MachineFlags machines;
};
// Runs until `stop` is raised, the output is closed, or `count` or `duration`
// is reached. Connects again if the connection is lost. On a terminal, keys
// sort and turn pages.
absl::Status Watch(const Aggregators& aggregators, Format format,
                   const WatchFlags& flags, StopSignal* stop);

struct CheckFlags {
  std::vector<std::string> paths;
  MachineFlags machines;
  std::string since;
  std::string over;
  std::string agg;
  std::vector<std::string> by;
  std::string warn;
  std::string critical;
  std::string where;
  uint32_t top = 0;
  std::string stale = "1m";
  bool missing = false;
};
// Compare values with thresholds (check.h), or check that no expected machine
// is missing. Print the line of a monitoring plugin and return its exit status.
// Errors are unknown.
int Check(const ConnectionFlags& connection, const CheckFlags& flags);
int CheckMissing(const ConnectionFlags& connection, const CheckFlags& flags);
// Prints the line of an error and returns the exit status.
int ReportUnknown(const absl::Status& error);

// Prints the contents of block files. Rejected parts do not affect the rest.
absl::Status Decode(Format format, const std::vector<std::string>& files);

struct CalcFlags {
  bool wrap32 = false;
  std::string type;  // of lines that have none
};
// Calculates the values of raw samples that it reads from standard input, one
// JSON object per line.
absl::Status Calc(const CalcFlags& flags);

// Makes the aggregator copy its store to a directory on its machine.
absl::Status Backup(const Connection& connection, const std::string& directory);

// Shows the status of each aggregator itself. `verbose` adds its own counters.
absl::Status ShowStatus(const Aggregators& aggregators, Format format,
                        bool verbose);

// Confirms that the aggregator's clock is right after it jumped.
absl::Status ConfirmClock(const Connection& connection);

// Prints a link that logs a browser in to each aggregator's web UI, and to that
// of each other aggregator that they name, to which `flags` connect with the
// same certificate. An other one that makes no link is a failure.
absl::Status MakeLoginLinks(const Aggregators& aggregators,
                            ConnectionFlags flags);

struct PkiFlags {
  std::string directory;
  std::string name;                // init: the authority's name
  std::string role;                // issue, revoke
  std::vector<std::string> names;  // issue, token
  std::string revoked;             // revoke: the name
  std::string file;                // revoke: a certificate
  std::string output;              // issue: the files' path without suffix
  std::string listen;              // serve: "host:port"
  std::string valid;               // a duration
  bool force = false;              // overwrite
};
absl::Status PkiInit(const PkiFlags& flags);
absl::Status PkiIssue(const PkiFlags& flags);
absl::Status PkiRevoke(const PkiFlags& flags);
// Makes a token (base/tls/enrolment_token.h) and prints it.
absl::Status PkiToken(const PkiFlags& flags);
// Exchanges tokens for certificates until SIGINT or SIGTERM.
absl::Status PkiServe(const PkiFlags& flags);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_COMMANDS_H_
