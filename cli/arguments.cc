#include "cli/arguments.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "cli/aggregators.h"
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

// Reports the paths without samples, the silent machines, and the aggregators
// that failed.
absl::Status Report(const Aggregators& aggregators, Format format,
                    const absl::Status& status) {
  for (const v1::Missing& missing : aggregators.missing()) {
    PrintMissing(missing, format);
  }
  const bool has_answer = status.ok() || IsMissing(status);
  if (has_answer) PrintSilent(aggregators.silent(), format);
  for (const auto& [address, reason] : aggregators.failures()) {
    PrintNote(reason);
  }
  if (!has_answer) return status;
  if (!aggregators.missing().empty()) return MissingError(AlreadyReported());
  return status.ok() && !aggregators.failures().empty()
             ? MissingError(AlreadyReported())
             : status;
}

}  // namespace

std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Aggregators&)> command) {
  return [&arguments, command = std::move(command)]() -> absl::Status {
    const auto aggregators = Aggregators::Open(arguments.connection);
    if (!aggregators.ok()) return aggregators.status();
    return Report(*aggregators, arguments.format, command(*aggregators));
  };
}

std::function<absl::Status()> ConnectedToOne(
    Arguments& arguments, const std::string& name,
    std::function<absl::Status(const Connection&)> command) {
  const auto call = [name, command = std::move(command)](
                        const Aggregators& aggregators) -> absl::Status {
    const Connection& first = aggregators.all().front();
    if (!aggregators.are_several()) return command(first);
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is of one aggregator; name it: --aggregator ",
                     first.address()));
  };
  return Connected(arguments, call);
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
