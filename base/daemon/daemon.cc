#include "base/daemon/daemon.h"

#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "base/daemon/command_parser.h"
#include "base/daemon/service.h"
#include "base/os/os.h"
#include "base/text/printable.h"

namespace fleetperf {

int RunDaemon(const DaemonDescription& description, int argc, char** argv,
              const std::function<absl::Status(const std::string& config_path,
                                               StopSignal& stop)>& run) {
  // Debian builds Abseil with deadlock detection, which costs several percent
  // of CPU time, and on Debian 13 finds deadlocks that do not exist: see
  // tests/support/lock_order.cc. Tests have it enabled on Debian 12.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  KeepFilesPrivate();  // they contain samples and the names of the fleet
  StopSignal stop;
  const char* name = description.name.c_str();
  std::string config_path;
  bool needs_config = true;
  std::function<absl::Status()> work;
  Command program(description.name, description.purpose,
                  [&] { work = [&] { return run(config_path, stop); }; });
  program.SetFooter("Examples:\n" + description.examples);
  program.AcceptParentOptions();
  program.AddText("--config", &config_path, "The configuration file (YAML)")
      .SetType("FILE");
  for (const DaemonFlag& flag : description.flags) {
    program.AddText(flag.name, flag.value, flag.help).SetType(flag.type);
  }
  if (HasServiceManager()) {
    program.AddCommand(
        "service", "Run as a service; used by the service manager", [&] {
          work = [&] {
            return RunAsService(description.name, stop,
                                [&] { return run(config_path, stop); });
          };
        });
  }
  for (const DaemonCommand& command : description.commands) {
    Command added = program.AddCommand(command.name, command.help, [&] {
      needs_config = command.needs_config;
      work = [&] { return command.run(config_path); };
    });
    if (!command.examples.empty()) {
      added.SetFooter("Examples:\n" + command.examples);
    }
    for (const DaemonArgument& argument : command.arguments) {
      Option option =
          added.AddText(argument.name, argument.value, argument.help)
              .SetType("");
      if (argument.required) option.Require();
    }
  }
  if (const auto status = program.Parse(argc, argv)) return *status;

  if (needs_config && config_path.empty()) {
    std::fprintf(stderr, "%s: --config is required; see %s --help\n", name,
                 name);
    return 2;
  }
  const absl::Status status = work();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name, Printable(status.message()).c_str());
  return 1;
}

}  // namespace fleetperf
