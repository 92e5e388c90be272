#include "agent/source/linux/logical_disk.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "agent/source/linux/units.h"
#include "base/status_macros.h"
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
     "neither free nor usable. Absent while the filesystem does not answer"},
    {{21, kPerfCounterRawcount, "Free Megabytes",
      "Space available to programs in units of 1048576 bytes."},
     "MiB",
     "statvfs f_bavail",
     "absent while the filesystem does not answer"},
    {{kUsableSpaceBaseId, kPerfRawBase, "", ""}},
};

constexpr std::array<LinuxCounter, kNumColumns> kCounters = [] {
  std::array<LinuxCounter, kNumColumns> counters = {};
  std::copy(kDiskCounters.begin(), kDiskCounters.end(), counters.begin());
  std::copy(std::begin(kSpaceCounters), std::end(kSpaceCounters),
            counters.begin() + kNumDiskColumns);
  return counters;
}();

constexpr ColumnSet kDiskColumns = Bit(kNumDiskColumns) - 1;
constexpr ColumnSet kSpaceColumns =
    Bit(kFreeSpace) | Bit(kFreeMegabytes) | Bit(kUsableSpaceBase);

std::vector<TotalKind> TotalKinds() {
  std::vector<TotalKind> kinds = DiskTotalKinds();
  kinds.resize(kNumColumns, TotalKind::kNone);  // see AddTotalSpace
  return kinds;
}

void SetSpace(const FilesystemSpace& space, CountersetSample* sample) {
  sample->Set(kFreeSpace, space.available_bytes);
  sample->Set(kFreeMegabytes, space.available_bytes / kBytesPerMib);
  sample->Set(kUsableSpaceBase, space.UsableBytes());
}

// Contains filesystems that do not answer now, so that the total does not fall
// because of them.
void AddTotalSpace(absl::Span<const Filesystem> filesystems,
                   CountersetSample* sample) {
  FilesystemSpace total;
  bool is_known = false;
  for (const Filesystem& filesystem : filesystems) {
    if (!filesystem.known_space.has_value()) continue;
    is_known = true;
    total.bytes += filesystem.known_space->bytes;
    total.free_bytes += filesystem.known_space->free_bytes;
    total.available_bytes += filesystem.known_space->available_bytes;
  }
  if (is_known) SetSpace(total, sample);
}

}  // namespace

constinit const LinuxCounterset LogicalDisk::kCounterset = {
    .guid = "{ebd9cd37-b564-5267-a222-a598f65839a8}",
    .name = "LogicalDisk",
    .help = "Mounted filesystems.",
    .instance_type = kCountersetMultipleInstances | kCountersetAggregate,
    .instances =
        "mount points of the filesystems of block devices and of the network "
        "in the agent's mount namespace, one per filesystem, and `_Total`; "
        "without tmpfs, overlays and read-only images. "
        "Transfers are those of the block device, so network filesystems and "
        "ZFS have none, and filesystems on several devices those of the first. "
        "A filesystem that does not answer is in `_Total` with its last answer",
    .counters = kCounters};

LogicalDisk::LogicalDisk(const std::string& root,
                         std::shared_ptr<Filesystems> filesystems)
    : Provider(MakeRegistration(kCounterset)),
      filesystems_(std::move(filesystems)),
      diskstats_(root + "/proc/diskstats"),
      // A mounted disk's clock starts at the current time, not at zero.
      totals_(TotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(Utf16FromUtf8(kAggregateInstance)) {}

absl::Status LogicalDisk::Sample(ColumnSet needed, const Clocks& clocks,
                                 CountersetSample* sample) {
  RETURN_IF_ERROR(filesystems_->UpdateMounts(clocks));
  const bool reads_space = (needed & kSpaceColumns) != 0;
  if (reads_space) filesystems_->UpdateSpace(clocks);
  if (generation_ != filesystems_->generation()) FindDevices();
  const bool reads_disks = (needed & kDiskColumns) != 0;
  if (reads_disks) RETURN_IF_ERROR(ReadDevices(clocks));
  totals_.Begin();
  for (const Filesystem& filesystem : filesystems_->all()) {
    sample->AddInstance(filesystem.utf16_name, filesystem.mount.device);
    const auto device = devices_.find(filesystem.block_device.value_or(0));
    if (reads_disks && device != devices_.end() &&
        device->second.pass == pass_) {
      device->second.counts.SetValues(clocks, sample);
    }
    if (reads_space && filesystem.space.has_value()) {
      SetSpace(*filesystem.space, sample);
    }
    const size_t row = sample->rows() - 1;
    totals_.Add(filesystem.mount.device, sample->Row(row),
                sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  if (reads_space) AddTotalSpace(filesystems_->all(), sample);
  return absl::OkStatus();
}

void LogicalDisk::FindDevices() {
  generation_ = filesystems_->generation();
  absl::flat_hash_map<uint32_t, Device> devices;
  for (const Filesystem& filesystem : filesystems_->all()) {
    if (!filesystem.block_device.has_value()) continue;
    devices[*filesystem.block_device] = devices_[*filesystem.block_device];
  }
  devices_ = std::move(devices);
}

absl::Status LogicalDisk::ReadDevices(const Clocks& clocks) {
  ASSIGN_OR_RETURN(absl::string_view text, diskstats_.Read(&buffer_));
  ++pass_;
  DiskLine line;
  while (NextDisk(&text, &line)) {
    const auto device = devices_.find(line.device);
    if (device == devices_.end()) continue;
    device->second.counts.Update(line.fields, clocks);
    device->second.pass = pass_;
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
