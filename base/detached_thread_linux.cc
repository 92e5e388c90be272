#include <thread>
#include <utility>

#include "base/detached_thread.h"

namespace fleetperf {

void RunDetached(std::function<void()> work) {
  std::thread(std::move(work)).detach();
}

}  // namespace fleetperf
