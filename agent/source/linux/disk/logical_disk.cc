#include "agent/source/linux/disk/logical_disk.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kFreeSpace = kNumDiskColumns,
  kFreeMegabytes,
  kUsableSpaceBase,
  kNumColumns
};

constexpr uint32_t kUsableSpaceBaseId = kFirstLinuxCounterId + 106;

constexpr LinuxCounter kSpaceCounters[] = {
    {{20, kPerfRawFraction, "% Free Space",
      "Space available to programs as a percentage of the usable space.",
      kUsableSpaceBaseId},
     "%",
     "statvfs f_bavail / (f_blocks - f_bfree + f_bavail)",
     "the complement of `Use%` of df: space reserved for the superuser is "
     "neither free nor usable. Absent while the filesystem does not answer, "
     "and of automounts that no plan names"},
    {{21, kPerfCounterRawcount, "Free Megabytes",
      "Space available to programs in units of 1048576 bytes."},
     "MiB",
     "statvfs f_bavail",
     "absent while the filesystem does not answer, and of automounts that no "
     "plan names"},
    {{kUsableSpaceBaseId, kPerfRawBase, "", ""}},
};

constexpr std::array<LinuxCounter, kNumColumns> kCounters = [] {
  std::array<LinuxCounter, kNumColumns> counters = {};
  std::copy(kDiskCounters.begin(), kDiskCounters.end(), counters.begin());
  std::copy(std::begin(kSpaceCounters), std::end(kSpaceCounters),
            counters.begin() + kNumDiskColumns);
  return counters;
}();

constexpr ColumnSet kDiskColumns =
    (Bit(kNumDiskColumns) - 1) & ~Bit(kDiskLifeStart);
constexpr ColumnSet kSpaceColumns =
    Bit(kFreeSpace) | Bit(kFreeMegabytes) | Bit(kUsableSpaceBase);

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds = DiskTotalKinds();
  kinds.resize(kNumColumns, TotalKind::kNone);  // see AddTotalSpace
  return kinds;
}

void SetSpace(uint64_t available_bytes, uint64_t usable_bytes,
              CountersetSample* sample) {
  sample->Set(kFreeSpace, available_bytes);
  sample->Set(kFreeMegabytes, available_bytes / kBytesPerMib);
  sample->Set(kUsableSpaceBase, usable_bytes);
}

// Contains filesystems that do not answer now, so that the total does not fall
// because of them. The space available in a pool is that of any of its
// filesystems; a quota can only make it less.
void AddTotalSpace(absl::Span<const Filesystem> filesystems,
                   CountersetSample* sample) {
  uint64_t used = 0;
  uint64_t available = 0;
  absl::flat_hash_map<absl::string_view, uint64_t> available_in_pools;
  bool is_known = false;
  for (const Filesystem& filesystem : filesystems) {
    if (!filesystem.known_space.has_value() || !filesystem.IsInTotal()) {
      continue;
    }
    is_known = true;
    const FilesystemSpace& space = *filesystem.known_space;
    used = SaturatedSum(used, space.UsedBytes());
    if (filesystem.mount.pool.empty()) {
      available = SaturatedSum(available, space.available_bytes);
    } else {
      uint64_t& in_pool = available_in_pools[filesystem.mount.pool];
      in_pool = std::max(in_pool, space.available_bytes);
    }
  }
  for (const auto& [pool, in_pool] : available_in_pools) {
    available = SaturatedSum(available, in_pool);
  }
  if (is_known) SetSpace(available, SaturatedSum(used, available), sample);
}

}  // namespace

constinit const LinuxCounterset LogicalDisk::kCounterset = {
    .guid = "{ebd9cd37-b564-5267-a222-a598f65839a8}",
    .name = "LogicalDisk",
    .help = "Mounted filesystems.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances =
        "mount points of the filesystems of block devices and of the network "
        "in the agent's mount namespace, and `_Total`; without tmpfs, overlays "
        "and read-only images. A filesystem with several mount points has the "
        "name `/` or else the shortest one. "
        "Transfers are those of the block device, so network filesystems and "
        "ZFS have none, and filesystems on several devices those of the first. "
        "A partition of an NVMe namespace with several paths has transfers "
        "only if it is the only one: the kernel counts those of all partitions "
        "together. `_Total` is without filesystems of the network and on loop "
        "devices, contains the free space of each ZFS pool once, and the last "
        "answer of a filesystem that does not answer",
    .counters = kCounters};

LogicalDisk::LogicalDisk(std::shared_ptr<Filesystems> filesystems,
                         std::shared_ptr<BlockDevices> devices)
    : Provider(MakeRegistration(kCounterset)),
      filesystems_(std::move(filesystems)),
      devices_(std::move(devices)),
      // A mounted disk's clock starts at the current time, not at zero.
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {
  ShareSelection(filesystems_->selection());
}

absl::Status LogicalDisk::Sample(ColumnSet needed, const Clocks& clocks,
                                 CountersetSample* sample) {
  const absl::Status mounts = filesystems_->UpdateMounts(clocks);
  sample->Note(mounts);
  if (!mounts.ok()) return absl::OkStatus();
  filesystems_->NoteLeftOut(sample);
  const bool reads_space = (needed & kSpaceColumns) != 0;
  if (reads_space) filesystems_->UpdateSpace(clocks);
  const bool reads_disks = (needed & kDiskColumns) != 0;
  if (reads_disks) devices_->Update(clocks, sample);
  totals_.Begin();
  added_devices_.clear();
  for (const Filesystem& filesystem : filesystems_->all()) {
    sample->AddInstance(filesystem.utf16_name, filesystem.id);
    if (reads_disks) AddTransfers(filesystem, clocks, sample);
    if (reads_space && filesystem.space.has_value()) {
      SetSpace(filesystem.space->available_bytes,
               filesystem.space->UsableBytes(), sample);
    }
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  if (reads_space) AddTotalSpace(filesystems_->all(), sample);
  return absl::OkStatus();
}

void LogicalDisk::AddTransfers(const Filesystem& filesystem,
                               const Clocks& clocks, CountersetSample* sample) {
  if (!filesystem.block_device.has_value()) return;
  const BlockDevice* const device = devices_->Find(*filesystem.block_device);
  if (device == nullptr) return;
  const DiskCounts* const counts = BlockDevices::CountsOf(*device);
  if (counts == nullptr) return;
  counts->SetValues(clocks, sample);
  if (!filesystem.IsInTotal() || !added_devices_.insert(device->id).second) {
    return;
  }
  const size_t row = sample->rows() - 1;
  totals_.Add(device->life, sample->Row(row), sample->Present(row));
}

}  // namespace fleetperf::agent
