// The counterset "PhysicalDisk": whole disks, from /proc/diskstats.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class PhysicalDisk : public Provider {
 public:
  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit PhysicalDisk(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The fields of a line of /proc/diskstats after the name, in its order.
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

  struct Disk {
    bool is_whole = false;
    std::string utf16_name;
    bool was_read = false;
    Fields fields = {};
    uint64_t idle_time = 0;  // 100 ns
  };

  Disk& GetDisk(uint32_t device, absl::string_view name);
  static void Update(const Fields& read, const perflib::Clocks& clocks,
                     Disk& disk);
  static void AddDisk(const Disk& disk, const perflib::Clocks& clocks,
                      CountersetSample* sample);

  const std::string root_;
  ProcFile diskstats_;
  std::string buffer_;
  absl::flat_hash_map<uint32_t, Disk> disks_;  // by device number
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PHYSICAL_DISK_H_
