// Chooses what the counters of a type of core count.

#ifndef FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_
#define FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver/events/events.h"
#include "driver/hardware/hardware_counts.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::hardware {

// Where a count is in pmu::CpuCounts.
struct CountSource {
  enum class Place { kGeneral, kFixed, kMaximumPerformance };

  HardwareCount count;
  Place place;
  uint32_t counter = 0;  // general or fixed
  std::string event;     // the vendor's name

  uint64_t ValueIn(const pmu::CpuCounts& counts) const;
  bool operator==(const CountSource&) const = default;
};

struct CounterProgram {
  pmu::CoreProgram core;
  std::vector<CountSource> sources;
  // The general counter of each chosen event. Shorter than the list of chosen
  // events if the CPU has too few counters.
  std::vector<uint32_t> chosen;

  // The sources say what the counters of `core` count.
  bool operator==(const CounterProgram& other) const {
    return sources == other.sources && chosen == other.chosen;
  }
};

// What a program should count besides instructions and cycles.
struct Wishes {
  // Events that get general counters before all others.
  std::span<const events::EventCode> events = {};
  // Groups with one of these counts come before other groups.
  std::set<HardwareCount> counts = {};
};

// Every event has a counter for itself, so that nothing is scaled. The general
// counters take what CountGroups() lists, in this order, as far as there are
// any and the model has the events.
CounterProgram ChooseProgram(const pmu::Description& machine,
                             const pmu::CpuDescription& cpu,
                             const Wishes& wishes = {});

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_COUNTER_PROGRAM_H_
