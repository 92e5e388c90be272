#include "agent/source/linux/processor/processor_performance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/processor/processor_counters.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"

namespace fleetperf::agent {
namespace {

using perf_event::Event;
using perf_event::ScaledTotal;

enum Count : size_t { kAperf, kMperf, kTsc };
constexpr absl::string_view kEvents[] = {"msr/aperf/", "msr/mperf/",
                                         "msr/tsc/"};

// A percentage is 100 times a count over another one. In units of 1000 cycles,
// neither overflows.
constexpr uint64_t kPercentUnit = 10;
constexpr uint64_t kBaseUnit = 1000;

// Returns no groups if the machine lacks one of the events.
std::vector<std::vector<Event>> FindEvents(perf_event::System& system) {
  std::vector<Event> events;
  for (const absl::string_view name : kEvents) {
    auto event = perf_event::ParseEvent(name, system);
    if (!event.ok()) return {};
    events.push_back(*std::move(event));
  }
  return {std::move(events)};
}

}  // namespace

uint64_t PrivilegedCycles::Update(uint64_t cycles, uint64_t privileged,
                                  uint64_t busy) {
  const Last now = {.cycles = cycles, .privileged = privileged, .busy = busy};
  if (!last_.has_value() || cycles < last_->cycles ||
      privileged < last_->privileged || busy < last_->busy) {
    last_ = now;
  } else if (busy > last_->busy) {
    const Last last = *std::exchange(last_, now);
    const uint64_t busy_growth = busy - last.busy;
    const uint64_t privileged_growth =
        std::min(privileged - last.privileged, busy_growth);
    total_ += absl::Uint128Low64(absl::uint128(cycles - last.cycles) *
                                 privileged_growth / busy_growth);
  }
  return total_;
}

absl::Status CheckCycleRights(perf_event::System& system) {
  const auto groups = FindEvents(system);
  if (groups.empty()) return absl::OkStatus();
  return perf_event::Builder(groups.front().front(), system)
      .AnyProcess()
      .OneCpu(0)
      .Build()
      .status();
}

void ProcessorPerformance::Update() {
  if (!counts_.has_value()) {
    counts_.emplace(
        perf_event::CpuCounts::Options{.system = &system_,
                                       .groups = FindEvents(system_),
                                       .max_descriptors = max_descriptors_});
  }
  has_counts_ = counts_->Update().ok();
}

absl::Status ProcessorPerformance::missing() const {
  if (!counts_.has_value() || counts_->missing().empty()) {
    return absl::OkStatus();
  }
  return counts_->missing().begin()->second;
}

void ProcessorPerformance::SetValues(uint32_t cpu, uint64_t privileged_time,
                                     uint64_t busy_time,
                                     CountersetSample* sample) {
  if (!has_counts_) return;
  const auto find = [&](Count count) {
    return counts_->Find(static_cast<int>(cpu), count);
  };
  const ScaledTotal* const aperf = find(kAperf);
  const ScaledTotal* const mperf = find(kMperf);
  const ScaledTotal* const tsc = find(kTsc);
  if (aperf == nullptr || mperf == nullptr || tsc == nullptr) return;
  sample->Set(kPerformance, aperf->total() / kPercentUnit);
  sample->Set(kPerformanceBase, mperf->total() / kBaseUnit);
  sample->Set(kUtility, aperf->total() / kPercentUnit);
  const uint64_t privileged =
      privileged_[cpu].Update(aperf->total(), privileged_time, busy_time);
  sample->Set(kPrivilegedUtility, privileged / kPercentUnit);
  sample->Set(kUtilityBase, tsc->total() / kBaseUnit);
}

}  // namespace fleetperf::agent
