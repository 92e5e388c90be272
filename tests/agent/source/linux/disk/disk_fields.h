// The fields that make up the counters of disks, as the kernel's iostats.rst
// says.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_DISK_DISK_FIELDS_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_DISK_DISK_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fleetperf::testing {

// A counter that is a sum of fields that only grow.
struct DiskSum {
  const char* counter;         // the name, or "id:N" without one
  std::vector<size_t> fields;  // of /proc/diskstats; 1 is after the name
  uint64_t unit;               // of a field in units of the counter
};

// All but % Idle Time and Current Disk Queue Length.
inline std::vector<DiskSum> DiskSums() {
  constexpr uint64_t kSector = 512;
  constexpr uint64_t kMillisecond = 10'000;
  return {
      {"Disk Reads/sec", {1}, 1},
      {"Disk Writes/sec", {5}, 1},
      {"Disk Transfers/sec", {1, 5}, 1},
      {"Disk Read Bytes/sec", {3}, kSector},
      {"Disk Write Bytes/sec", {7}, kSector},
      {"Disk Bytes/sec", {3, 7}, kSector},
      {"% Disk Read Time", {4}, kMillisecond},
      {"% Disk Write Time", {8}, kMillisecond},
      {"% Disk Time", {4, 8}, kMillisecond},
      {"Avg. Disk Queue Length", {11}, kMillisecond},
      {"Avg. Disk Read Queue Length", {4}, kMillisecond},
      {"Avg. Disk Write Queue Length", {8}, kMillisecond},
      {"Avg. Disk sec/Transfer", {4, 8}, kMillisecond},
      {"Avg. Disk sec/Read", {4}, kMillisecond},
      {"Avg. Disk sec/Write", {8}, kMillisecond},
      {"Avg. Disk Bytes/Transfer", {3, 7}, kSector},
      {"Avg. Disk Bytes/Read", {3}, kSector},
      {"Avg. Disk Bytes/Write", {7}, kSector},
      {"id:1101", {1, 5}, 1},  // what averages are divided by
      {"id:1102", {1}, 1},
      {"id:1103", {5}, 1},
      {"Disk Merges/sec", {2, 6}, 1},
      {"Disk Discards/sec", {12}, 1},
      {"Disk Discard Bytes/sec", {14}, kSector},
      {"Avg. Disk sec/Discard", {15}, kMillisecond},
      {"id:1104", {12}, 1},
      {"Disk Flushes/sec", {16}, 1},
      {"Avg. Disk sec/Flush", {17}, kMillisecond},
      {"id:1105", {16}, 1},
  };
}

// The field of a line's words. std::nullopt if the kernel does not have it.
inline std::optional<uint64_t> DiskField(const std::vector<std::string>& line,
                                         size_t field) {
  if (2 + field >= line.size()) return std::nullopt;
  return std::stoull(line[2 + field]);
}

inline std::optional<uint64_t> ValueOf(const DiskSum& sum,
                                       const std::vector<std::string>& line) {
  uint64_t value = 0;
  for (const size_t field : sum.fields) {
    const std::optional<uint64_t> number = DiskField(line, field);
    if (!number.has_value()) return std::nullopt;
    value += *number * sum.unit;
  }
  return value;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_DISK_DISK_FIELDS_H_
