// A thread that nothing joins.

#ifndef FLEETPERF_BASE_DETACHED_THREAD_H_
#define FLEETPERF_BASE_DETACHED_THREAD_H_

#include <functional>

namespace fleetperf {

// Runs `work` on a new thread, and ends the process if the system has none.
// Instead of std::thread::detach, which on Windows, with MinGW's threads, fails
// or hangs if the thread has ended before.
void RunDetached(std::function<void()> work);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DETACHED_THREAD_H_
