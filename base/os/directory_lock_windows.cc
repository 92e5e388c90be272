#include "base/os/directory_lock.h"

namespace fleetperf {

absl::StatusOr<std::unique_ptr<DirectoryLock>> DirectoryLock::Acquire(
    const std::string& /*directory*/, Kind /*kind*/) {
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(/*descriptor=*/-1));
}

DirectoryLock::~DirectoryLock() = default;

}  // namespace fleetperf
