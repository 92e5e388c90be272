#include "agent/source/linux/cgroup/cgroup_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

// Returns the hierarchy that counts events: version 2 in its usual place,
// beside version 1, or the controller of version 1.
std::string HierarchyIn(absl::string_view root) {
  for (const char* directory : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::string path = absl::StrCat(root, directory);
    if (access(absl::StrCat(path, "/cgroup.controllers").c_str(), F_OK) == 0) {
      return path;
    }
  }
  return absl::StrCat(root, "/sys/fs/cgroup/perf_event");
}

}  // namespace

CgroupDirectory::CgroupDirectory(absl::string_view root, absl::string_view path)
    : path_(absl::StrCat(HierarchyIn(root), path)) {}

CgroupDirectory::~CgroupDirectory() { Close(); }

void CgroupDirectory::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

bool CgroupDirectory::Update() {
  struct stat now = {};
  if (stat(path_.c_str(), &now) != 0) {
    const bool was_open = descriptor_ >= 0;
    Close();
    return was_open;
  }
  if (descriptor_ >= 0 && id_ == now.st_ino) return false;
  Close();
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  id_ = now.st_ino;
  return true;
}

}  // namespace fleetperf::agent
