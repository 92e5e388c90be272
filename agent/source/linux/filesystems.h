// The mounted filesystems and their space, which LogicalDisk and Linux
// Filesystem share.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_FILESYSTEMS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_FILESYSTEMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/source/linux/mount_table.h"
#include "agent/source/linux/space_probes.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

struct Filesystem {
  Mount mount;
  std::string utf16_name;  // the mount point
  // The block device with the data: of filesystems without a device number,
  // the first one. std::nullopt if there is none.
  std::optional<uint32_t> block_device;
  // Absent if the filesystem does not answer.
  std::optional<FilesystemSpace> space;
  // The last answer. Absent if there was none since it was mounted.
  std::optional<FilesystemSpace> known_space;
};

// Thread-compatible.
class Filesystems {
 public:
  // Usual answers take microseconds, those of a network milliseconds.
  static constexpr absl::Duration kPatience = absl::Milliseconds(20);

  // `root` is the directory that holds proc and sys, and in which mount points
  // are. A tick waits twice for `patience` at most. Without `ask`, there is no
  // thread, and all space is absent.
  explicit Filesystems(const std::string& root, AskForSpace ask = SpaceOf,
                       absl::Duration patience = kPatience);

  // Both do nothing if they were called with these clocks before.
  absl::Status UpdateMounts(const perflib::Clocks& clocks);
  void UpdateSpace(const perflib::Clocks& clocks);

  const std::vector<Filesystem>& all() const { return filesystems_; }
  // Changes when all() has other filesystems.
  uint64_t generation() const { return generation_; }

 private:
  void TakeMounts();
  std::optional<uint32_t> BlockDeviceOf(const Mount& mount);

  const std::string root_;
  const bool asks_;
  MountTable mounts_;
  // Local filesystems have threads of their own, so that no server can keep
  // them from being asked.
  SpaceProbes local_;
  SpaceProbes remote_;
  std::vector<Filesystem> filesystems_;
  std::vector<std::shared_ptr<SpaceProbe>> probes_;  // by position in all()
  std::vector<std::shared_ptr<SpaceProbe>> local_probes_;
  std::vector<std::shared_ptr<SpaceProbe>> remote_probes_;
  uint64_t generation_ = 0;
  int64_t mounts_at_ = -1;  // PerfTimeStamp
  int64_t space_at_ = -1;   // PerfTimeStamp
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_FILESYSTEMS_H_
