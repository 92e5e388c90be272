// An open event of a SimulatedSystem.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_EVENT_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_EVENT_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "driver/perf_event/attributes.h"
#include "driver/perf_event/mmap_page.h"

namespace fleetperf::perf_event {

// What selects an event.
struct EventKey {
  uint32_t type;
  uint64_t config;
  uint64_t config1;
  uint64_t config2;
  uint64_t config3;

  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

inline EventKey KeyOf(const Attributes& attributes) {
  return {attributes.type, attributes.config, attributes.config1,
          attributes.config2, attributes.config3};
}

// Whether the event needs one of the CPU's hardware counters.
inline bool NeedsHardware(const EventKey& key) {
  return key.type == type::kHardware || key.type == type::kCache ||
         key.type == type::kRaw;
}

struct SimulatedEvent {
  Attributes attributes;
  EventKey key;
  int cpu;  // 0 for events of processes
  uint64_t id;
  SimulatedEvent* leader;  // itself, if it leads
  bool is_enabled;
  bool is_detached = false;  // its CPU went offline
  bool is_running = false;   // in the last turn
  int hardware_counter = -1;
  uint64_t count = 0;
  uint64_t billionths = 0;  // of a count
  uint64_t time_enabled = 0;
  uint64_t time_running = 0;
  MmapPage* page = nullptr;

  void Run(uint64_t nanoseconds, uint64_t per_second);
  // Appends the values in the order of read(2).
  void AppendTo(std::vector<uint64_t>* words) const;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SIMULATION_SIMULATED_EVENT_H_
