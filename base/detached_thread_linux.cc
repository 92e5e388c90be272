#include <system_error>
#include <thread>
#include <utility>

#include "base/detached_thread.h"
#include "base/os_error.h"

namespace fleetperf {

absl::Status RunDetached(std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    return StatusFromErrorCode(error.code(),
                               "cannot start a thread; see ulimit -u and the "
                               "service's TasksMax=");
  }
  return absl::OkStatus();
}

}  // namespace fleetperf
