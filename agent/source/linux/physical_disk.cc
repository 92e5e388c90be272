#include "agent/source/linux/physical_disk.h"

#include "agent/source/linux/block_device_name.h"
#include "base/status_macros.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {

using perflib::Clocks;

constinit const LinuxCounterset PhysicalDisk::kCounterset = {
    .guid = "{4838a6c0-4cc7-5050-a2c8-c46ed5af173d}",
    .name = "PhysicalDisk",
    .help = "Whole disks.",
    .instance_type =
        perflib::kCountersetMultipleInstances | perflib::kCountersetAggregate,
    .instances = "whole disks: `sda`, `nvme0n1`, `_Total`",
    .counters = kDiskCounters};

PhysicalDisk::PhysicalDisk(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      root_(root),
      diskstats_(root + "/proc/diskstats"),
      // A new disk's clock starts at the current time, not at zero.
      totals_(DiskTotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(perflib::Utf16FromUtf8(perflib::kAggregateInstance)) {}

absl::Status PhysicalDisk::Sample(ColumnSet, const Clocks& clocks,
                                  CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, diskstats_.Read(&buffer_));
  totals_.Begin();
  ++pass_;
  DiskLine line;
  while (NextDisk(&text, &line)) {
    Disk& disk = GetDisk(line);
    disk.pass = pass_;
    if (!disk.is_whole) continue;
    disk.counts.Update(line.fields, clocks);
    sample->AddInstance(disk.utf16_name, line.device);
    disk.counts.SetValues(clocks, sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(line.device, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  absl::erase_if(
      disks_, [this](const auto& entry) { return entry.second.pass != pass_; });
  return absl::OkStatus();
}

PhysicalDisk::Disk& PhysicalDisk::GetDisk(const DiskLine& line) {
  const auto [entry, is_new] = disks_.try_emplace(line.device);
  Disk& disk = entry->second;
  if (!is_new && disk.name == line.name) return disk;
  disk = {.name = std::string(line.name),
          .utf16_name = perflib::Utf16FromUtf8(line.name),
          .is_whole = IsWholeDisk(root_, line.name)};
  return disk;
}

}  // namespace fleetperf::agent
