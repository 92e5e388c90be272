// The lines of /proc/diskstats, and the values that PhysicalDisk, LogicalDisk
// and Linux Block Device take from them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/source/linux/disk_columns.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Percentages of several disks are averaged, all other values added.
std::vector<TotalKind> DiskTotalKinds();

// The instance id of a block device.
constexpr uint32_t DeviceNumber(uint64_t major, uint64_t minor) {
  return static_cast<uint32_t>(major << 20 | minor);
}
// Parses "8:1".
std::optional<uint32_t> ParseDeviceNumber(absl::string_view text);

constexpr uint32_t MajorNumber(uint32_t device) { return device >> 20; }
constexpr uint32_t MinorNumber(uint32_t device) { return device & 0xFFFFF; }

// Whether the device is memory, a file, or a layer over other devices, whose
// requests count there once more.
bool IsLayeredDevice(absl::string_view name);

struct DiskLine {
  uint32_t device = 0;  // DeviceNumber
  absl::string_view name;
  absl::string_view fields;
};

// Reads the next line of /proc/diskstats. Returns false at the end.
bool NextDisk(absl::string_view* text, DiskLine* line);

// The counts of one device.
class DiskCounts {
 public:
  // Takes over the fields of the device's line. Counts that fell belong to
  // another device with the same number. Returns whether the device is new.
  bool Update(absl::string_view fields, const perflib::Clocks& clocks);

  // Sets the columns in the last row.
  void SetValues(const perflib::Clocks& clocks, CountersetSample* sample) const;

  bool HasTransfers() const {
    return fields_[kReads] != 0 || fields_[kWrites] != 0;
  }

 private:
  // The fields of a line after the name, in its order.
  enum Field {
    kReads,
    kReadsMerged,
    kSectorsRead,
    kMillisecondsReading,
    kWrites,
    kWritesMerged,
    kSectorsWritten,
    kMillisecondsWriting,
    kInFlight,
    kMillisecondsBusy,
    kMillisecondsWeighted,
    kDiscards,
    kDiscardsMerged,
    kSectorsDiscarded,
    kMillisecondsDiscarding,
    kFlushes,
    kMillisecondsFlushing,
    kNumFields
  };
  using Fields = std::array<uint64_t, kNumFields>;

  static bool IsMilliseconds(size_t field);

  bool was_read_ = false;
  size_t known_fields_ = 0;
  Fields fields_ = {};
  uint64_t idle_time_ = 0;  // 100 ns
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_COUNTERS_H_
