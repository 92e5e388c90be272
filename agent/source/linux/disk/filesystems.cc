#include "agent/source/linux/disk/filesystems.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/disk/block_devices.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/sysfs.h"
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

bool Filesystem::IsInTotal() const {
  constexpr uint32_t kLoopMajorNumber = 7;
  return !IsRemote(mount) && !(block_device.has_value() &&
                               MajorNumber(*block_device) == kLoopMajorNumber);
}

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
  const bool selects_others = selected_ != selection_->generation();
  if (changed || selects_others) TakeMounts();
  return absl::OkStatus();
}

void Filesystems::NoteLeftOut(CountersetSample* sample) const {
  if (mounts_.left_out() == 0) return;
  sample->LeaveOut(mounts_.left_out(),
                   absl::StrCat("there are more than ", MountTable::kMaxMounts,
                                " filesystems; the last mounts are absent"));
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
    const Filesystem& filesystem = filesystems_[i];
    all_known[{filesystem.mount.mount_point, filesystem.mount.device}] = {
        probes_[i], filesystem.known_space};
  }
  selected_ = selection_->generation();
  filesystems_.clear();
  probes_.clear();
  local_probes_.clear();
  remote_probes_.clear();
  for (const Mount& mount : mounts_.mounts()) {
    if (!selection_->Contains(mount.mount_point)) continue;
    const bool is_asked =
        !mount.is_automounted || selection_->Names(mount.mount_point);
    Known& known = all_known[{mount.mount_point, mount.device}];
    if (!is_asked) {
      known = {};
    } else if (known.probe == nullptr) {
      known.probe = std::make_shared<SpaceProbe>(
          SpaceProbe{.path = root_ + mount.mount_point});
    }
    filesystems_.push_back(
        {.mount = mount,
         .utf16_name = perflib::Utf16FromUtf8(mount.mount_point),
         .id = mount.device != 0 ? mount.device : IdOfName(mount.mount_point),
         .block_device = BlockDeviceOf(mount),
         .known_space = known.space});
    probes_.push_back(known.probe);
    if (!is_asked) continue;
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
    if (probes_[i] == nullptr) continue;
    Filesystem& filesystem = filesystems_[i];
    SpaceProbes& probes = IsRemote(filesystem.mount) ? remote_ : local_;
    filesystem.space = probes.TakeAnswer(probes_[i].get());
    if (filesystem.space.has_value()) filesystem.known_space = filesystem.space;
  }
}

}  // namespace fleetperf::agent
