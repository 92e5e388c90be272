#include "aggregator/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace fleetperf::cli {

const std::map<std::string, Format>& Formats() {
  static const auto* const formats =
      new std::map<std::string, Format>{{"table", Format::kTable},
                                        {"csv", Format::kCsv},
                                        {"json", Format::kJson}};
  return *formats;
}

namespace {

// A file that does not exist is a failure, not a name that matches nothing.
absl::Status Failed(const absl::Status& status) {
  return absl::FailedPreconditionError(status.message());
}

}  // namespace

std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Connection&)> command) {
  return [&arguments, command = std::move(command)]() -> absl::Status {
    const auto connection = Connection::Open(arguments.connection);
    if (!connection.ok()) return Failed(connection.status());
    return command(*connection);
  };
}

CLI::App* AddCommand(CLI::App& parent, Arguments& arguments,
                     const std::string& name, const std::string& purpose,
                     const std::string& examples,
                     std::function<absl::Status()> run) {
  CLI::App* command = parent.add_subcommand(name, purpose);
  command->footer("Examples:\n" + examples);
  command->final_callback(
      [&arguments, run = std::move(run)] { arguments.run = run; });
  return command;
}

void AddFormat(CLI::App* command, Arguments& arguments) {
  command
      ->add_option("--format", arguments.format,
                   "table for users; csv and json for programs")
      ->transform(CLI::CheckedTransformer(Formats()).description(""))
      ->type_name("table|csv|json");
  AddWide(command);
}

void AddWide(CLI::App* command) {
  command->add_flag_callback("--wide", UseWideTables,
                             "Do not fit the table to the terminal");
}

}  // namespace fleetperf::cli
