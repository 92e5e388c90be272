#include "agent/collect/plan.h"

namespace fleetperf::agent {

// Cheap counters are sampled every second; counters whose cost grows with the
// number of processes every ten seconds. Countersets missing in a version of
// Windows only cause a warning.
Plan DefaultPlan() {
  constexpr absl::Duration kOften = absl::Seconds(1);
  constexpr absl::Duration kSeldom = absl::Seconds(10);
  return {.queries = {
              {.counterset = "Processor Information", .interval = kOften},
              {.counterset = "FileSystem Disk Activity", .interval = kOften},
              {.counterset = "Network Adapter", .interval = kOften},
              {.counterset = "Thermal Zone Information", .interval = kSeldom},
              {.counterset = "fleetperf Agent", .interval = kSeldom},
              {.counterset = "GPU Engine",
               .counters = {"Utilization Percentage"},
               .interval = kSeldom},
              {.counterset = "GPU Adapter Memory", .interval = kSeldom},
              {.counterset = "Process V2",
               .counters = {"% Processor Time", "% User Time",
                            "% Privileged Time", "Working Set", "Virtual Bytes",
                            "Private Bytes", "Thread Count", "Handle Count",
                            "Elapsed Time", "IO Read Bytes/sec",
                            "IO Write Bytes/sec", "Creating Process ID"},
               .interval = kSeldom},
          }};
}

}  // namespace fleetperf::agent
