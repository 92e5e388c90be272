#include "driver/hardware/counter_program.h"

#include <algorithm>
#include <utility>

#include "driver/events/events.h"

namespace fleetperf::hardware {
namespace {

using events::Counted;
using events::Event;
using Place = CountSource::Place;

struct Wanted {
  Counted counted;
  HardwareCount count;
};

// Events whose ratio is wanted are counted both or not at all.
constexpr Wanted kPairs[][2] = {
    {{Counted::kL3References, HardwareCount::kL3References},
     {Counted::kL3Misses, HardwareCount::kL3Misses}},
    {{Counted::kBranches, HardwareCount::kBranches},
     {Counted::kBranchMisses, HardwareCount::kBranchMisses}},
    {{Counted::kL2Hits, HardwareCount::kL2Hits},
     {Counted::kL2Misses, HardwareCount::kL2Misses}},
    {{Counted::kLoads, HardwareCount::kL1Loads},
     {Counted::kL1Misses, HardwareCount::kL1Misses}},
};

constexpr Wanted kInstructions = {Counted::kInstructions,
                                  HardwareCount::kInstructions};
constexpr Wanted kCycles = {Counted::kCycles, HardwareCount::kCycles};

constexpr uint64_t kSystemAndUser = 0x3;

class Chooser {
 public:
  Chooser(const pmu::Description& machine, const pmu::CpuDescription& cpu)
      : cpu_(cpu),
        events_(events::EventsOf({.vendor = machine.vendor,
                                  .family = machine.family,
                                  .model = machine.model,
                                  .stepping = machine.stepping,
                                  .core_type = cpu.core_type},
                                 cpu.absent_events)) {
    program_.core.core_type = cpu.core_type;
  }

  CounterProgram Choose() && {
    if (!TakeFixed(0, kInstructions, "INST_RETIRED.ANY")) {
      TakeGeneral(kInstructions);
    }
    if (!TakeFixed(1, kCycles, "CPU_CLK_UNHALTED.THREAD")) {
      TakeGeneral(kCycles);
    }
    if (!TakeFixed(2,
                   {Counted::kReferenceCycles, HardwareCount::kReferenceCycles},
                   "CPU_CLK_UNHALTED.REF_TSC")) {
      TakeMaximumPerformance();
    }
    for (const auto& pair : kPairs) {
      const bool has_both =
          Find(pair[0].counted) != nullptr && Find(pair[1].counted) != nullptr;
      if (!has_both || next_ + 2 > cpu_.num_general) continue;
      TakeGeneral(pair[0]);
      TakeGeneral(pair[1]);
    }
    return std::move(program_);
  }

 private:
  const Event* Find(Counted counted) const {
    const auto found =
        std::find_if(events_.begin(), events_.end(),
                     [&](const Event& e) { return e.counted == counted; });
    return found == events_.end() ? nullptr : &*found;
  }

  bool TakeFixed(uint32_t counter, const Wanted& wanted, const char* event) {
    if ((cpu_.fixed_counters >> counter & 1) == 0) return false;
    program_.core.fixed_control |= kSystemAndUser << (4 * counter);
    program_.sources.push_back({.count = wanted.count,
                                .place = Place::kFixed,
                                .counter = counter,
                                .event = event});
    return true;
  }

  void TakeGeneral(const Wanted& wanted) {
    const Event* const event = Find(wanted.counted);
    if (event == nullptr || next_ >= cpu_.num_general) return;
    program_.core.general[next_] = events::Selection(*event);
    program_.sources.push_back({.count = wanted.count,
                                .place = Place::kGeneral,
                                .counter = next_,
                                .event = event->name});
    ++next_;
  }

  void TakeMaximumPerformance() {
    if ((cpu_.capabilities & pmu::kHasActualPerformance) == 0) return;
    program_.sources.push_back({.count = HardwareCount::kReferenceCycles,
                                .place = Place::kMaximumPerformance,
                                .event = "MPERF"});
  }

  const pmu::CpuDescription& cpu_;
  const std::vector<Event> events_;
  CounterProgram program_;
  uint32_t next_ = 0;  // the next free general counter
};

}  // namespace

uint64_t CountSource::ValueIn(const pmu::CpuCounts& counts) const {
  switch (place) {
    case Place::kGeneral:
      return counts.general[counter];
    case Place::kFixed:
      return counts.fixed[counter];
    case Place::kMaximumPerformance:
      return counts.maximum_performance;
  }
  return 0;
}

CounterProgram ChooseProgram(const pmu::Description& machine,
                             const pmu::CpuDescription& cpu) {
  return Chooser(machine, cpu).Choose();
}

}  // namespace fleetperf::hardware
