#include "tests/bench/web_fleet.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"

namespace fleetperf::bench {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);
constexpr uint64_t kTicksOfSecond = 10'000'000;  // of 100 ns
constexpr size_t kProcessors = 4;

// Returns the busy time in 100 ns, less than a second, before a tick.
uint64_t BusyBefore(size_t machine, size_t tick) {
  return (machine * 7919 + tick * 104'729) % 9973 * 1000;
}

// Never at a whole second, where windows end.
absl::Duration PhaseOf(size_t machine) {
  return absl::Milliseconds(1 + machine * 37 % 998);
}

const std::vector<WorkloadCounterset>& Countersets() {
  static const auto& countersets = *new std::vector<WorkloadCounterset>{
      {.name = "Processor Information",
       .type = perflib::kPerf100NsecTimerInv,
       .counters = {"% Processor Time"},
       .instances = {"_Total", "0,0", "0,1", "0,2", "0,3"}},
      {.name = "Memory",
       .type = perflib::kPerfCounterLargeRawcount,
       .counters = {"Available Bytes", "Committed Bytes", "Cache Bytes",
                    "Pool Nonpaged Bytes"},
       .instances = {""}},
      {.name = "System",
       .type = perflib::kPerfCounterBulkCount,
       .counters = {"Context Switches/sec", "System Calls/sec"},
       .instances = {""}}};
  return countersets;
}

class WebMachine : public MachineWorkload {
 public:
  WebMachine(size_t number, absl::Time start)
      : number_(number),
        name_(absl::StrCat("host-", number)),
        first_(start + PhaseOf(number)) {
    tick_.values.assign(WebFleet::kCounters, 0);
  }

  const std::string& name() const override { return name_; }
  const std::vector<WorkloadCounterset>& countersets() const override {
    return Countersets();
  }
  absl::Duration interval() const override { return kInterval; }

  const WorkloadTick& Tick() override {
    const uint64_t busy = BusyBefore(number_, ticks_);
    // The idle times of all processors, and their average.
    for (size_t i = 0; i <= kProcessors; ++i) {
      *tick_.values[i] += kTicksOfSecond - busy;
    }
    for (size_t i = kProcessors + 1; i < WebFleet::kCounters; ++i) {
      *tick_.values[i] += busy / 1000 * i;
    }
    tick_.time = first_ + static_cast<int64_t>(ticks_++) * kInterval;
    return tick_;
  }

 private:
  const size_t number_;
  const std::string name_;
  const absl::Time first_;
  size_t ticks_ = 0;
  WorkloadTick tick_;
};

}  // namespace

Workload WebFleet::Make(size_t machines, absl::Time start) {
  start_ = absl::FromUnixSeconds(absl::ToUnixSeconds(start));
  return {.name = absl::StrCat(machines, " machines"),
          .machines = machines,
          .start = start_,
          .interval = kInterval,
          .make_machine = [start = start_](size_t i) {
            return std::make_unique<WebMachine>(i, start);
          }};
}

std::optional<double> WebFleet::ProcessorTime(size_t machine,
                                              absl::Time end) const {
  const absl::Time first = start_ + PhaseOf(machine);
  // The tick before the window, and its last one.
  const int64_t before =
      absl::ToInt64Seconds(absl::Floor(end - kWindow - first, kInterval));
  const int64_t last =
      absl::ToInt64Seconds(absl::Floor(end - first, kInterval));
  if (before < 0) return std::nullopt;
  uint64_t busy = 0;
  for (int64_t tick = before + 1; tick <= last; ++tick) {
    busy += BusyBefore(machine, static_cast<size_t>(tick));
  }
  return 100 * static_cast<double>(busy) / static_cast<double>(kTicksOfSecond) /
         static_cast<double>(last - before);
}

}  // namespace fleetperf::bench
