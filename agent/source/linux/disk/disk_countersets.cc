#include "agent/source/linux/disk/disk_countersets.h"

#include <utility>

#include "agent/source/linux/disk/disk_counters.h"
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
    .instances =
        "whole disks: `sda`, `nvme0n1`, and `_Total`, their sum, in which each "
        "byte counts once. Device mapper, MD, loop devices, RAM disks, and "
        "other devices with slaves in sysfs are no disks, because their "
        "requests count in the disks below. A namespace of NVMe multipath is "
        "one disk, with the requests of its paths (`nvme0c0n1`) if the kernel "
        "counts them there. Of SCSI disks with several paths, each path is one",
    .counters = kDiskCounters};

PhysicalDisk::PhysicalDisk(std::shared_ptr<BlockDevices> devices)
    : Provider(MakeRegistration(kCounterset)),
      devices_(std::move(devices)),
      // A new disk's clock starts at the current time, not at zero.
      totals_(DiskTotalKinds(), NewInstance::kWasCounting),
      utf16_total_name_(perflib::Utf16FromUtf8(perflib::kAggregateInstance)) {}

absl::Status PhysicalDisk::Sample(ColumnSet, const Clocks& clocks,
                                  CountersetSample* sample) {
  devices_->Update(clocks, sample);
  totals_.Begin();
  for (BlockDevice* const disk : devices_->all()) {
    if (!disk->is_disk || !selection().Contains(disk->name)) continue;
    sample->AddInstance(devices_->Utf16Name(*disk), disk->id);
    BlockDevices::CountsOf(*disk)->SetValues(clocks, sample);
    const size_t row = sample->rows() - 1;
    totals_.Add(disk->life, sample->Row(row), sample->Present(row));
  }
  sample->AddInstance(utf16_total_name_, 0);
  totals_.Finish(sample);
  return absl::OkStatus();
}

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
        "arrays (`md0`), `loop0`, `zram0`, paths of NVMe multipath "
        "(`nvme0c0n1`). No `_Total`, because a request "
        "counts in each layer",
    .counters = kDiskCounters};

LinuxBlockDevice::LinuxBlockDevice(std::shared_ptr<BlockDevices> devices)
    : Provider(MakeRegistration(kCounterset)), devices_(std::move(devices)) {}

absl::Status LinuxBlockDevice::Sample(ColumnSet, const Clocks& clocks,
                                      CountersetSample* sample) {
  devices_->Update(clocks, sample);
  for (BlockDevice* const device : devices_->all()) {
    if (device->is_disk || !device->counts.HasTransfers()) continue;
    const std::string& utf16_name = devices_->Utf16Name(*device);
    if (!selection().ContainsAll() &&
        !selection().Contains(perflib::Utf8FromUtf16(utf16_name))) {
      continue;
    }
    sample->AddInstance(utf16_name, device->id);
    device->counts.SetValues(clocks, sample);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
