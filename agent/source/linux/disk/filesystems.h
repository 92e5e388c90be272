// The mounted filesystems and their space, which LogicalDisk and Linux
// Filesystem share.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_FILESYSTEMS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_FILESYSTEMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/source/instance_selection.h"
#include "agent/source/linux/disk/mount_table.h"
#include "agent/source/linux/disk/space_probes.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

struct Filesystem {
  Mount mount;
  std::string utf16_name;  // the mount point
  // The device number, or IdOfName of the mount point if it is 0.
  uint32_t id = 0;
  // The block device with the data: of filesystems without a device number,
  // the first one. std::nullopt if there is none.
  std::optional<uint32_t> block_device;
  // Absent if the filesystem does not answer.
  std::optional<FilesystemSpace> space;
  // The last answer. Absent if there was none since it was mounted.
  std::optional<FilesystemSpace> known_space;

  // Whether the machine's disks have this space, and no other filesystem has
  // it: not that of a server, which may claim any size, and not that of a file.
  bool IsInTotal() const;
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

  // The instances that the countersets' plan wants. No others are in all().
  const std::shared_ptr<SharedSelection>& selection() const {
    return selection_;
  }

  // Both do nothing if they were called with these clocks before. UpdateSpace
  // does not ask automounted filesystems that no plan names: their space is
  // absent.
  absl::Status UpdateMounts(const perflib::Clocks& clocks);
  void UpdateSpace(const perflib::Clocks& clocks);

  const std::vector<Filesystem>& all() const { return filesystems_; }
  // Notes the filesystems that are left out of all().
  void NoteLeftOut(CountersetSample* sample) const;
  // Changes when all() has other filesystems.
  uint64_t generation() const { return generation_; }

 private:
  void TakeMounts();
  std::optional<uint32_t> BlockDeviceOf(const Mount& mount);

  const std::string root_;
  const bool asks_;
  const std::shared_ptr<SharedSelection> selection_ =
      std::make_shared<SharedSelection>();
  uint64_t selected_ = 0;  // the generation of selection_ that all() is from
  MountTable mounts_;
  // Local filesystems have threads of their own, so that no server can keep
  // them from being asked.
  SpaceProbes local_;
  SpaceProbes remote_;
  std::vector<Filesystem> filesystems_;
  // By position in all(); null for those that are not asked.
  std::vector<std::shared_ptr<SpaceProbe>> probes_;
  std::vector<std::shared_ptr<SpaceProbe>> local_probes_;
  std::vector<std::shared_ptr<SpaceProbe>> remote_probes_;
  uint64_t generation_ = 0;
  int64_t mounts_at_ = -1;  // PerfTimeStamp
  int64_t space_at_ = -1;   // PerfTimeStamp
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_FILESYSTEMS_H_
