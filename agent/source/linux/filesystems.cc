#include "agent/source/linux/filesystems.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/directory_names.h"
#include "agent/source/linux/disk_counters.h"
#include "agent/source/linux/sys_values.h"
#include "base/status_macros.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kMaxLocalThreads = 4;
constexpr size_t kMaxRemoteThreads = 8;

bool IsRemote(const Mount& mount) { return mount.kind == Mount::Kind::kRemote; }

constexpr char kBlockDevices[] = "/sys/class/block/";

// Returns the device mapper's device with that map, "dm-0", or "".
std::string DeviceOfMap(const std::string& root, absl::string_view map) {
  const std::string devices = root + kBlockDevices;
  for (std::string& name : ListNames(devices)) {
    if (absl::StartsWith(name, "dm-") &&
        ReadFirstLine(absl::StrCat(devices, name, "/dm/name")) == map) {
      return std::move(name);
    }
  }
  return "";
}

// "/dev/sda1" is "sda1"; "/dev/mapper/vg-root" is a link to "../dm-0", which is
// not there if the agent has a /dev of its own (PrivateDevices=).
std::string DeviceName(const std::string& root, const std::string& path) {
  std::string name = LinkTargetName(root + path);
  absl::string_view map = path;
  if (name.empty() && absl::ConsumePrefix(&map, "/dev/mapper/")) {
    name = DeviceOfMap(root, map);
  }
  return name.empty() ? path.substr(path.rfind('/') + 1) : name;
}

}  // namespace

Filesystems::Filesystems(const std::string& root, AskForSpace ask,
                         absl::Duration patience)
    : root_(root),
      asks_(ask != nullptr),
      mounts_(root),
      local_(ask, kMaxLocalThreads, patience),
      remote_(ask, kMaxRemoteThreads, patience) {}

absl::Status Filesystems::UpdateMounts(const perflib::Clocks& clocks) {
  if (mounts_at_ == clocks.perf_time_stamp) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool changed, mounts_.Update(clocks));
  mounts_at_ = clocks.perf_time_stamp;
  if (changed) TakeMounts();
  return absl::OkStatus();
}

void Filesystems::TakeMounts() {
  // A mount that stays keeps its probe, so that its question stays open. A
  // filesystem that replaces another at a path has a new one.
  struct Known {
    std::shared_ptr<SpaceProbe> probe;
    std::optional<FilesystemSpace> space;
  };
  absl::flat_hash_map<std::pair<std::string, uint32_t>, Known> all_known;
  for (size_t i = 0; i < filesystems_.size(); ++i) {
    all_known[{probes_[i]->path, filesystems_[i].mount.device}] = {
        probes_[i], filesystems_[i].known_space};
  }
  filesystems_.clear();
  probes_.clear();
  local_probes_.clear();
  remote_probes_.clear();
  for (const Mount& mount : mounts_.mounts()) {
    const std::string path = root_ + mount.mount_point;
    Known& known = all_known[{path, mount.device}];
    if (known.probe == nullptr) {
      known.probe = std::make_shared<SpaceProbe>(SpaceProbe{.path = path});
    }
    filesystems_.push_back(
        {.mount = mount,
         .utf16_name = perflib::Utf16FromUtf8(mount.mount_point),
         .block_device = BlockDeviceOf(mount),
         .known_space = known.space});
    probes_.push_back(known.probe);
    (IsRemote(mount) ? remote_probes_ : local_probes_).push_back(known.probe);
  }
  ++generation_;
}

std::optional<uint32_t> Filesystems::BlockDeviceOf(const Mount& mount) {
  if (mount.device >= DeviceNumber(1, 0)) return mount.device;
  if (!absl::StartsWith(mount.source, "/dev/")) return std::nullopt;
  const std::string numbers = ReadFirstLine(absl::StrCat(
      root_, kBlockDevices, DeviceName(root_, mount.source), "/dev"));
  return ParseDeviceNumber(numbers);
}

void Filesystems::UpdateSpace(const perflib::Clocks& clocks) {
  if (!asks_) return;
  if (std::exchange(space_at_, clocks.perf_time_stamp) ==
      clocks.perf_time_stamp) {
    return;
  }
  local_.Ask(local_probes_);
  remote_.Ask(remote_probes_);
  for (size_t i = 0; i < filesystems_.size(); ++i) {
    Filesystem& filesystem = filesystems_[i];
    SpaceProbes& probes = IsRemote(filesystem.mount) ? remote_ : local_;
    filesystem.space = probes.TakeAnswer(probes_[i].get());
    if (filesystem.space.has_value()) filesystem.known_space = filesystem.space;
  }
}

}  // namespace fleetperf::agent
