// The counterset "Linux NFS Mount": the requests and response times of each
// mounted NFS file system, from /proc/self/mountstats. Reading that file does
// not ask the server, so a server that hangs does no harm.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_MOUNT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_MOUNT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxNfsMount : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxNfsMount(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The lines of a mount, as far as read.
  struct Lines {
    absl::string_view mount_point;  // as in the file; empty: not NFS
    uint64_t age = 0;               // seconds
    bool in_operations = false;
    // The columns that have a part, those that lack one, and the sums.
    ColumnSet present = 0;
    ColumnSet incomplete = 0;
    std::array<uint64_t, 64> values = {};

    void Add(size_t column, std::optional<uint64_t> part) {
      present |= Bit(column);
      if (!part.has_value()) incomplete |= Bit(column);
      values[column] += part.value_or(0);
    }
  };
  struct Mount {
    std::string utf16_name;
    uint32_t id = 0;   // of this life of the mount
    uint64_t age = 0;  // of the last pass
    uint64_t pass = 0;
  };

  static Lines BeginMount(absl::string_view line);
  static void ReadLine(absl::string_view line, Lines& lines);
  static void AddOperation(absl::string_view name, absl::string_view numbers,
                           Lines& lines);
  void AddMount(const Lines& lines, CountersetSample* sample);

  ProcFile file_;
  std::string buffer_;
  absl::flat_hash_map<std::string, Mount> mounts_;  // by mount point
  uint32_t next_id_ = 1;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_MOUNT_H_
