#include "agent/source/local.h"

#include "agent/source/linux/linux_source.h"

namespace fleetperf::agent {

absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(size_t max_open_files) {
  // Half of them: connections and other files need some, too.
  return MakeLinuxSource({.max_open_files = max_open_files / 2});
}

}  // namespace fleetperf::agent
