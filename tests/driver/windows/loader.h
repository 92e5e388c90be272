// Runs fleetperf-pmu.exe and other programs, and sets up the service control
// manager for tests.

#ifndef FLEETPERF_TESTS_DRIVER_WINDOWS_LOADER_H_
#define FLEETPERF_TESTS_DRIVER_WINDOWS_LOADER_H_

#include <windows.h>

#include <string>
#include <type_traits>

namespace fleetperf {

struct LoaderOutput {
  int status = -1;
  std::string text;  // of both outputs
};

// Runs a program to its end.
LoaderOutput RunProgram(const std::string& executable,
                        const std::string& arguments);

// Runs `fleetperf-pmu ARGUMENTS`.
LoaderOutput RunLoader(const std::string& arguments);

// Runs `fleetperf-pmu COMMAND --image IMAGE`.
LoaderOutput RunLoader(const std::string& command, const std::string& image);

// A copy of this process's executable with other arguments, ended by the
// destructor.
class ChildProcess {
 public:
  ChildProcess(const std::string& executable, const std::string& arguments,
               HANDLE output = INVALID_HANDLE_VALUE);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for the end and returns the exit status.
  int Wait();
  void Kill();

 private:
  PROCESS_INFORMATION process_ = {};
};

// Creates the service fleetperf_pmu with any image, as another product would.
bool CreateForeignService(const std::string& image);

// "image, stopped", "image, running"; empty if there is no service
// fleetperf_pmu.
std::string ServiceState();

// Stops and removes the service fleetperf_pmu, whatever its image.
void RemoveAnyService();

}  // namespace fleetperf

#endif  // FLEETPERF_TESTS_DRIVER_WINDOWS_LOADER_H_
