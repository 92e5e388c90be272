// The columns of Intel PCM, from the growth of a CPU's counts.

#ifndef FLEETPERF_DRIVER_PMC_PCM_ROW_H_
#define FLEETPERF_DRIVER_PMC_PCM_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/hardware/hardware_counts.h"

namespace fleetperf::pmc {

// Returns the counts of `after` minus those of `before`, an earlier reading of
// the same CPU, where both have them. Temperatures are those of `after`.
hardware::HardwareReading GrowthOf(const hardware::HardwareReading& before,
                                   const hardware::HardwareReading& after);

// Adds counts to a total. The total has the lowest headroom and the highest
// temperature.
void AddToTotal(const hardware::HardwareReading& growth,
                hardware::HardwareReading* total);

// The formulas are PCM's (cpucounters.h). Absent values are those whose counts
// are absent, or whose divisor is 0.
struct PcmRow {
  std::optional<double> utilization;  // reference cycles / timestamp cycles
  std::optional<double> ipc;          // instructions / cycles
  std::optional<double> exec;         // instructions / timestamp cycles
  // GHz: nominal · cycles / reference cycles, and / timestamp cycles.
  std::optional<double> active_frequency;
  std::optional<double> average_frequency;
  std::optional<double> l3_misses;
  std::optional<double> l2_misses;
  std::optional<double> l3_hit;  // hits / (hits + misses)
  std::optional<double> l2_hit;
  std::optional<double> l3_mpi;  // misses / instructions
  std::optional<double> l2_mpi;
  std::optional<double> headroom;     // degrees Celsius to throttling
  std::optional<double> temperature;  // degrees Celsius
  std::optional<double> cpu_joules;
  std::optional<double> memory_joules;
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

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_PCM_ROW_H_
