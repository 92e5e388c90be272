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

std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Connection&)> command) {
  return [&arguments, command = std::move(command)]() -> absl::Status {
    const auto connection = Connection::Open(arguments.connection);
    if (!connection.ok()) return connection.status();
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
}

}  // namespace fleetperf::cli
