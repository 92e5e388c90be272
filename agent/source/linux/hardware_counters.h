// The counterset "Hardware Counters" from perf_event.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_HARDWARE_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_HARDWARE_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/hardware_table.h"
#include "agent/source/linux/core_temperatures.h"
#include "agent/source/linux/totals.h"
#include "agent/source/provider.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

// Whether the machine has a PMU that counts instructions. Otherwise, the reason
// and the next step.
absl::Status CheckHardwarePmu(perf_event::System& system);

// Instances are the CPUs and `_Total`. Events are open from the first sample
// on. Counts of a package (power, memory) are those of the first of its CPUs.
class HardwareCounters : public Provider {
 public:
  HardwareCounters(perf_event::System& system, size_t max_descriptors);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The meaning of an event's count, and the factor for one count.
  struct Counted {
    HardwareCount count;
    size_t group;  // among the PMUs that have the event
    double factor;
  };
  struct Events {
    std::vector<Counted> all;  // by number in CpuCounts
    std::vector<std::vector<perf_event::Event>> groups;
  };

  static Events FindEvents(perf_event::System& system);
  HardwareReading ReadingOf(int cpu) const;

  perf_event::System& system_;
  const Events events_;
  perf_event::CpuCounts counts_;
  CoreTemperatures temperatures_;
  std::map<int, HardwareColumns> columns_;  // by CPU
  uint64_t timestamp_ = 0;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_HARDWARE_COUNTERS_H_
