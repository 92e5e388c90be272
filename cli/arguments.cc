#include "cli/arguments.h"

#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "cli/output.h"

namespace fleetperf::cli {

namespace {

Format FormatOf(const std::string& name) {
  if (name == "csv") return Format::kCsv;
  if (name == "json") return Format::kJson;
  if (name == "pdh-csv") return Format::kPdhCsv;
  return Format::kTable;
}

// Reports the paths without samples and the silent machines.
absl::Status Report(const Connection& connection, Format format,
                    const absl::Status& status) {
  for (const v1::Missing& missing : connection.missing()) {
    PrintMissing(missing, format);
  }
  if (status.ok() || IsMissing(status)) {
    PrintSilent(connection.silent(), format);
  }
  if (connection.missing().empty()) return status;
  if (!status.ok() && !IsMissing(status)) return status;
  return MissingError(AlreadyReported());
}

}  // namespace

std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Connection&)> command) {
  return [&arguments, command = std::move(command)]() -> absl::Status {
    const auto connection = Connection::Open(arguments.connection);
    if (!connection.ok()) return connection.status();
    return Report(*connection, arguments.format, command(*connection));
  };
}

Command AddCommand(Command& parent, Arguments& arguments,
                   const std::string& name, const std::string& purpose,
                   const std::string& examples,
                   std::function<absl::Status()> run) {
  Command command =
      parent.AddCommand(name, purpose, [&arguments, run = std::move(run)] {
        arguments.format = FormatOf(arguments.format_name);
        if (arguments.wide) UseWideTables();
        arguments.run = run;
      });
  command.SetFooter("Examples:\n" + examples);
  return command;
}

void AddFormat(Command& command, Arguments& arguments,
               const std::string& choices) {
  std::string help = "table for users; csv and json for programs";
  if (absl::StrContains(choices, "pdh-csv")) {
    absl::StrAppend(&help, "; pdh-csv for perfmon and relog");
  }
  command.AddText("--format", &arguments.format_name, help).AcceptOnly(choices);
  command.AddFlag("--wide", &arguments.wide,
                  "Do not fit the table to the terminal");
}

void AddMachines(Command& command, MachineFlags& flags) {
  command
      .AddText("--machine", &flags.machine,
               "Only these machines; * and ? are wildcards")
      .SetType("NAME");
  command
      .AddList("--label", &flags.labels,
               "Only machines that have this label; * and ? are wildcards. "
               "May be repeated: all labels are required")
      .SetType("NAME=VALUE");
}

}  // namespace fleetperf::cli
