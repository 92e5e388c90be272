#include "agent/source/linux/disk/linux_filesystem.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/source/linux/disk/block_device_name.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kSizeBytes,
  kUsedBytes,
  kFreeBytes,
  kAvailableBytes,
  kPercentUsed,
  kPercentUsedBase,
  kInodes,
  kInodesFree,
  kPercentInodesUsed,
  kPercentInodesUsedBase,
  kReadOnly,
  kDeviceErrors,
  kNumColumns
};

constexpr uint32_t kPercentUsedBaseId = kFirstLinuxCounterId + 100;
constexpr uint32_t kPercentInodesUsedBaseId = kFirstLinuxCounterId + 101;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterLargeRawcount, "Size Bytes",
      "The size of the filesystem."},
     "bytes",
     "statvfs f_blocks"},
    {{1, kPerfCounterLargeRawcount, "Used Bytes", "Space in use."},
     "bytes",
     "statvfs f_blocks - f_bfree"},
    {{2, kPerfCounterLargeRawcount, "Free Bytes",
      "Free space, with that reserved for the superuser."},
     "bytes",
     "statvfs f_bfree"},
    {{3, kPerfCounterLargeRawcount, "Available Bytes",
      "Free space that programs of all users can use."},
     "bytes",
     "statvfs f_bavail"},
    {{4, kPerfRawFraction, "% Used",
      "Space in use as a percentage of the usable space.", kPercentUsedBaseId},
     "%",
     "statvfs (f_blocks - f_bfree) / (f_blocks - f_bfree + f_bavail)",
     "`Use%` of df, which rounds up"},
    {{kPercentUsedBaseId, kPerfRawBase, "", ""}},
    {{5, kPerfCounterLargeRawcount, "Inodes",
      "Files that the filesystem can hold."},
     "inodes",
     "statvfs f_files",
     "absent if their number is not fixed, as in btrfs and vfat"},
    {{6, kPerfCounterLargeRawcount, "Inodes Free",
      "Files that can still be created."},
     "inodes",
     "statvfs f_ffree",
     "absent if their number is not fixed"},
    {{7, kPerfRawFraction, "% Inodes Used",
      "Inodes in use as a percentage of all.", kPercentInodesUsedBaseId},
     "%",
     "statvfs (f_files - f_ffree) / f_files",
     "absent if their number is not fixed"},
    {{kPercentInodesUsedBaseId, kPerfRawBase, "", ""}},
    {{8, kPerfCounterRawcount, "Read Only",
      "1 if the filesystem is read-only, also after an error, else 0."},
     "",
     "/proc/self/mountinfo",
     "of the filesystem; a mount point that is read-only for itself does not "
     "count"},
    {{9, kPerfCounterLargeRawcount, "Device Errors",
      "Errors of the device and of the filesystem's structures since its last "
      "check."},
     "errors",
     "/sys/fs/ext4/DEVICE/errors_count",
     "ext2, ext3 and ext4 only; absent for others"},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kSpaceColumns = Bit(kReadOnly) - 1;  // all before

void AddSpace(const FilesystemSpace& space, CountersetSample* sample) {
  sample->Set(kSizeBytes, space.bytes);
  sample->Set(kUsedBytes, space.UsedBytes());
  sample->Set(kFreeBytes, space.free_bytes);
  sample->Set(kAvailableBytes, space.available_bytes);
  sample->Set(kPercentUsed, space.UsedBytes());
  sample->Set(kPercentUsedBase, space.UsableBytes());
  if (space.inodes == 0) return;
  sample->Set(kInodes, space.inodes);
  sample->Set(kInodesFree, space.free_inodes);
  sample->Set(kPercentInodesUsed,
              space.inodes - std::min(space.inodes, space.free_inodes));
  sample->Set(kPercentInodesUsedBase, space.inodes);
}

}  // namespace

constinit const LinuxCounterset LinuxFilesystem::kCounterset = {
    .guid = "{0f528fe7-a6a5-5080-9522-86e3da899435}",
    .name = "Linux Filesystem",
    .help = "Space, inodes and errors of mounted filesystems.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "mount points, as in LogicalDisk. Values that the filesystem itself "
        "must tell are absent while it does not answer, and of automounts that "
        "no plan names",
    .counters = kCounters};

LinuxFilesystem::LinuxFilesystem(const std::string& root,
                                 std::shared_ptr<Filesystems> filesystems)
    : Provider(MakeRegistration(kCounterset)),
      root_(root),
      filesystems_(std::move(filesystems)) {
  ShareSelection(filesystems_->selection());
}

absl::Status LinuxFilesystem::Sample(ColumnSet needed, const Clocks& clocks,
                                     CountersetSample* sample) {
  const absl::Status mounts = filesystems_->UpdateMounts(clocks);
  sample->Note(mounts);
  if (!mounts.ok()) return absl::OkStatus();
  filesystems_->NoteLeftOut(sample);
  const bool reads_space = (needed & kSpaceColumns) != 0;
  if (reads_space) filesystems_->UpdateSpace(clocks);
  if (generation_ != filesystems_->generation()) FindErrorFiles();
  for (size_t i = 0; i < filesystems_->all().size(); ++i) {
    const Filesystem& filesystem = filesystems_->all()[i];
    sample->AddInstance(filesystem.utf16_name, filesystem.id);
    if (reads_space && filesystem.space.has_value()) {
      AddSpace(*filesystem.space, sample);
    }
    sample->Set(kReadOnly, filesystem.mount.is_read_only ? 1 : 0);
    if (Has(needed, kDeviceErrors) && error_files_[i].has_value()) {
      if (auto text = error_files_[i]->Read(&buffer_); text.ok()) {
        sample->Set(kDeviceErrors, NextNumber(&*text));
      }
      error_files_[i]->Close();  // rarely read
    }
  }
  return absl::OkStatus();
}

void LinuxFilesystem::FindErrorFiles() {
  generation_ = filesystems_->generation();
  error_files_.clear();
  for (const Filesystem& filesystem : filesystems_->all()) {
    error_files_.push_back(FindErrorFile(filesystem));
  }
}

std::optional<ProcFile> LinuxFilesystem::FindErrorFile(
    const Filesystem& filesystem) {
  if (!filesystem.block_device.has_value()) return std::nullopt;
  const std::string name = BlockDeviceName(root_, *filesystem.block_device);
  if (name.empty()) return std::nullopt;
  const std::string path =
      absl::StrCat(root_, "/sys/fs/ext4/",
                   absl::StrReplaceAll(name, {{"/", "!"}}), "/errors_count");
  if (!FileExists(path)) return std::nullopt;
  return ProcFile(path, ProcFile::Kind::kSmall);
}

}  // namespace fleetperf::agent
