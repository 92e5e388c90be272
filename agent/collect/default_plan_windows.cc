#include "agent/collect/plan.h"

namespace fleetperf::agent {

// The countersets of the default plan on Linux, at the same intervals, so that
// a mixed fleet shows the same rows; and Windows' own. Only countersets that
// every Windows has, with any hardware: a missing one is a problem in `check`.
Plan DefaultPlan() {
  constexpr absl::Duration kOften = absl::Seconds(1);
  constexpr absl::Duration kSeldom = absl::Seconds(10);
  return {.queries = {
              {.counterset = "Processor Information", .interval = kOften},
              {.counterset = "fleetperf Agent", .interval = kSeldom},
              {.counterset = "System", .interval = kOften},
              {.counterset = "Memory", .interval = kOften},
              {.counterset = "PhysicalDisk", .interval = kOften},
              {.counterset = "Network Interface", .interval = kOften},
              {.counterset = "Process V2",
               .counters = {"% Processor Time", "% User Time",
                            "% Privileged Time", "Working Set", "Virtual Bytes",
                            "Thread Count", "Page Faults/sec"},
               .interval = kOften},
              {.counterset = "Process V2",
               .counters = {"Elapsed Time", "Handle Count", "Private Bytes",
                            "IO Read Bytes/sec", "IO Write Bytes/sec",
                            "IO Data Bytes/sec", "Creating Process ID"},
               .interval = kSeldom},
              {.counterset = "LogicalDisk",
               .counters = {"% Free Space", "Free Megabytes"},
               .interval = kSeldom},
              {.counterset = "Paging File", .interval = kSeldom},
          }};
}

}  // namespace fleetperf::agent
