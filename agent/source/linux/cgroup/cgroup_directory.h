// The directory of a cgroup.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_DIRECTORY_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Open while the cgroup exists. Thread-compatible.
class CgroupDirectory {
 public:
  // `path` is that of /proc/PID/cgroup: "/system.slice/nginx.service". `root`
  // is the directory that holds sys.
  CgroupDirectory(absl::string_view root, absl::string_view path);
  ~CgroupDirectory();
  CgroupDirectory(const CgroupDirectory&) = delete;
  CgroupDirectory& operator=(const CgroupDirectory&) = delete;

  // Opens the directory of a cgroup that was created, or created again.
  // Returns whether descriptor() changed.
  bool Update();

  int descriptor() const { return descriptor_; }  // -1: no such cgroup
  uint64_t id() const { return id_; }             // differs when created again

 private:
  void Close();

  const std::string path_;
  int descriptor_ = -1;
  uint64_t id_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_DIRECTORY_H_
