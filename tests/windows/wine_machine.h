// A Windows machine, as far as Wine is one.

#ifndef FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_
#define FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/process.h"

namespace fleetperf::testing {

// One at a time: all have the same Wine prefix, which takes long to make.
class WineMachine {
 public:
  // Starts without anything that an earlier one left running.
  WineMachine();
  ~WineMachine();

  struct Output {
    int status;
    std::string text;  // standard output and error
  };
  // Runs a program to its end: a path of this machine, or a name that Windows
  // finds.
  Output Run(const std::vector<std::string>& command);
  // Starts a program; what it prints goes to `output_path`.
  std::unique_ptr<Process> Start(const std::vector<std::string>& command,
                                 const std::string& output_path);

  // The path here of a file on its drive C, "ProgramData/x".
  std::string DriveC(const std::string& path) const;

  // The state of the service: "RUNNING", "STOPPED"; empty if there is none.
  std::string ServiceState();
  bool WaitForServiceState(const std::string& state);

 private:
  std::string prefix_;
  int runs_ = 0;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_WINDOWS_WINE_MACHINE_H_
