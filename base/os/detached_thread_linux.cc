#include <thread>
#include <utility>

#include "base/os/detached_thread.h"

namespace fleetperf {

absl::Status RunDetached(std::function<void()> work) {
  return StartThreads([&] { std::thread(std::move(work)).detach(); });
}

}  // namespace fleetperf
