// Shared code of the two daemons' main functions: flags, logging, signals.

#ifndef FLEETPERF_BASE_DAEMON_DAEMON_H_
#define FLEETPERF_BASE_DAEMON_DAEMON_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace fleetperf {

// Receives requests to stop (SIGINT or SIGTERM) and, if enabled, to reload the
// configuration (SIGHUP). Raise is thread-safe; one thread waits.
class StopSignal {
 public:
  // Must be called before any thread is started, because it masks the signals.
  // Linux: starts a thread that receives them, and ends the process if it
  // cannot.
  StopSignal();

  // From now on, a process that has not ended within `deadline` after the
  // signal, even one that has not called Wait yet, is ended by a thread that
  // exists already, with exit status 1 and an error in the log. Must be called
  // at most once. Returns an error if the thread cannot be started.
  absl::Status EndWithin(absl::Duration deadline);

  // Makes SIGHUP a reload request for WaitForReload instead of ending the
  // process. Windows has no SIGHUP. Must be called before any thread is
  // started.
  void AcceptReload();

  // Blocks until the signal.
  void Wait();

  // Blocks until either signal. Returns true to reload the configuration, and
  // false to stop.
  bool WaitForReload();

  enum class Request { kStop, kReload, kNone };
  // Same, but returns kNone if neither signal arrives in time.
  Request WaitFor(absl::Duration timeout);

  // Makes Wait return in the waiting thread.
  void Raise();
};

// A flag with a value, in addition to --config.
struct DaemonFlag {
  std::string name;  // "--capture"
  std::string type;  // "DIR"
  std::string help;
  std::string* value;
};

// An argument of a command: `verify DIRECTORY`.
struct DaemonArgument {
  std::string name;  // "DIRECTORY"
  std::string help;
  std::string* value;
  bool required = false;
};

// An action other than serving: `fleetperf-agent check`.
struct DaemonCommand {
  std::string name;
  std::string help;
  std::function<absl::Status(const std::string& config_path)> run;
  bool needs_config = true;
  std::vector<DaemonArgument> arguments = {};
  std::string examples = {};  // as in DaemonDescription; "": those
};

struct DaemonDescription {
  std::string name;     // "fleetperf-agent"
  std::string purpose;  // one line
  std::vector<DaemonFlag> flags = {};
  std::vector<DaemonCommand> commands = {};
  std::string examples;  // shown last by --help
};

// Parses `--config FILE`, `--help` and `--version`. Calls `run`, or the given
// command, with FILE. Files that the process creates are accessible to their
// owner only. Returns the process's exit status. Errors are printed on one
// line.
int RunDaemon(const DaemonDescription& description, int argc, char** argv,
              const std::function<absl::Status(const std::string& config_path,
                                               StopSignal& stop)>& run);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DAEMON_DAEMON_H_
