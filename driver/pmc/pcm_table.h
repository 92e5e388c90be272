// The table of `top`, with the columns of Intel PCM: a row for each CPU and
// socket, and one for all.

#ifndef FLEETPERF_DRIVER_PMC_PCM_TABLE_H_
#define FLEETPERF_DRIVER_PMC_PCM_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/hardware/hardware_counts.h"

namespace fleetperf::pmc {

// Returns the counts of `after` minus those of `before`, an earlier reading of
// the same CPU, where both have them. Temperatures are those of `after`.
hardware::HardwareReading GrowthOf(const hardware::HardwareReading& before,
                                   const hardware::HardwareReading& after);

// Adds counts to a total. The total has the lowest headroom, the highest
// temperature and uncore frequency, and the sum of the occupancies.
void AddToTotal(const hardware::HardwareReading& growth,
                hardware::HardwareReading* total);

// The formulas are PCM's (cpucounters.h). Absent values are those whose counts
// are absent, or whose divisor is 0.
struct PcmRow {
  std::optional<double> utilization;  // reference cycles / timestamp cycles
  std::optional<double> ipc;          // instructions / cycles
  std::optional<double> exec;         // instructions / timestamp cycles
  // The frequency while active, in GHz: nominal · cycles / reference cycles.
  std::optional<double> active_frequency;
  // Ratios to the nominal frequency: cycles / reference cycles, while active,
  // and cycles / timestamp cycles.
  std::optional<double> active_frequency_ratio;
  std::optional<double> average_frequency_ratio;
  std::optional<double> l3_misses;
  std::optional<double> l2_misses;
  std::optional<double> l3_hit;  // hits / (hits + misses)
  std::optional<double> l2_hit;
  std::optional<double> l3_mpi;  // misses / instructions behind the cache
  std::optional<double> l2_mpi;
  // Of the last-level cache: its occupancy in units of 1024 bytes, and the
  // traffic through it in 10^6 bytes.
  std::optional<double> l3_occupancy;
  std::optional<double> local_memory;
  std::optional<double> remote_memory;
  // Of the memory controllers, in 10^9 bytes.
  std::optional<double> memory_reads;
  std::optional<double> memory_writes;
  std::optional<double> headroom;     // degrees Celsius to throttling
  std::optional<double> temperature;  // degrees Celsius
  std::optional<double> cpu_joules;
  std::optional<double> memory_joules;
  std::optional<double> uncore_frequency;  // GHz
};
PcmRow MakePcmRow(const hardware::HardwareReading& growth,
                  uint64_t timestamp_hertz);

// A column: PCM's name, the name in JSON, its value and how it is printed.
struct PcmColumn {
  const char* title;
  const char* json;
  const char* meaning;
  std::optional<double> PcmRow::*value;
  int digits;  // behind the point; -1: FormatCount
};
const std::vector<PcmColumn>& PcmColumns();

using Readings = std::map<int, hardware::HardwareReading>;  // by CPU

// Both have the rows of the CPUs that are in both readings, of their sockets as
// far as they are known, and of all together.
//
// A table without the columns that no CPU has.
std::string PcmTable(const Readings& before, const Readings& after,
                     uint64_t timestamp_hertz);
// A JSON object a line, with "cpu" ("all" for the last) or "socket".
std::string PcmJson(const Readings& before, const Readings& after,
                    uint64_t timestamp_hertz);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_PCM_TABLE_H_
