#include "base/service.h"

namespace fleetperf {

bool HasServiceManager() { return false; }

absl::Status RunAsService(const std::string&, StopSignal&,
                          const std::function<absl::Status()>& run) {
  return run();
}

}  // namespace fleetperf
