#include "driver/pmc/pcm_table.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/pmc/table.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReading;
using Json = nlohmann::ordered_json;

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr double kMicro = 1e-6;
constexpr double kKib = 1024;

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

std::optional<double> Gauge(const std::optional<uint64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

template <typename Choose>
void Combine(const std::optional<uint64_t>& one, std::optional<uint64_t>* all,
             Choose choose) {
  if (one) *all = *all ? choose(*one, **all) : *one;
}

struct NamedRow {
  std::string name;
  std::string socket;  // of a CPU, if it is known
  Json json;           // the name
  PcmRow row;
};

struct PcmRows {
  double seconds = 0;
  bool has_sockets = false;
  std::vector<NamedRow> rows;
};

PcmRows RowsOf(const Readings& before, const Readings& after,
               uint64_t timestamp_hertz) {
  PcmRows all;
  HardwareReading total;
  std::map<int, HardwareReading> sockets;
  for (const auto& [cpu, reading] : after) {
    const auto earlier = before.find(cpu);
    if (earlier == before.end()) continue;
    const HardwareReading growth = GrowthOf(earlier->second, reading);
    if (all.rows.empty()) all.seconds = absl::ToDoubleSeconds(growth.time);
    const std::string name = absl::StrCat(cpu);
    all.rows.push_back(
        {.name = name,
         .socket = reading.package ? absl::StrCat(*reading.package) : "",
         .json = {{"cpu", name}},
         .row = MakePcmRow(growth, timestamp_hertz)});
    if (reading.package) AddToTotal(growth, &sockets[*reading.package]);
    AddToTotal(growth, &total);
  }
  all.has_sockets = !sockets.empty();
  for (const auto& [number, socket] : sockets) {
    all.rows.push_back({.name = absl::StrCat("SKT", number),
                        .socket = "",
                        .json = {{"socket", number}},
                        .row = MakePcmRow(socket, timestamp_hertz)});
  }
  all.rows.push_back({.name = "TOTAL",
                      .socket = "",
                      .json = {{"cpu", "all"}},
                      .row = MakePcmRow(total, timestamp_hertz)});
  return all;
}

std::string PcmCell(const PcmColumn& column, const PcmRow& row) {
  const std::optional<double>& value = row.*column.value;
  return column.digits < 0 ? FormatCount(value)
                           : FormatNumber(value, column.digits);
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
  if (before.chosen.size() != after.chosen.size()) growth.chosen.clear();
  for (size_t i = 0; i < growth.chosen.size(); ++i) {
    growth.chosen[i] -= std::min(before.chosen[i], after.chosen[i]);
  }
  return growth;
}

void AddToTotal(const HardwareReading& growth, HardwareReading* total) {
  for (size_t i = 0; i < growth.counts.size(); ++i) {
    if (growth.counts[i]) {
      total->counts[i] = total->counts[i].value_or(0) + *growth.counts[i];
    }
  }
  if (total->chosen.empty()) total->chosen.resize(growth.chosen.size());
  for (size_t i = 0; i < growth.chosen.size(); ++i) {
    total->chosen[i] += growth.chosen[i];
  }
  Combine(growth.temperature, &total->temperature,
          [](uint64_t a, uint64_t b) { return std::max(a, b); });
  Combine(growth.temperature_headroom, &total->temperature_headroom,
          [](uint64_t a, uint64_t b) { return std::min(a, b); });
  Combine(growth.l3_occupancy_bytes, &total->l3_occupancy_bytes,
          [](uint64_t a, uint64_t b) { return a + b; });
  Combine(growth.uncore_hertz, &total->uncore_hertz,
          [](uint64_t a, uint64_t b) { return std::max(a, b); });
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
  row.active_frequency_ratio = Ratio(cycles, reference);
  row.average_frequency_ratio = Ratio(cycles, timestamp);
  if (timestamp_hertz != 0) {
    row.active_frequency = Times(row.active_frequency_ratio,
                                 static_cast<double>(timestamp_hertz) / kGiga);
  }
  row.l3_misses = l3_misses;
  row.l2_misses = l2_misses;
  row.l3_hit = HitRatio(L3Hits(growth), l3_misses);
  row.l2_hit = HitRatio(Value(growth, kL2Hits), l2_misses);
  row.l3_mpi = Ratio(l3_misses, Value(growth, kL3Instructions));
  row.l2_mpi = Ratio(l2_misses, instructions);
  row.l3_occupancy = Times(Gauge(growth.l3_occupancy_bytes), 1 / kKib);
  row.local_memory = Times(Value(growth, kLocalMemoryBytes), 1 / kMega);
  row.remote_memory = Times(Value(growth, kRemoteMemoryBytes), 1 / kMega);
  row.memory_reads = Times(Value(growth, kMemoryReadBytes), 1 / kGiga);
  row.memory_writes = Times(Value(growth, kMemoryWriteBytes), 1 / kGiga);
  row.headroom = Gauge(growth.temperature_headroom);
  row.temperature = Gauge(growth.temperature);
  row.cpu_joules = Times(Value(growth, kPackageMicrojoules), kMicro);
  row.memory_joules = Times(Value(growth, kMemoryMicrojoules), kMicro);
  row.uncore_frequency = Times(Gauge(growth.uncore_hertz), 1 / kGiga);
  return row;
}

const std::vector<PcmColumn>& PcmColumns() {
  static const auto* const kColumns = new std::vector<PcmColumn>{
      {"UTIL", "utilization", "share of time in which the CPU was not halted",
       &PcmRow::utilization, 2},
      {"IPC", "ipc", "instructions per cycle", &PcmRow::ipc, 2},
      {"EXEC", "exec", "instructions per cycle of the timestamp counter",
       &PcmRow::exec, 2},
      {"FREQ", "average_frequency_ratio",
       "cycles per cycle of the timestamp counter",
       &PcmRow::average_frequency_ratio, 2},
      {"AFREQ", "active_frequency_ratio",
       "the same while the CPU was not halted", &PcmRow::active_frequency_ratio,
       2},
      {"CFREQ", "active_frequency", "GHz while the CPU was not halted",
       &PcmRow::active_frequency, 2},
      {"L3MISS", "l3_misses", "misses of the last-level cache",
       &PcmRow::l3_misses, -1},
      {"L2MISS", "l2_misses", "loads that missed the second-level cache",
       &PcmRow::l2_misses, -1},
      {"L3HIT", "l3_hit", "share of hits", &PcmRow::l3_hit, 2},
      {"L2HIT", "l2_hit", "share of hits", &PcmRow::l2_hit, 2},
      {"L3MPI", "l3_mpi", "misses per instruction", &PcmRow::l3_mpi, 4},
      {"L2MPI", "l2_mpi", "misses per instruction", &PcmRow::l2_mpi, 4},
      {"L3OCC", "l3_occupancy_kilobytes",
       "occupancy of the last-level cache in units of 1024 bytes",
       &PcmRow::l3_occupancy, 0},
      {"LMB", "local_memory_megabytes",
       "10^6 bytes of local memory through the last-level cache",
       &PcmRow::local_memory, 0},
      {"RMB", "remote_memory_megabytes", "likewise, of other sockets' memory",
       &PcmRow::remote_memory, 0},
      {"READ", "memory_read_gigabytes",
       "10^9 bytes that the memory controllers read", &PcmRow::memory_reads, 2},
      {"WRITE", "memory_write_gigabytes",
       "10^9 bytes that the memory controllers wrote", &PcmRow::memory_writes,
       2},
      {"TEMP", "headroom", "degrees Celsius below throttling",
       &PcmRow::headroom, 0},
      {"CPU J", "cpu_joules", "energy of the package, at its first CPU",
       &PcmRow::cpu_joules, 2},
      {"DIMM J", "memory_joules", "energy of the memory, at the first CPU",
       &PcmRow::memory_joules, 2},
      {"UncFREQ", "uncore_frequency", "GHz of the uncore, at the first CPU",
       &PcmRow::uncore_frequency, 2},
  };
  return *kColumns;
}

std::string PcmTable(const Readings& before, const Readings& after,
                     uint64_t timestamp_hertz) {
  const PcmRows all = RowsOf(before, after, timestamp_hertz);
  std::vector<std::vector<std::string>> cells = {{"CPU"}};
  if (all.has_sockets) cells[0].push_back("SKT");
  for (const NamedRow& named : all.rows) {
    cells.push_back({named.name});
    if (all.has_sockets) cells.back().push_back(named.socket);
  }
  for (const PcmColumn& column : PcmColumns()) {
    if (!(all.rows.back().row.*column.value)) continue;
    cells[0].push_back(column.title);
    for (size_t i = 0; i < all.rows.size(); ++i) {
      cells[i + 1].push_back(PcmCell(column, all.rows[i].row));
    }
  }
  return AlignedTable(cells);
}

std::string PcmJson(const Readings& before, const Readings& after,
                    uint64_t timestamp_hertz) {
  const PcmRows all = RowsOf(before, after, timestamp_hertz);
  std::string lines;
  for (const NamedRow& named : all.rows) {
    Json object = named.json;
    object["seconds"] = all.seconds;
    for (const PcmColumn& column : PcmColumns()) {
      const std::optional<double>& value = named.row.*column.value;
      if (value) object[column.json] = *value;
    }
    absl::StrAppend(&lines, object.dump(), "\n");
  }
  return lines;
}

}  // namespace fleetperf::pmc
