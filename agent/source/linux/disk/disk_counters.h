// The counts of a line of /proc/diskstats, and the values that PhysicalDisk,
// LogicalDisk and Linux Block Device take from them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/disk/disk_columns.h"
#include "agent/source/linux/time_bound.h"
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

// The counts of one device. Thread-compatible.
class DiskCounts {
 public:
  // Takes over the fields of the device's line. Counts that fell, and a busy
  // time that grew by more than `bound` allows, are those of another device
  // with the same number: its life begins. Time with requests in flight may
  // also be added later. Returns whether a life began; the first one does.
  bool Update(absl::string_view fields, const perflib::Clocks& clocks,
              const TimeBound& bound);

  // Adds the growth of the parts since their last Update. The first call adds
  // all that they counted.
  void AddGrowth(absl::Span<const DiskCounts* const> parts,
                 const perflib::Clocks& clocks);

  // Sets the columns in the last row that the kernel counts.
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

  // What a line tells.
  struct Line {
    Fields fields = {};
    size_t known_fields = 0;  // the first ones
    std::optional<uint64_t> in_flight;
  };

  static Line Parse(absl::string_view text);
  static bool IsMilliseconds(size_t field);
  bool IsSameDevice(const Fields& now, const TimeBound& bound) const;
  void BeginIdleTime(const perflib::Clocks& clocks);
  void CountIdleTime(const perflib::Clocks& clocks, uint64_t max_ahead);
  // Also true if the kernel does not know the number of requests.
  bool MayBeBusy() const { return in_flight_.value_or(1) > 0; }

  bool has_begun_ = false;
  uint64_t life_start_ = 0;  // of kLifeStartCounter
  size_t known_fields_ = 0;
  Fields fields_ = {};  // milliseconds are extended to 64 bits
  Fields growth_ = {};  // in the last pass
  std::optional<uint64_t> in_flight_;
  int64_t counted_at_ = 0;   // PerfTimeStamp
  uint64_t idle_time_ = 0;   // 100 ns
  uint64_t busy_ahead_ = 0;  // 100 ns by which the busy time leads the clock
  // The time, in 100 ns, that the kernel may not have added to the busy time
  // yet: some kernels add that of a request when it ends.
  uint64_t busy_later_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_DISK_COUNTERS_H_
