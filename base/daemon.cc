#include "base/daemon.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "base/os.h"
#include "base/parse_arguments.h"
#include "base/printable.h"
#include "base/service.h"
#include "base/version.h"

namespace fleetperf {

int RunDaemon(const DaemonDescription& description, int argc, char** argv,
              const std::function<absl::Status(const std::string& config_path,
                                               StopSignal& stop)>& run) {
  // Debian builds Abseil with deadlock detection, which costs several percent
  // of CPU time. Tests have it enabled.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  KeepFilesPrivate();  // they contain samples and the names of the fleet
  StopSignal stop;
  const char* name = description.name.c_str();
  CLI::App app(description.purpose, description.name);
  app.footer("Examples:\n" + description.examples);
  app.set_version_flag("--version", description.name + " " + kVersion);
  std::string config_path;
  app.add_option("--config", config_path, "The configuration file (YAML)")
      ->type_name("FILE");
  for (const DaemonFlag& flag : description.flags) {
    app.add_option(flag.name, *flag.value, flag.help)->type_name(flag.type);
  }
  bool needs_config = true;
  std::function<absl::Status()> work = [&] { return run(config_path, stop); };
  if (HasServiceManager()) {
    app.add_subcommand("service",
                       "Run as a service; used by the "
                       "service manager")
        ->fallthrough()
        ->callback([&] {
          work = [&] {
            return RunAsService(description.name, stop,
                                [&] { return run(config_path, stop); });
          };
        });
  }
  for (const DaemonCommand& command : description.commands) {
    CLI::App* given = app.add_subcommand(command.name, command.help);
    given->fallthrough()->callback([&] {
      needs_config = command.needs_config;
      work = [&] { return command.run(config_path); };
    });
    for (const DaemonArgument& argument : command.arguments) {
      given->add_option(argument.name, *argument.value, argument.help)
          ->type_name("")
          ->required(argument.required);
    }
  }
  const auto report_usage = [&](const std::string& error) {
    std::fprintf(stderr, "%s: %s\n", name, Printable(error).c_str());
    return 2;
  };
  if (const auto status = ParseArguments(app, argc, argv, report_usage)) {
    return *status;
  }

  if (needs_config && config_path.empty()) {
    std::fprintf(stderr, "%s: --config is required; see %s --help\n", name,
                 name);
    return 2;
  }
  const absl::Status status = work();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name, std::string(status.message()).c_str());
  return 1;
}

}  // namespace fleetperf
