// Runs Windows executables and services under Wine.

#ifndef FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_
#define FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/process.h"

namespace fleetperf::testing {

// A Windows machine simulated by Wine. All objects share one Wine prefix, which
// takes long to create, so that only one may exist at a time.
// Thread-compatible.
class WineMachine {
 public:
  // Ends all programs that an earlier machine left running.
  WineMachine();
  ~WineMachine();

  struct Output {
    int status;
    std::string text;  // standard output and error
  };
  // Runs a program and waits for its end. The program is a Linux path, or a
  // name in the search path of Windows.
  Output Run(const std::vector<std::string>& command);
  // Starts a program, whose standard output and error go to `output_path`.
  std::unique_ptr<Process> Start(const std::vector<std::string>& command,
                                 const std::string& output_path);

  // Returns the Linux path of a file on drive C, such as "ProgramData/x".
  std::string DriveC(const std::string& path) const;

  // Returns the state of the agent's service, such as "RUNNING" or "STOPPED".
  // Empty if the service does not exist.
  std::string ServiceState();
  // Returns false if the service does not reach `state` within kPatience.
  bool WaitForServiceState(const std::string& state);

 private:
  std::string prefix_;
  int runs_ = 0;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_
