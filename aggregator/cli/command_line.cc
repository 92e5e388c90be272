#include "aggregator/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/arguments.h"
#include "aggregator/cli/check.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/version.h"

namespace fleetperf::cli {
namespace {

void AddConnectionOptions(CLI::App& app, ConnectionFlags& flags) {
  app.add_option("--config", flags.config,
                 "The file with the connection settings (FLEETPERF_CONFIG, "
                 "~/.config/fleetperf/config.yaml)")
      ->type_name("FILE");
  app.add_option("--aggregator", flags.aggregator, "The aggregator's address")
      ->type_name("HOST:PORT");
  app.add_option("--authority", flags.tls.authority,
                 "The authority's certificate")
      ->type_name("FILE");
  app.add_option("--certificate", flags.tls.certificate, "Your certificate")
      ->type_name("FILE");
  app.add_option("--key", flags.tls.key, "Your certificate's key")
      ->type_name("FILE");
}

// Returns the error in the arguments and the likely correction.
std::string Explain(CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> remaining = app.remaining(true);
  if (remaining.empty()) {
    return absl::StrCat(error.what(), "; see fleetperf --help");
  }
  std::vector<std::string> names;
  const auto add_names = [&](const CLI::App* command) {
    for (const CLI::Option* option : command->get_options()) {
      names.push_back(option->get_name(false, true));
    }
  };
  add_names(&app);
  const std::vector<CLI::App*> given = app.get_subcommands();
  for (const CLI::App* command : given) add_names(command);
  if (given.empty()) {
    for (const CLI::App* command :
         app.get_subcommands([](CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
  }
  const std::string& wrong = remaining.front();
  const std::string flag = wrong.substr(0, wrong.find('='));
  const std::string nearest = DidYouMean(flag, names);
  return absl::StrCat("unknown flag, command or argument \"", wrong, "\"",
                      nearest, nearest.empty() ? "; see" : " See",
                      " fleetperf --help");
}

// Prints the error, if any, and returns the exit status.
int ExitStatus(const absl::Status& status) {
  if (status.ok()) return 0;
  if (!status.message().empty()) {
    std::fprintf(stderr, "fleetperf: %s\n",
                 Printable(status.message()).c_str());
  }
  return absl::IsNotFound(status) ? 2 : 1;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Performance counters of a fleet.", "fleetperf");
  app.set_version_flag("--version", std::string("fleetperf ") + kVersion);
  app.fallthrough();  // connection flags may follow the command
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fleetperf machines\n"
      "  fleetperf query '\\Processor Information(_Total)\\% Processor Time' "
      "--since 5m --step 10s\n"
      "  fleetperf watch '\\Process V2(*)\\% Processor Time'\n"
      "Run a command with --help to see its flags and examples.\n"
      "Exit status: 0 ok, 1 failed, 2 a name (machine, counter, instance) "
      "matches nothing;\n"
      "check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
  AddConnectionOptions(app, arguments.connection);
  AddListCommands(app, arguments);
  AddValueCommands(app, arguments);
  AddCheckCommand(app, arguments);
  AddOfflineCommands(app, arguments);
  AddAdministrationCommands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version
    app.exit(request);
    return ExitStatus(FinishOutput());
  } catch (const CLI::ParseError& error) {
    const absl::Status wrong = absl::InvalidArgumentError(Explain(app, error));
    return app.got_subcommand("check") ? ReportUnknown(wrong)
                                       : ExitStatus(wrong);
  }
  absl::Status status = arguments.run();
  status.Update(FinishOutput());
  if (!status.ok() || !arguments.exit_status.has_value()) {
    return ExitStatus(status);
  }
  return *arguments.exit_status;
}

}  // namespace fleetperf::cli
