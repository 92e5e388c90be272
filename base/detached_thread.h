// A thread that nothing joins.

#ifndef FLEETPERF_BASE_DETACHED_THREAD_H_
#define FLEETPERF_BASE_DETACHED_THREAD_H_

#include <functional>

#include "absl/status/status.h"

namespace fleetperf {

// Runs `work` on a new thread. Returns an error, usually Unavailable, if the
// system starts none: a limit of processes or of memory is reached.
// Instead of std::thread::detach, which on Windows, with MinGW's threads, fails
// or hangs if the thread has ended before.
absl::Status RunDetached(std::function<void()> work);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DETACHED_THREAD_H_
