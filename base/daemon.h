// What the two daemons' main functions share: flags, logging, signals.

#ifndef FLEETPERF_BASE_DAEMON_H_
#define FLEETPERF_BASE_DAEMON_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fleetperf {

// Ends when the process is told to stop (SIGINT or SIGTERM). It can be told to
// read its configuration again, too (SIGHUP).
class StopSignal {
 public:
  // Must be made before any thread is started: it masks the signals.
  StopSignal();

  // From now on, SIGHUP, which Windows does not have, does not end the process:
  // WaitForReload tells of it. Before any thread is started.
  void AcceptReload();

  // Waits for the signal.
  void Wait();

  // Waits for either signal. True: the configuration is to be read again.
  // False: the process is to stop.
  bool WaitForReload();

  // Makes Wait return in the thread that waits.
  void Raise();
};

// A flag with a value, beside --config.
struct DaemonFlag {
  std::string name;  // "--capture"
  std::string type;  // "DIR"
  std::string help;
  std::string* value;
};

// What stands behind a command: `verify DIRECTORY`.
struct DaemonArgument {
  std::string name;  // "DIRECTORY"
  std::string help;
  std::string* value;
  bool required = false;
};

// What the executable can do instead of serving: `fleetperf-agent check`.
struct DaemonCommand {
  std::string name;
  std::string help;
  std::function<absl::Status(const std::string& config_path)> run;
  bool needs_config = true;
  std::vector<DaemonArgument> arguments = {};
};

struct DaemonDescription {
  std::string name;     // "fleetperf-agent"
  std::string purpose;  // one line
  std::vector<DaemonFlag> flags = {};
  std::vector<DaemonCommand> commands = {};
  std::string examples;  // what --help shows last
};

// Parses `--config FILE`, `--help` and `--version` and calls `run`, or the
// command that is given, with FILE. Returns the process's exit status; an error
// is printed on one line.
int RunDaemon(const DaemonDescription& description, int argc, char** argv,
              const std::function<absl::Status(const std::string& config_path,
                                               StopSignal& stop)>& run);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DAEMON_H_
