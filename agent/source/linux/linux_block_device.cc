#include "agent/source/linux/linux_block_device.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/block_device_name.h"
#include "agent/source/linux/sys_values.h"
#include "agent/source/linux/text.h"
#include "base/status_macros.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {

using perflib::Clocks;

constinit const LinuxCounterset LinuxBlockDevice::kCounterset = {
    .guid = "{1d7db5f3-4856-593f-8e81-896eb3e03271}",
    .name = "Linux Block Device",
    .help =
        "Partitions, logical volumes, RAID arrays and other devices that are "
        "no disks of their own.",
    .instance_type = perflib::kCountersetMultipleInstances,
    .instances =
        "block devices that are not in PhysicalDisk and have had a read or "
        "write: partitions (`sda1`), device mapper and LVM (`vg0-root`), MD "
        "arrays (`md0`), `loop0`, `zram0`. No `_Total`, because a request "
        "counts in each layer",
    .counters = kDiskCounters};

LinuxBlockDevice::LinuxBlockDevice(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      root_(root),
      diskstats_(root + "/proc/diskstats") {}

absl::Status LinuxBlockDevice::Sample(ColumnSet, const Clocks& clocks,
                                      CountersetSample* sample) {
  ASSIGN_OR_RETURN(absl::string_view text, diskstats_.Read(&buffer_));
  ++pass_;
  DiskLine line;
  while (NextDisk(&text, &line)) {
    Device& device = GetDevice(line);
    device.pass = pass_;
    if (device.is_disk) continue;
    // A number that is used again can mean another map of the device mapper.
    if (device.counts.Update(line.fields, clocks)) device.utf16_name.clear();
    if (!device.counts.HasTransfers()) continue;
    if (device.utf16_name.empty()) {
      device.utf16_name = perflib::Utf16FromUtf8(DisplayName(line.name));
    }
    sample->AddInstance(device.utf16_name, line.device);
    device.counts.SetValues(clocks, sample);
  }
  absl::erase_if(devices_, [this](const auto& entry) {
    return entry.second.pass != pass_;
  });
  return absl::OkStatus();
}

LinuxBlockDevice::Device& LinuxBlockDevice::GetDevice(const DiskLine& line) {
  const auto [entry, is_new] = devices_.try_emplace(line.device);
  Device& device = entry->second;
  if (!is_new && device.name == line.name) return device;
  device = {.name = std::string(line.name),
            .is_disk = IsWholeDisk(root_, line.name)};
  return device;
}

std::string LinuxBlockDevice::DisplayName(absl::string_view name) {
  if (absl::StartsWith(name, "dm-")) {
    std::string map_name =
        ReadFirstLine(absl::StrCat(root_, "/sys/block/", name, "/dm/name"));
    if (!map_name.empty()) return map_name;
  }
  return std::string(name);
}

}  // namespace fleetperf::agent
