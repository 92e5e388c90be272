// The mounted filesystems that hold data: those of block devices and of the
// network.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_MOUNT_TABLE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_MOUNT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

struct Mount {
  enum class Kind : uint8_t {
    kLocal,
    kRemote,  // a server or a user process answers, which may take forever
    // A place where a filesystem is mounted as soon as somebody touches it.
    kAutomount,
    // No data, or no disk: kernel interfaces, tmpfs, overlays, and images that
    // are full by design.
    kOther,
  };

  bool operator==(const Mount&) const = default;

  uint32_t device = 0;      // DeviceNumber of the filesystem
  std::string mount_point;  // without the source's root
  std::string source;       // "/dev/sda1", "server:/export"
  // Filesystems with the same pool have their free space in common. Empty if
  // it is this filesystem's own.
  std::string pool;
  Kind kind = Kind::kLocal;
  // At or below a kAutomount: looking at it mounts it, or keeps it mounted. Set
  // by FoldMounts.
  bool is_automounted = false;
  // The filesystem, not only this mount of it.
  bool is_read_only = false;
};

// Returns std::nullopt for a malformed line of /proc/self/mountinfo.
std::optional<Mount> ParseMount(absl::string_view line);

// Returns one mount per local or remote filesystem, with different mount
// points. Of bind mounts and subvolumes, the one at "/" is left, else the one
// with the shortest mount point. One that is automounted is only left if there
// is no other. Filesystems are the same if they have the same device number,
// unless it is 0.
std::vector<Mount> FoldMounts(std::vector<Mount> mounts);

// Returns the directory in the source's root, which holds proc, whose files
// list the machine's mounts: "ROOT/proc/1" or "ROOT/proc/self".
std::string DirectoryOfMounts(const std::string& root);

// The folded mounts of the machine. Thread-compatible.
class MountTable {
 public:
  // Bounds the instances of a machine that mounts without end.
  static constexpr size_t kMaxMounts = 4096;

  // `root` is the directory that holds proc.
  explicit MountTable(const std::string& root);

  // Reads the mounts again if the kernel reports a change, and every half a
  // minute. Returns whether mounts() changed.
  absl::StatusOr<bool> Update(const perflib::Clocks& clocks);

  const std::vector<Mount>& mounts() const { return mounts_; }
  // The number of mounts beyond kMaxMounts.
  uint64_t left_out() const { return left_out_; }

 private:
  // Whether the kernel reports a change since the last reading.
  bool HasChanged() const;

  ProcFile file_;
  std::string buffer_;
  // For trees of files that stand in for /proc: the kernel reports changes.
  Periodic reread_{/*seconds=*/30};
  std::vector<Mount> mounts_;
  uint64_t left_out_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_MOUNT_TABLE_H_
