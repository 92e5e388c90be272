#include "cli/command_line.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "base/os/user_directory.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/path_hint.h"
#include "cli/times.h"

namespace fleetperf::cli {
namespace {

constexpr int kFailedStatus = 1;
constexpr int kMissingStatus = 2;

void AddConnectionOptions(Command& app, ConnectionFlags& flags) {
  app.AddText("--config", &flags.config,
              absl::StrCat("The file with the connection settings "
                           "(FLEETPERF_CONFIG, ",
                           kUserConfigDirectory, "/config.yaml)"))
      .SetType("FILE");
  app.AddList("--aggregator", &flags.aggregators,
              "The aggregator's address. May be repeated: all are asked")
      .SetType("HOST:PORT");
  app.AddText("--authority", &flags.tls.authority,
              "The authority's certificate")
      .SetType("FILE");
  app.AddText("--certificate", &flags.tls.certificate, "Your certificate")
      .SetType("FILE");
  app.AddText("--key", &flags.tls.key, "Your certificate's key")
      .SetType("FILE");
}

// Returns the hint about the shell for the first path that needs one.
std::string ShellHintFor(const Arguments& arguments) {
  std::vector<std::string> paths = {arguments.explain.path};
  for (const auto* given : {&arguments.query.paths, &arguments.watch.paths}) {
    paths.insert(paths.end(), given->begin(), given->end());
  }
  for (const std::string& path : paths) {
    const std::string hint = ShellHint(path);
    if (!hint.empty()) return hint;
  }
  return "";
}

void PrintError(absl::string_view message, absl::string_view hint = "") {
  std::fprintf(stderr, "fleetperf: %s%s\n",
               Printable(Excerpt(message, kMaxErrorText)).c_str(),
               std::string(hint).c_str());
}

// Prints the error of a command and returns the exit status.
int Report(const Arguments& arguments, const absl::Status& status) {
  if (status.ok()) return 0;
  std::fflush(stdout);
  if (!status.message().empty()) {
    const bool may_be_of_path =
        absl::IsInvalidArgument(status) || absl::IsNotFound(status);
    PrintError(status.message(), may_be_of_path ? ShellHintFor(arguments) : "");
  }
  return IsMissing(status) ? kMissingStatus : kFailedStatus;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  Arguments arguments;
  Command app("fleetperf", "Performance counters of a fleet.");
  app.AcceptParentOptions();  // connection flags may follow the command
  app.SetFooter(
      "Examples:\n"
      "  fleetperf machines\n"
      "  fleetperf query '\\Processor Information(_Total)\\% Processor Time' "
      "--since 5m --step 10s\n"
      "  fleetperf watch '\\Process V2(*)\\% Processor Time'\n"
      "Run a command with --help to see its flags and examples.\n"
      "Exit status: 0 ok, 1 failed, 2 something that was named does not exist "
      "or has no samples,\n"
      "or one of several aggregators could not be asked;\n"
      "check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
  AddConnectionOptions(app, arguments.connection);
  app.AddFlag("--local", &arguments.local,
              "Show and read times in the local zone instead of UTC");
  AddListCommands(app, arguments);
  AddValueCommands(app, arguments);
  const Command check = AddCheckCommand(app, arguments);
  AddOfflineCommands(app, arguments);
  AddAdministrationCommands(app, arguments);
  const auto report_usage = [&](const std::string& error) {
    if (check.given()) {
      return ReportUnknown(absl::InvalidArgumentError(error));
    }
    PrintError(error);
    return kFailedStatus;
  };
  if (const auto status = app.Parse(argc, argv, report_usage)) {
    return *status != 0 ? *status : Report(arguments, FinishOutput());
  }
  if (arguments.local) {
    const absl::Status zone = UseLocalTimes();
    if (!zone.ok()) return report_usage(std::string(zone.message()));
  }
  absl::Status status = arguments.run();
  status.Update(FinishOutput());
  if (!status.ok() || !arguments.exit_status.has_value()) {
    return Report(arguments, status);
  }
  return *arguments.exit_status;
}

}  // namespace fleetperf::cli
