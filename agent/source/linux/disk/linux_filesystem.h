// The counterset "Linux Filesystem": space, inodes and errors of mounted
// filesystems, from /proc/self/mountinfo, statvfs and /sys/fs/ext4.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_FILESYSTEM_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_FILESYSTEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/disk/filesystems.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxFilesystem : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  LinuxFilesystem(const std::string& root,
                  std::shared_ptr<Filesystems> filesystems);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // Finds the files with the errors of the filesystems.
  void FindErrorFiles();
  std::optional<ProcFile> FindErrorFile(const Filesystem& filesystem);

  const std::string root_;
  const std::shared_ptr<Filesystems> filesystems_;
  uint64_t generation_ = 0;  // of filesystems_
  // By the position in Filesystems::all().
  std::vector<std::optional<ProcFile>> error_files_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_FILESYSTEM_H_
