#include "agent/collect/plan.h"

namespace fleetperf::agent {

// Cheap counters are sampled every second. Counters that need several files per
// process, or a read whose cost grows with interrupts times CPUs, are sampled
// every ten seconds.
Plan DefaultPlan() {
  constexpr absl::Duration kOften = absl::Seconds(1);
  constexpr absl::Duration kSeldom = absl::Seconds(10);
  return {
      .queries = {
          {.counterset = "Processor Information",
           .counters = {"% Processor Time", "% User Time", "% Privileged Time",
                        "% Interrupt Time", "% DPC Time", "% Idle Time",
                        "% Steal Time", "% Guest Time", "% IO Wait Time"},
           .interval = kOften},
          {.counterset = "Processor Information",
           .counters = {"Interrupts/sec", "DPCs Queued/sec",
                        "Clock Interrupts/sec", "Processor Frequency",
                        "% of Maximum Frequency"},
           .interval = kSeldom},
          {.counterset = "fleetperf Agent", .interval = kSeldom},
          {.counterset = "System", .interval = kOften},
          {.counterset = "Memory", .interval = kOften},
          {.counterset = "PhysicalDisk", .interval = kOften},
          {.counterset = "Network Interface", .interval = kOften},
          {.counterset = "Process V2",
           .counters = {"% Processor Time", "% User Time", "% Privileged Time",
                        "Working Set", "Virtual Bytes", "Thread Count",
                        "Page Faults/sec"},
           .interval = kOften},
          {.counterset = "Process V2",
           .counters = {"Elapsed Time", "Handle Count", "Private Bytes",
                        "IO Read Bytes/sec", "IO Write Bytes/sec",
                        "Creating Process ID"},
           .interval = kSeldom},
      }};
}

}  // namespace fleetperf::agent
