// The arguments of fleetperf's commands, and their parser.

#ifndef FLEETPERF_AGGREGATOR_CLI_ARGUMENTS_H_
#define FLEETPERF_AGGREGATOR_CLI_ARGUMENTS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/cli/check.h"
#include "aggregator/cli/commands.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fleetperf::cli {

// Must outlive the parser that fills it.
struct Arguments {
  ConnectionFlags connection;
  Format format = Format::kTable;
  bool local = false;
  MachineFlags machines;
  bool verbose = false;
  std::vector<std::string> names;  // of machines
  bool dry_run = false;
  std::string counterset;
  QueryFlags query;
  ExplainFlags explain;
  WatchFlags watch;
  CheckFlags check;
  std::string output;
  std::vector<std::string> files;
  CalcFlags calc;
  std::string directory;
  PkiFlags pki;
  std::function<absl::Status()> run;  // runs the given command
  std::optional<int> exit_status;     // of a command that sets its own
};

// Returns a function that connects, runs `command`, and then reports the paths
// without samples.
std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Connection&)> command);

// Adds a command that calls `run`.
CLI::App* AddCommand(CLI::App& parent, Arguments& arguments,
                     const std::string& name, const std::string& purpose,
                     const std::string& examples,
                     std::function<absl::Status()> run);

// Adds --format with the `choices`, and --wide.
void AddFormat(CLI::App* command, Arguments& arguments,
               const std::string& choices = "table|csv|json");

// Adds --machine and --label.
void AddMachines(CLI::App* command, MachineFlags& flags);

// Each of these functions adds several commands.
void AddListCommands(CLI::App& app, Arguments& arguments);
void AddValueCommands(CLI::App& app, Arguments& arguments);
void AddCheckCommand(CLI::App& app, Arguments& arguments);
void AddOfflineCommands(CLI::App& app, Arguments& arguments);
void AddAdministrationCommands(CLI::App& app, Arguments& arguments);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_ARGUMENTS_H_
