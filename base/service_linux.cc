#include "base/service.h"

namespace fleetperf {

// systemd starts daemons as a shell does, and keeps their standard error.
absl::Status RunAsService(const std::string&, StopSignal&,
                          const std::function<absl::Status()>& run) {
  return run();
}

bool IsRunAsService() { return false; }

}  // namespace fleetperf
