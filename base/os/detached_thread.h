// Threads that the system may refuse to start.

#ifndef FLEETPERF_BASE_OS_DETACHED_THREAD_H_
#define FLEETPERF_BASE_OS_DETACHED_THREAD_H_

#include <functional>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/os/os_error.h"

namespace fleetperf {

// Runs `work` on a new thread. Returns an error, usually Unavailable, if the
// system starts none: a limit of processes or of memory is reached.
// Instead of std::thread::detach, which on Windows, with MinGW's threads, fails
// or hangs if the thread has ended before.
absl::Status RunDetached(std::function<void()> work);

// Calls `start`, which constructs std::threads, possibly as members of larger
// objects. Returns the same error if the system starts none; what `start` has
// constructed before is then destroyed.
inline absl::Status StartThreads(absl::FunctionRef<void()> start) {
  try {
    start();
  } catch (const std::system_error& error) {
    return StatusFromErrorCode(error.code(),
                               "cannot start a thread; see ulimit -u and the "
                               "service's TasksMax=");
  }
  return absl::OkStatus();
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_DETACHED_THREAD_H_
