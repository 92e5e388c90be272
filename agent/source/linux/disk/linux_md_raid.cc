#include "agent/source/linux/disk/linux_md_raid.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kActive,
  kDisks,
  kDegradedDisks,
  kFaultyDisks,
  kSpareDisks,
  kSynchronizing,
  kSyncCompleted,
  kSyncCompletedBase,
  kSyncBytesPerSec,
  kMismatches,
  kNumColumns
};

constexpr uint32_t kSyncCompletedBaseId = kFirstLinuxCounterId + 100;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Active", "1 if the array can be used, else 0."},
     "",
     "/sys/block/mdN/md/array_state",
     "0 for clear, inactive, suspended and broken"},
    {{1, kPerfCounterRawcount, "Disks", "Disks of the complete array."},
     "disks",
     "md/raid_disks"},
    {{2, kPerfCounterRawcount, "Degraded Disks",
      "Disks that are missing from the array."},
     "disks",
     "md/degraded",
     "absent for arrays without redundancy"},
    {{3, kPerfCounterRawcount, "Faulty Disks",
      "Failed disks that are still attached."},
     "disks",
     "md/dev-*/state faulty"},
    {{4, kPerfCounterRawcount, "Spare Disks", "Disks in reserve."},
     "disks",
     "md/dev-*/state spare",
     "including disks that are being rebuilt"},
    {{5, kPerfCounterRawcount, "Synchronizing",
      "1 while the array is checked or its disks are brought in line, else 0."},
     "",
     "md/sync_action",
     "absent for arrays without redundancy"},
    {{6, kPerfRawFraction, "% Synchronized",
      "The part of the work under way that is done.", kSyncCompletedBaseId},
     "%",
     "md/sync_completed",
     "absent while there is none"},
    {{kSyncCompletedBaseId, kPerfRawBase, "", ""}},
    {{7, kPerfCounterLargeRawcount, "Synchronization Bytes/sec",
      "The speed of the work under way, as averaged by the kernel."},
     "bytes/s",
     "md/sync_speed",
     "absent while there is none"},
    {{8, kPerfCounterLargeRawcount, "Mismatched Sectors",
      "Sectors that differed between disks in the last check."},
     "sectors",
     "md/mismatch_cnt",
     "absent for arrays without redundancy"},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr ColumnSet kDiskStateColumns = Bit(kFaultyDisks) | Bit(kSpareDisks);

bool IsActive(absl::string_view state) {
  return state != "clear" && state != "inactive" && state != "suspended" &&
         state != "broken";
}

// The states of a disk are separated by commas.
void SetDiskStates(const std::string& directory, CountersetSample* sample) {
  uint64_t faulty = 0;
  uint64_t spare = 0;
  for (const std::string& name : ListNames(directory)) {
    if (!absl::StartsWith(name, "dev-")) continue;
    const std::string state =
        ReadFirstLine(absl::StrCat(directory, "/", name, "/state"));
    if (state.empty()) return;  // not known, or removed at this moment
    faulty += absl::StrContains(state, "faulty") ? 1 : 0;
    spare += absl::StrContains(state, "spare") ? 1 : 0;
  }
  sample->Set(kFaultyDisks, faulty);
  sample->Set(kSpareDisks, spare);
}

// Parses "1234 / 5678", in sectors; "none" or "delayed" without work.
void SetCompleted(absl::string_view text, CountersetSample* sample) {
  const std::optional<uint64_t> done = NextNumber(&text);
  if (!done.has_value() || NextWord(&text) != "/") return;
  if (const std::optional<uint64_t> all = NextNumber(&text)) {
    sample->Set(kSyncCompleted, *done);
    sample->Set(kSyncCompletedBase, *all);
  }
}

// Firmware RAID (IMSM, DDF) has arrays in a container, which holds the disks
// and their metadata: "external:imsm". Its arrays name it: "external:/md127/0",
// or "external:-md127/0" while they are being changed.
bool IsContainer(const std::string& directory) {
  const std::string version = ReadFirstLine(directory + "/metadata_version");
  absl::string_view format = version;
  return ReadFirstLine(directory + "/level") == "container" ||
         (absl::ConsumePrefix(&format, "external:") &&
          !absl::StartsWith(format, "/") && !absl::StartsWith(format, "-"));
}

void SetNumber(size_t column, const std::string& path, uint64_t factor,
               CountersetSample* sample) {
  if (const std::optional<uint64_t> number = ReadNumber(path)) {
    sample->Set(column, *number * factor);
  }
}

}  // namespace

constinit const LinuxCounterset LinuxMdRaid::kCounterset = {
    .guid = "{743a1018-2f1f-51d5-b8dc-763693ddd1b2}",
    .name = "Linux MD RAID",
    .help = "The state of software RAID arrays.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "arrays: `md0`, without the containers of firmware RAID. Their "
        "transfers are in Linux Block Device and, if "
        "mounted, in LogicalDisk",
    .counters = kCounters};

LinuxMdRaid::LinuxMdRaid(const std::string& root)
    : Provider(MakeRegistration(kCounterset)), root_(root) {}

absl::Status LinuxMdRaid::Sample(ColumnSet needed, const Clocks& clocks,
                                 CountersetSample* sample) {
  if (list_.IsDue(clocks)) List();
  for (const Array& array : arrays_) {
    const std::string state = ReadFirstLine(array.directory + "/array_state");
    if (state.empty()) continue;  // it was stopped
    sample->AddInstance(array.utf16_name, array.id);
    sample->Set(kActive, IsActive(state) ? 1 : 0);
    SetNumber(kDisks, array.directory + "/raid_disks", 1, sample);
    SetNumber(kDegradedDisks, array.directory + "/degraded", 1, sample);
    SetNumber(kMismatches, array.directory + "/mismatch_cnt", 1, sample);
    if ((needed & kDiskStateColumns) != 0) {
      SetDiskStates(array.directory, sample);
    }
    const std::string action = ReadFirstLine(array.directory + "/sync_action");
    if (action.empty()) continue;
    const bool is_synchronizing = action != "idle" && action != "frozen";
    sample->Set(kSynchronizing, is_synchronizing ? 1 : 0);
    if (!is_synchronizing) continue;
    SetCompleted(ReadFirstLine(array.directory + "/sync_completed"), sample);
    SetNumber(kSyncBytesPerSec, array.directory + "/sync_speed", kBytesPerKib,
              sample);
  }
  return absl::OkStatus();
}

void LinuxMdRaid::List() {
  arrays_.clear();
  const std::string directory = root_ + "/sys/block";
  for (const std::string& name : ListNames(directory)) {
    const std::string path = absl::StrCat(directory, "/", name);
    if (!absl::StartsWith(name, "md") || IsContainer(path + "/md")) continue;
    arrays_.push_back(
        {.utf16_name = Utf16FromUtf8(name),
         .id = ParseDeviceNumber(ReadFirstLine(path + "/dev")).value_or(0),
         .directory = path + "/md"});
  }
}

}  // namespace fleetperf::agent
