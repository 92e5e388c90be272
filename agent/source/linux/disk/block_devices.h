// The block devices of /proc/diskstats, as PhysicalDisk, LogicalDisk and
// Linux Block Device show them.
//
// Each byte of I/O belongs to one disk. A request to a layer is counted again
// in the devices below: partitions, device mapper, MD and loop devices are
// therefore no disks. A namespace of the kernel's NVMe multipath is one disk:
// depending on the kernel, requests are counted at its head (nvme0n1), at its
// hidden paths (nvme0c0n1, nvme0c1n1), or at both.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/time_bound.h"
#include "agent/source/provider.h"
#include "base/logging.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

struct BlockDevice {
  std::string name;  // the kernel's
  // The device number, or IdOfName if the kernel gives it none. Unique.
  uint32_t id = 0;
  bool is_disk = false;  // an instance of PhysicalDisk
  // Differs from that of the devices that had the id before.
  uint64_t life = 0;
  DiskCounts counts;  // of its line

 private:
  friend class BlockDevices;

  std::string utf16_name;  // "": see BlockDevices::Utf16Name
  // Of the head of an NVMe namespace, and its counts wherever they are counted.
  std::vector<BlockDevice*> paths;
  std::vector<BlockDevice*> partitions;
  std::optional<DiskCounts> of_namespace;
  BlockDevice* partition_of = nullptr;  // such a head
  uint64_t pass = 0;                    // the last one that saw it
};

// Shared by the countersets. Thread-compatible.
class BlockDevices {
 public:
  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit BlockDevices(const std::string& root);

  // Reads the devices and their counts, unless they are of `clocks`, those of
  // the tick. A line with the device number of an earlier line is left out,
  // with a warning. If the file cannot be read, which `sample` notes, there are
  // none.
  void Update(const perflib::Clocks& clocks, CountersetSample* sample);

  // In the file's order. Valid until the next Update.
  const std::vector<BlockDevice*>& all() const { return all_; }
  // `device` is a DeviceNumber. Returns null if there is none.
  BlockDevice* Find(uint32_t device);

  // Returns the name that lsblk shows: of a device of the device mapper, that
  // of its map.
  const std::string& Utf16Name(BlockDevice& device);

  // Returns the counts of the requests to the device, wherever the kernel
  // counts them: for the head of an NVMe namespace with several paths, maybe at
  // the paths; for its partition, only there. Returns null if they are not
  // counted apart from those of other partitions.
  static const DiskCounts* CountsOf(const BlockDevice& device);

 private:
  BlockDevice* Add(uint32_t number, absl::string_view name);
  // Connects the paths and partitions of NVMe namespaces with their heads.
  void Link();
  static void CountNamespace(const perflib::Clocks& clocks, BlockDevice* head);

  const std::string root_;
  ProcFile file_;
  std::string buffer_;
  perflib::Clocks read_at_;
  TimeBound bound_;
  uint64_t pass_ = 0;
  uint64_t lives_ = 0;
  absl::flat_hash_map<uint32_t, std::unique_ptr<BlockDevice>> by_id_;
  std::vector<BlockDevice*> all_;
  bool must_link_ = false;  // the devices have changed
  LogOncePerCause log_;
};

// Returns an id for an instance without a device number. Its range has no
// device numbers: the kernel's major numbers have nine bits.
uint32_t IdOfName(absl::string_view name);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_BLOCK_DEVICES_H_
