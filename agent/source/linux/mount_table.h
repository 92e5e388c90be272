// The mounted filesystems that hold data: those of block devices and of the
// network.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_MOUNT_TABLE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_MOUNT_TABLE_H_

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
    // No data, or no disk: kernel interfaces, tmpfs, overlays, and images that
    // are full by design.
    kOther,
  };

  bool operator==(const Mount&) const = default;

  uint32_t device = 0;      // DeviceNumber of the filesystem
  std::string root;         // the mounted directory of the filesystem
  std::string mount_point;  // without the source's root
  std::string source;       // "/dev/sda1", "server:/export"
  Kind kind = Kind::kLocal;
  // The filesystem, not only this mount of it.
  bool is_read_only = false;
};

// Returns std::nullopt for a malformed line of /proc/self/mountinfo.
std::optional<Mount> ParseMount(absl::string_view line);

// Returns one mount per local or remote filesystem, with different mount
// points. Of bind mounts and subvolumes, the one nearest to the filesystem's
// root is left.
std::vector<Mount> FoldMounts(std::vector<Mount> mounts);

// Returns the directory in the source's root, which holds proc, whose files
// list the machine's mounts: "ROOT/proc/1" or "ROOT/proc/self".
std::string DirectoryOfMounts(const std::string& root);

// The folded mounts of the machine. Thread-compatible.
class MountTable {
 public:
  // `root` is the directory that holds proc.
  explicit MountTable(const std::string& root);

  // Reads the mounts again if the kernel reports a change, and every half a
  // minute. Returns whether mounts() changed.
  absl::StatusOr<bool> Update(const perflib::Clocks& clocks);

  const std::vector<Mount>& mounts() const { return mounts_; }

 private:
  // Whether the kernel reports a change since the last reading.
  bool HasChanged() const;

  ProcFile file_;
  std::string buffer_;
  // For trees of files that stand in for /proc: the kernel reports changes.
  Periodic reread_{/*seconds=*/30};
  std::vector<Mount> mounts_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_MOUNT_TABLE_H_
