#include "agent/source/linux/processor/interrupt_table.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

// Returns whether a row of /proc/interrupts counts for the whole machine. With
// one CPU, such rows look like those of a CPU.
bool IsMachineWide(absl::string_view label) {
  return label == "ERR" || label == "Err" || label == "MIS";
}

}  // namespace

std::optional<uint32_t> CpuNumber(absl::string_view word) {
  uint32_t number;
  if (!absl::ConsumePrefix(&word, "cpu") &&
      !absl::ConsumePrefix(&word, "CPU")) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

bool ForEachInterruptRow(absl::string_view text, InterruptTableMemory* memory,
                         absl::FunctionRef<void(const InterruptRow& row)> use) {
  auto& [cpus, counts] = *memory;
  cpus.clear();
  absl::string_view line;
  if (!NextLine(&text, &line)) return true;
  for (absl::string_view word = NextWord(&line); !word.empty();
       word = NextWord(&line)) {
    if (const auto number = CpuNumber(word)) cpus.push_back(*number);
  }
  bool has_values = true;
  while (NextLine(&text, &line)) {
    const absl::string_view label = absl::StripSuffix(NextWord(&line), ":");
    counts.clear();
    bool has_no_value = false;
    while (counts.size() < cpus.size()) {
      SkipSpaces(&line);
      if (line.empty() || !absl::ascii_isdigit(line.front())) break;
      const auto number = NextNumber(&line);
      has_no_value |= !number.has_value();
      counts.push_back(number.value_or(0));
    }
    if (counts.size() < cpus.size() || IsMachineWide(label)) continue;
    if (has_no_value) {
      has_values = false;
      continue;
    }
    SkipSpaces(&line);
    use({.label = label, .cpus = cpus, .counts = counts, .description = line});
  }
  return has_values;
}

// Sums of numbers modulo 2^32 have correct differences modulo 2^32. If the sum
// fell, a row disappeared, and counting continues from the new sum.
void EventCount::Update(uint64_t sum) {
  const auto growth = static_cast<uint32_t>(sum - last_sum_);
  if (!std::exchange(was_read_, true)) {
    total_ = sum;
  } else if (growth < kMinBackwardStep) {
    total_ += growth;
  }
  last_sum_ = sum;
}

void EventCount::UpdateWithoutGrowth(uint64_t sum) {
  if (was_read_) last_sum_ = sum;
  Update(sum);
}

}  // namespace fleetperf::agent
