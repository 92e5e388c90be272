#include "agent/collect/plan.h"

namespace fleetperf::agent {

// The countersets of the default plan on Linux, and Windows' own. Cheap
// counters are sampled every second; counters whose cost grows with the number
// of processes every ten seconds. Countersets missing in a version of Windows
// only cause a warning.
Plan DefaultPlan() {
  constexpr absl::Duration kOften = absl::Seconds(1);
  constexpr absl::Duration kSeldom = absl::Seconds(10);
  return {
      .queries = {
          {.counterset = "Processor Information", .interval = kOften},
          {.counterset = "fleetperf Agent", .interval = kSeldom},
          {.counterset = "System", .interval = kOften},
          {.counterset = "Memory", .interval = kOften},
          {.counterset = "PhysicalDisk", .interval = kOften},
          {.counterset = "Network Interface", .interval = kOften},
          {.counterset = "Process V2",
           .counters = {"% Processor Time", "% User Time", "% Privileged Time",
                        "Working Set", "Virtual Bytes", "Thread Count",
                        "Page Faults/sec", "Elapsed Time", "Handle Count",
                        "Private Bytes", "IO Read Bytes/sec",
                        "IO Write Bytes/sec", "Creating Process ID"},
           .interval = kSeldom},
          {.counterset = "LogicalDisk",
           .counters = {"% Free Space", "Free Megabytes"},
           .interval = kSeldom},
          {.counterset = "Paging File", .interval = kSeldom},
          {.counterset = "Thermal Zone Information", .interval = kSeldom},
          {.counterset = "GPU Engine",
           .counters = {"Utilization Percentage"},
           .interval = kSeldom},
          {.counterset = "GPU Adapter Memory", .interval = kSeldom},
      }};
}

}  // namespace fleetperf::agent
