// A child process that waits before it executes a command.

#ifndef FLEETPERF_DRIVER_PMC_CHILD_LINUX_H_
#define FLEETPERF_DRIVER_PMC_CHILD_LINUX_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetperf::pmc {

// The destructor ends and reaps a child that has not executed the command.
class WaitingChild {
 public:
  // `command` is not empty. The process must have one thread.
  static absl::StatusOr<std::unique_ptr<WaitingChild>> Fork(
      const std::vector<std::string>& command);
  WaitingChild(const WaitingChild&) = delete;
  ~WaitingChild();

  pid_t pid() const { return pid_; }

  // Lets the child execute the command. Returns an errno value if that fails;
  // otherwise 0.
  int Execute();

  // Waits for the end, without reacting to interrupts from the terminal, which
  // the command gets, too. Returns the status of waitpid(2).
  int Wait(rusage* usage);

 private:
  WaitingChild() = default;
  [[noreturn]] void RunChild(const std::vector<std::string>& command);

  pid_t pid_ = -1;
  int go_[2] = {-1, -1};       // a byte lets the child go
  int failure_[2] = {-1, -1};  // an errno value, or the end of the file
};

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_CHILD_LINUX_H_
