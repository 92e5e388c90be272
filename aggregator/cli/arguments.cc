#include "aggregator/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/cli/missing.h"
#include "aggregator/cli/output.h"
#include "base/parse_arguments.h"

namespace fleetperf::cli {

namespace {

Format FormatOf(const std::string& name) {
  if (name == "csv") return Format::kCsv;
  if (name == "json") return Format::kJson;
  if (name == "pdh-csv") return Format::kPdhCsv;
  return Format::kTable;
}

// Reports the unreachable aggregators, the paths without samples and the silent
// machines.
absl::Status Report(const Connection& connection, Format format,
                    const absl::Status& status) {
  for (const v1::UnreachablePeer& peer : connection.unreachable()) {
    PrintUnreachable(peer, format);
  }
  for (const v1::Missing& missing : connection.missing()) {
    PrintMissing(missing, format);
  }
  if (status.ok() || IsMissing(status)) {
    PrintSilent(connection.silent(), format);
  }
  if (connection.missing().empty()) {
    return status.ok() && !connection.unreachable().empty()
               ? MissingError(AlreadyReported())
               : status;
  }
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

CLI::App* AddCommand(CLI::App& parent, Arguments& arguments,
                     const std::string& name, const std::string& purpose,
                     const std::string& examples,
                     std::function<absl::Status()> run) {
  CLI::App* command = parent.add_subcommand(name, purpose);
  command->footer("Examples:\n" + examples);
  // A command of this command is called first.
  command->final_callback([&arguments, command, run = std::move(run)] {
    if (command->get_subcommands().empty()) arguments.run = run;
  });
  return command;
}

void AddFormat(CLI::App* command, Arguments& arguments,
               const std::string& choices) {
  std::string help = "table for users; csv and json for programs";
  if (absl::StrContains(choices, "pdh-csv")) {
    absl::StrAppend(&help, "; pdh-csv for perfmon and relog");
  }
  AcceptOnly(command->add_option_function<std::string>(
                 "--format",
                 [&arguments](const std::string& name) {
                   arguments.format = FormatOf(name);
                 },
                 help),
             choices);
  command->add_flag_callback("--wide", UseWideTables,
                             "Do not fit the table to the terminal");
}

void AddMachines(CLI::App* command, MachineFlags& flags) {
  command
      ->add_option("--machine", flags.machine,
                   "Only these machines; * and ? are wildcards")
      ->type_name("NAME");
  command
      ->add_option("--label", flags.labels,
                   "Only machines that have this label; * and ? are wildcards. "
                   "May be repeated: all labels are required")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace fleetperf::cli
