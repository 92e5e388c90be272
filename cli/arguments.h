// The arguments of fleetperf's commands, and their parser.

#ifndef FLEETPERF_CLI_ARGUMENTS_H_
#define FLEETPERF_CLI_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/daemon/command_parser.h"
#include "cli/commands.h"
#include "cli/connection_flags.h"
#include "cli/machine_flags.h"
#include "cli/output.h"

namespace fleetperf::cli {

// Must outlive the parser that fills it.
struct Arguments {
  ConnectionFlags connection;
  std::string format_name;         // empty: table
  Format format = Format::kTable;  // of format_name
  bool wide = false;
  bool local = false;
  MachineFlags machines;
  bool verbose = false;
  std::vector<std::string> names;  // of machines
  std::vector<std::string> words;
  uint32_t results = 20;  // of find
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
// without samples and the aggregators that failed.
std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Aggregators&)> command);

// Same for a command of one aggregator: several are an error, which names it.
std::function<absl::Status()> ConnectedToOne(
    Arguments& arguments, const std::string& name,
    std::function<absl::Status(const Connection&)> command);

// Adds a command that makes `run` Arguments::run. `examples` end its help.
Command AddCommand(Command& parent, Arguments& arguments,
                   const std::string& name, const std::string& purpose,
                   const std::string& examples,
                   std::function<absl::Status()> run);

// Adds --format with the `choices`, and --wide.
void AddFormat(Command& command, Arguments& arguments,
               const std::string& choices = "table|csv|json");

// Adds --machine and --label.
void AddMachines(Command& command, MachineFlags& flags);

// Each of these functions adds one or several commands.
void AddListCommands(Command& app, Arguments& arguments);
void AddValueCommands(Command& app, Arguments& arguments);
Command AddCheckCommand(Command& app, Arguments& arguments);
void AddOfflineCommands(Command& app, Arguments& arguments);
void AddAdministrationCommands(Command& app, Arguments& arguments);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_ARGUMENTS_H_
