#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_WAITING_CHILD_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_WAITING_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace fleetperf::perf_event {

// A child process that does nothing until its parent says so.
class WaitingChild {
 public:
  WaitingChild() {
    if (pipe(pipe_) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(pipe_[1]);
      char byte;
      _exit(static_cast<int>(read(pipe_[0], &byte, 1)));
    }
    close(pipe_[0]);
  }
  ~WaitingChild() {
    End();
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void End() {
    if (pipe_[1] >= 0) close(std::exchange(pipe_[1], -1));
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_WAITING_CHILD_H_
