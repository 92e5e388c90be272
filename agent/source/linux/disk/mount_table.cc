#include "agent/source/linux/disk/mount_table.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/octal_escapes.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

// On block devices, but full and read-only by design.
constexpr absl::string_view kImageTypes[] = {"squashfs", "iso9660", "erofs",
                                             "cramfs"};

// The drives of Windows in WSL 1 are drvfs.
constexpr absl::string_view kLocalTypes[] = {"zfs", "drvfs"};

// The space of virtiofs and 9p is the host's.
constexpr absl::string_view kRemoteTypes[] = {
    "nfs",    "nfs4",      "cifs",     "smb3", "ceph", "lustre", "gpfs",
    "beegfs", "glusterfs", "orangefs", "9p",   "afs",  "coda",   "virtiofs"};

// Types of FUSE that hold no data of their own.
constexpr absl::string_view kInterfacesInUserSpace[] = {
    "fuse.lxcfs",       "fuse.portal",     "fuse.gvfsd-fuse",
    "fuse.snapfuse",    "fuse.squashfuse", "fuse.fuse-overlayfs",
    "fuse.archivemount"};

template <size_t kSize>
bool Contains(const absl::string_view (&types)[kSize], absl::string_view type) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

bool IsUserSpace(absl::string_view type) {
  return (type == "fuse" || absl::StartsWith(type, "fuse.")) &&
         !Contains(kInterfacesInUserSpace, type);
}

Mount::Kind KindOf(uint32_t device, absl::string_view type,
                   absl::string_view source) {
  if (type == "autofs") return Mount::Kind::kAutomount;
  if (Contains(kImageTypes, type)) return Mount::Kind::kOther;
  const bool is_share = type == "drvfs" && absl::StartsWith(source, "\\\\");
  if (Contains(kRemoteTypes, type) || IsUserSpace(type) || is_share) {
    return Mount::Kind::kRemote;
  }
  // Filesystems on several devices, such as btrfs, have no device number.
  const bool is_local =
      MajorNumber(device) != 0 || Contains(kLocalTypes, type) ||
      (absl::StartsWith(source, "/dev/") && !absl::StartsWith(type, "fuse"));
  return is_local ? Mount::Kind::kLocal : Mount::Kind::kOther;
}

// The datasets "tank/a" and "tank/b" share the space of the pool "tank".
std::string PoolOf(absl::string_view type, absl::string_view source) {
  return type == "zfs" ? std::string(source.substr(0, source.find('/'))) : "";
}

bool HasReadOnlyOption(absl::string_view options) {
  for (const absl::string_view option : absl::StrSplit(options, ',')) {
    if (option == "ro") return true;
  }
  return false;
}

}  // namespace

// Parses "36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda1
// rw,errors=continue". Any number of words may be before the dash.
std::optional<Mount> ParseMount(absl::string_view line) {
  NextWord(&line);  // the mount's id and its parent's
  NextWord(&line);
  const std::optional<uint32_t> device = ParseDeviceNumber(NextWord(&line));
  if (!device.has_value()) return std::nullopt;
  NextWord(&line);  // the directory of the filesystem that is mounted
  const absl::string_view mount_point = NextWord(&line);
  const size_t dash = line.find(" - ");
  if (mount_point.empty() || dash == absl::string_view::npos) {
    return std::nullopt;
  }
  line.remove_prefix(dash + 3);
  const absl::string_view type = NextWord(&line);
  const std::string source = DecodeOctal(NextWord(&line));
  return Mount{.device = *device,
               .mount_point = DecodeOctal(mount_point),
               .source = source,
               .pool = PoolOf(type, source),
               .kind = KindOf(*device, type, source),
               .is_read_only = HasReadOnlyOption(NextWord(&line))};
}

