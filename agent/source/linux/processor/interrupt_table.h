// The tables /proc/interrupts and /proc/softirqs: a row per kind of event, a
// column per CPU.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INTERRUPT_TABLE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INTERRUPT_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::agent {

// Returns the number after "cpu" or "CPU" at the front. std::nullopt for the
// line of all CPUs and for other words.
std::optional<uint32_t> CpuNumber(absl::string_view word);

// The memory of a table's reader, reused from reading to reading.
struct InterruptTableMemory {
  std::vector<uint32_t> cpus;
  std::vector<uint64_t> counts;
};

// A row "label: n n n description", with one count per CPU.
struct InterruptRow {
  absl::string_view label;
  absl::Span<const uint32_t> cpus;
  absl::Span<const uint64_t> counts;  // in the order of `cpus`
  absl::string_view description;      // of a device: chip, pin and names
};

// Calls `use` for each row of a table whose header names the CPUs. Skips rows
// that count for the whole machine. Returns false, after the other rows, if a
// row has a count without a value (IsNoValue): sums would lack it.
bool ForEachInterruptRow(absl::string_view text, InterruptTableMemory* memory,
                         absl::FunctionRef<void(const InterruptRow& row)> use);

// The sum of several numbers of a table. The kernel prints each of them with 32
// bits and may remove rows. total() never decreases.
class EventCount {
 public:
  // Counts the growth since the last call. The first sum counts in full.
  void Update(uint64_t sum);
  // Same, if other numbers than the last time were added up: nothing is known
  // about the growth.
  void UpdateWithoutGrowth(uint64_t sum);
  uint64_t total() const { return total_; }
  // Whether it was updated.
  bool was_read() const { return was_read_; }

 private:
  bool was_read_ = false;
  uint64_t last_sum_ = 0;
  uint64_t total_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_INTERRUPT_TABLE_H_
