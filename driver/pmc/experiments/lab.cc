#include "driver/pmc/experiments/lab.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::pmc {
namespace {

constexpr uint64_t kTurnsBetweenClocks = 10'000;

std::optional<double> Difference(std::optional<uint64_t> before,
                                 std::optional<uint64_t> after) {
  if (!before || !after) return std::nullopt;
  return static_cast<double>(*after) - static_cast<double>(*before);
}

}  // namespace

std::optional<double> Growth::ipc() const {
  if (!instructions || !cycles || *cycles == 0) return std::nullopt;
  return *instructions / *cycles;
}

std::optional<double> Growth::l1_hits() const {
  if (!l1_loads || !l1_misses || *l1_loads < *l1_misses) return std::nullopt;
  return *l1_loads - *l1_misses;
}

Lab::Lab(const Machine& machine, bool quick, RdpmcAccess access)
    : machine_(machine),
      is_quick_(quick),
      cpu_(machine.processor->PinToCpu()),
      timestamp_hertz_(machine.timestamp_hertz()),
      counters_(machine.open_thread_counters(cpu_, access)) {}

absl::StatusOr<hardware::HardwareReader*> Lab::Reader() {
  if (counters_.ok() && (*counters_)->reader() != nullptr) {
    return (*counters_)->reader();
  }
  if (reader_ == nullptr) {
    ASSIGN_OR_RETURN(reader_, machine_.open_reader({}));
  }
  return reader_.get();
}

absl::StatusOr<Lab::Moment> Lab::Now() {
  Moment moment{.time = processor().Now(),
                .timestamp = processor().ReadTimestamp()};
  if (counters_.ok()) {
    ASSIGN_OR_RETURN(moment.counts, (*counters_)->Read());
  }
  return moment;
}

absl::StatusOr<Growth> Lab::Measure(const std::function<void()>& work) {
  ASSIGN_OR_RETURN(const Moment before, Now());
  work();
  ASSIGN_OR_RETURN(const Moment after, Now());
  Growth growth{.time = after.time - before.time};
  if (after.timestamp != 0) {
    growth.timestamp = Difference(before.timestamp, after.timestamp);
  }
  if (!before.counts) return growth;
  const ThreadCounts& first = *before.counts;
  const ThreadCounts& last = *after.counts;
  growth.instructions = Difference(first.instructions, last.instructions);
  growth.cycles = Difference(first.cycles, last.cycles);
  growth.reference_cycles =
      Difference(first.reference_cycles, last.reference_cycles);
  growth.l1_loads = Difference(first.l1_loads, last.l1_loads);
  growth.l1_misses = Difference(first.l1_misses, last.l1_misses);
  return growth;
}

void Lab::BeBusy() {
  const absl::Duration end = processor().Now() + period();
  while (processor().Now() < end) {
    processor().Run(kThreeALoop, kTurnsBetweenClocks);
  }
}

void Lab::NoteCounters(Report* report) const {
  report->notes.push_back(
      counters_.ok()
          ? absl::StrCat("counts: ", (*counters_)->origin())
          : absl::StrCat("not counted: ", counters_.status().message()));
}

}  // namespace fleetperf::pmc