// Calls `is_it` for the path and the directories above it, without the root,
// until it returns true. Returns whether it did.
template <typename Function>
bool AnyUpwards(absl::string_view path, Function is_it) {
  while (!path.empty()) {
    if (is_it(path)) return true;
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
  return false;
}

// Returns whether a later mount is at the mount point, or at a directory above
// but the root, which the kernel lists after mounts of the initial RAM disk.
// The mounts are in one array.
bool IsHidden(
    const Mount& mount,
    const absl::flat_hash_map<absl::string_view, const Mount*>& visible) {
  return AnyUpwards(mount.mount_point, [&](absl::string_view path) {
    const auto found = visible.find(path);
    return found != visible.end() && found->second > &mount;
  });
}

// Returns whether the first one stands better for their filesystem.
bool IsBetter(const Mount& mount, const Mount& other) {
  const auto rank = [](const Mount& of) {
    return std::tuple(of.is_automounted, of.mount_point.size(),
                      absl::string_view(of.mount_point));
  };
  return rank(mount) < rank(other);
}

void MarkAutomounted(std::vector<Mount>* mounts) {
  absl::flat_hash_set<std::string> automounts;
  for (const Mount& mount : *mounts) {
    if (mount.kind == Mount::Kind::kAutomount) {
      automounts.insert(mount.mount_point);
    }
  }
  if (automounts.empty()) return;
  for (Mount& mount : *mounts) {
    mount.is_automounted = AnyUpwards(
        mount.mount_point,
        [&](absl::string_view path) { return automounts.contains(path); });
  }
}

std::vector<Mount> FoldMounts(std::vector<Mount> mounts) {
  MarkAutomounted(&mounts);
  // The last mount on a mount point hides the others, and those below it.
  absl::flat_hash_map<absl::string_view, const Mount*> visible;
  for (const Mount& mount : mounts) visible[mount.mount_point] = &mount;
  using FilesystemKey = std::pair<uint32_t, absl::string_view>;
  const auto filesystem_of = [](const Mount& mount) {
    absl::string_view own = mount.mount_point;
    if (mount.device != 0) own = "";
    return FilesystemKey(mount.device, own);
  };
  absl::flat_hash_map<FilesystemKey, const Mount*> best;
  for (const Mount& mount : mounts) {
    const bool has_data =
        mount.kind == Mount::Kind::kLocal || mount.kind == Mount::Kind::kRemote;
    if (!has_data || IsHidden(mount, visible)) continue;
    const Mount*& chosen = best[filesystem_of(mount)];
    if (chosen == nullptr || IsBetter(mount, *chosen)) chosen = &mount;
  }
  std::vector<Mount> folded;
  for (const Mount& mount : mounts) {
    const auto chosen = best.find(filesystem_of(mount));
    if (chosen != best.end() && chosen->second == &mount) {
      folded.push_back(mount);
    }
  }
  return folded;
}

std::string DirectoryOfMounts(const std::string& root) {
  // An agent in a container has mounts of its own; the first process has the
  // machine's. An agent without a container may not read those of others.
  const std::string first = root + "/proc/1";
  return !root.empty() && FileExists(first + "/mountinfo")
             ? first
             : root + "/proc/self";
}

MountTable::MountTable(const std::string& root)
    : file_(DirectoryOfMounts(root) + "/mountinfo") {}

absl::StatusOr<bool> MountTable::Update(const perflib::Clocks& clocks) {
  if (!reread_.IsDue(clocks) && !HasChanged()) return false;
  auto read = file_.Read(&buffer_);
  if (!read.ok()) {
    reread_.MakeDue();
    return read.status();
  }
  absl::string_view text = *read;
  std::vector<Mount> mounts;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    if (auto mount = ParseMount(line)) mounts.push_back(*std::move(mount));
  }
  mounts = FoldMounts(std::move(mounts));
  left_out_ = mounts.size() - std::min(mounts.size(), kMaxMounts);
  mounts.resize(mounts.size() - left_out_);
  if (mounts == mounts_) return false;
  mounts_ = std::move(mounts);
  return true;
}

bool MountTable::HasChanged() const {
  pollfd changes = {.fd = file_.descriptor(), .events = POLLPRI, .revents = 0};
  return poll(&changes, 1, 0) > 0;
}

}  // namespace fleetperf::agent
