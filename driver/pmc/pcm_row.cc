#include "driver/pmc/pcm_row.h"

#include <algorithm>
#include <cstddef>

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReading;

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

std::optional<double> Value(const HardwareReading& growth,
                            HardwareCount count) {
  const auto& value = growth[count];
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

std::optional<double> Ratio(std::optional<double> part,
                            std::optional<double> whole) {
  if (!part || !whole || *whole == 0) return std::nullopt;
  return *part / *whole;
}

std::optional<double> Times(std::optional<double> value, double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

std::optional<double> HitRatio(std::optional<double> hits,
                               std::optional<double> misses) {
  if (!hits || !misses) return std::nullopt;
  return Ratio(hits, *hits + *misses);
}

// The last-level cache counts references, not hits.
std::optional<double> L3Hits(const HardwareReading& growth) {
  const auto references = Value(growth, HardwareCount::kL3References);
  const auto misses = Value(growth, HardwareCount::kL3Misses);
  if (!references || !misses || *references < *misses) return std::nullopt;
  return *references - *misses;
}

std::optional<double> Degrees(const std::optional<uint64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

template <typename Choose>
void Combine(const std::optional<uint64_t>& one, std::optional<uint64_t>* all,
             Choose choose) {
  if (one) *all = *all ? choose(*one, **all) : *one;
}

}  // namespace

HardwareReading GrowthOf(const HardwareReading& before,
                         const HardwareReading& after) {
  HardwareReading growth = after;
  growth.time = after.time - before.time;
  for (size_t i = 0; i < growth.counts.size(); ++i) {
    if (!before.counts[i] || !after.counts[i]) {
      growth.counts[i].reset();
    } else {
      growth.counts[i] =
          *after.counts[i] - std::min(*before.counts[i], *after.counts[i]);
    }
  }
  return growth;
}

void AddToTotal(const HardwareReading& growth, HardwareReading* total) {
  for (size_t i = 0; i < growth.counts.size(); ++i) {
    if (growth.counts[i]) {
      total->counts[i] = total->counts[i].value_or(0) + *growth.counts[i];
    }
  }
  Combine(growth.temperature, &total->temperature,
          [](uint64_t a, uint64_t b) { return std::max(a, b); });
  Combine(growth.temperature_headroom, &total->temperature_headroom,
          [](uint64_t a, uint64_t b) { return std::min(a, b); });
}

PcmRow MakePcmRow(const HardwareReading& growth, uint64_t timestamp_hertz) {
  using enum HardwareCount;
  const auto instructions = Value(growth, kInstructions);
  const auto cycles = Value(growth, kCycles);
  const auto reference = Value(growth, kReferenceCycles);
  const auto timestamp = Value(growth, kTimestamp);
  const auto l3_misses = Value(growth, kL3Misses);
  const auto l2_misses = Value(growth, kL2Misses);
  PcmRow row;
  row.utilization = Ratio(reference, timestamp);
  row.ipc = Ratio(instructions, cycles);
  row.exec = Ratio(instructions, timestamp);
  if (timestamp_hertz != 0) {
    const double nominal = static_cast<double>(timestamp_hertz) / kGiga;
    row.active_frequency = Times(Ratio(cycles, reference), nominal);
    row.average_frequency = Times(Ratio(cycles, timestamp), nominal);
  }
  row.l3_misses = l3_misses;
  row.l2_misses = l2_misses;
  row.l3_hit = HitRatio(L3Hits(growth), l3_misses);
  row.l2_hit = HitRatio(Value(growth, kL2Hits), l2_misses);
  row.l3_mpi = Ratio(l3_misses, instructions);
  row.l2_mpi = Ratio(l2_misses, instructions);
  row.headroom = Degrees(growth.temperature_headroom);
  row.temperature = Degrees(growth.temperature);
  row.cpu_joules = Times(Value(growth, kPackageMicrojoules), kMicro);
  row.memory_joules = Times(Value(growth, kMemoryMicrojoules), kMicro);
  return row;
}

const std::vector<PcmColumn>& PcmColumns() {
  static const auto* const kColumns = new std::vector<PcmColumn>{
      {"UTIL", "utilization", "share of time in which the CPU was not halted",
       &PcmRow::utilization, 2},
      {"IPC", "ipc", "instructions per cycle", &PcmRow::ipc, 2},
      {"EXEC", "exec", "instructions per cycle of the timestamp counter",
       &PcmRow::exec, 2},
      {"AFREQ", "active_frequency", "GHz while not halted",
       &PcmRow::active_frequency, 2},
      {"CFREQ", "average_frequency", "GHz, halted time included",
       &PcmRow::average_frequency, 2},
      {"L3MISS", "l3_misses", "misses of the last-level cache",
       &PcmRow::l3_misses, -1},
      {"L2MISS", "l2_misses", "loads that missed the second-level cache",
       &PcmRow::l2_misses, -1},
      {"L3HIT", "l3_hit", "share of hits", &PcmRow::l3_hit, 2},
      {"L2HIT", "l2_hit", "share of hits", &PcmRow::l2_hit, 2},
      {"L3MPI", "l3_mpi", "misses per instruction", &PcmRow::l3_mpi, 4},
      {"L2MPI", "l2_mpi", "misses per instruction", &PcmRow::l2_mpi, 4},
      {"TEMP", "headroom", "degrees Celsius below throttling",
       &PcmRow::headroom, 0},
      {"CPU J", "cpu_joules", "energy of the package, at its first CPU",
       &PcmRow::cpu_joules, 2},
      {"DIMM J", "memory_joules", "energy of the memory, at the first CPU",
       &PcmRow::memory_joules, 2},
  };
  return *kColumns;
}

}  // namespace fleetperf::pmc
