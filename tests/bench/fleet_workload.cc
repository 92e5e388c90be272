#include "tests/bench/fleet_workload.h"

#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"

namespace fleetperf::bench {
namespace {

constexpr size_t kCpuStates = 5;
constexpr double kCpuShares[kCpuStates] = {0, 0.15, 0.06, 0.005, 0.005};

}  // namespace

FleetWorkload::FleetWorkload(int series) {
  const auto part = [&](double share, size_t counters) {
    return static_cast<int>(std::lround(series * share)) /
           static_cast<int>(counters);
  };
  Add(Kind::kCpuTime, "Processor Information",
      {"Idle Time", "User Time", "Privileged Time", "Interrupt Time",
       "DPC Time"},
      part(0.15, kCpuStates));
  Add(Kind::kBytes, "Transfers",
      {"Read Bytes", "Write Bytes", "Bytes Received", "Bytes Sent",
       "Other Bytes"},
      part(0.10, 5));
  Add(Kind::kSeldom, "Faults", {"Page Faults"}, part(0.10, 1));
  Add(Kind::kFrequency, "Processor Performance", {"Processor Frequency"},
      part(0.025, 1));
  Add(Kind::kReal, "Queues", {"Average Queue Length"}, part(0.025, 1));
  Add(Kind::kGauge, "Process", {"Handle Count", "Thread Count"}, part(0.20, 2));
  Add(Kind::kConstant, "Inventory",
      {"Errors", "Discards", "Priority Base", "Process Id", "Limit", "Capacity",
       "Link Speed", "Failures"},
      part(0.40, 8));
}

uint32_t FleetWorkload::TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kCpuTime:
      return perflib::kPerf100NsecTimer;
    case Kind::kBytes:
    case Kind::kSeldom:
      return perflib::kPerfCounterBulkCount;
    case Kind::kConstant:
    case Kind::kGauge:
    case Kind::kFrequency:
    case Kind::kReal:
      break;
  }
  return perflib::kPerfCounterLargeRawcount;
}

void FleetWorkload::Add(Kind kind, const std::string& name,
                        const std::vector<std::string>& counters,
                        int instances) {
  if (instances == 0) return;
  WorkloadCounterset& counterset = countersets_.emplace_back();
  counterset.name = name;
  counterset.type = TypeOf(kind);
  counterset.is_real = kind == Kind::kReal;
  counterset.counters = counters;
  for (int i = 0; i < instances; ++i) {
    counterset.instances.push_back(absl::StrCat("0,", i));
    kinds_.insert(kinds_.end(), counters.size(), kind);
  }
}

Workload FleetWorkload::MakeWorkload(size_t machines, size_t ticks,
                                     absl::Time start,
                                     absl::Duration interval) const {
  return {.name = absl::StrCat(machines, " machines with ", series(),
                               " series, ", ticks, " ticks"),
          .machines = machines,
          .ticks = ticks,
          .start = start,
          .interval = interval,
          .make_machine = [this, start, interval](size_t i) {
            const auto phase = absl::Milliseconds(1 + i * 37 % 998);
            return std::make_unique<FleetMachine>(
                *this, absl::StrCat("host-", i), /*seed=*/1 + i, start + phase,
                interval);
          }};
}

FleetMachine::FleetMachine(const FleetWorkload& workload, std::string name,
                           uint64_t seed, absl::Time start,
                           absl::Duration interval)
    : workload_(workload),
      name_(std::move(name)),
      interval_(interval),
      random_(seed),
      next_(start) {
  for (const Kind kind : workload_.kinds_) {
    double level = 0;
    uint64_t value = 0;
    switch (kind) {
      case Kind::kConstant:
        value = Below(10) < 6 ? 0 : Below(uint64_t{1} << 32);
        break;
      case Kind::kGauge:
        value = 5 + Below(500);
        break;
      case Kind::kCpuTime:
        value = Below(20'000'000'000'000);
        break;
      case Kind::kBytes:
        value = Below(uint64_t{1} << 40);
        level = std::pow(10.0, 3.0 + static_cast<double>(Below(5))) *
                (1 + Uniform());
        break;
      case Kind::kSeldom:
        value = Below(100'000);
        break;
      case Kind::kFrequency:
      case Kind::kReal:
        break;
    }
    tick_.values.push_back(value);
    levels_.push_back(level);
  }
}

const WorkloadTick& FleetMachine::Tick() {
  for (size_t i = 0; i < tick_.values.size(); ++i) {
    uint64_t& value = *tick_.values[i];
    switch (workload_.kinds_[i]) {
      case Kind::kConstant:
        break;
      case Kind::kGauge:
        if (Below(50) == 0) {
          const uint64_t change = 1 + Below(3);
          value = Below(2) == 0 || value < 4 ? value + change : value - change;
        }
        break;
      case Kind::kCpuTime:
        if (i % kCpuStates == 0) TickCpu(i);
        break;
      case Kind::kBytes:
        value += static_cast<uint64_t>(levels_[i] * (0.5 + Uniform()));
        break;
      case Kind::kSeldom:
        if (Below(10) == 0) value += 1 + Below(50);
        break;
      case Kind::kFrequency:
        value = 2'085'000'000 + Below(30'000'001);
        break;
      case Kind::kReal:
        value = std::bit_cast<uint64_t>(-std::log(1 - Uniform()) * 0.7);
        break;
    }
  }
  tick_.time = next_ + absl::Microseconds(static_cast<int64_t>(Below(1000)));
  next_ += interval_;
  return tick_;
}

// Advances the states of one CPU. The first state is idle.
void FleetMachine::TickCpu(size_t first) {
  const uint64_t second = 9'990'000 + Below(20'001);
  uint64_t used = 0;
  for (size_t state = 1; state < kCpuStates; ++state) {
    const auto grown = static_cast<uint64_t>(static_cast<double>(second) *
                                             kCpuShares[state] * 2 * Uniform());
    *tick_.values[first + state] += grown;
    used += grown;
  }
  *tick_.values[first] += second - used;
}

}  // namespace fleetperf::bench
