#include "agent/collect/plan.h"

namespace fleetperf::agent {

// Cheap counters that change fast are sampled every second. Counters that need
// several files per process or cgroup, long files, or a read whose cost grows
// with interrupts times CPUs, are sampled every ten seconds, and inodes and
// arrays every minute. Plans choose the rest.
Plan DefaultPlan() {
  constexpr absl::Duration kOften = absl::Seconds(1);
  constexpr absl::Duration kSeldom = absl::Seconds(10);
  constexpr absl::Duration kRarely = absl::Minutes(1);
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
          {.counterset = "Linux Pressure", .interval = kOften},
          {.counterset = "Linux Memory", .interval = kSeldom},
          {.counterset = "Paging File", .interval = kSeldom},
          {.counterset = "PhysicalDisk", .interval = kOften},
          {.counterset = "LogicalDisk", .interval = kSeldom},
          {.counterset = "Linux Filesystem", .interval = kRarely},
          {.counterset = "Linux MD RAID", .interval = kRarely},
          {.counterset = "Network Interface", .interval = kOften},
          {.counterset = "TCPv4", .interval = kSeldom},
          {.counterset = "UDPv4", .interval = kSeldom},
          {.counterset = "Linux Network Protocol", .interval = kSeldom},
          {.counterset = "Linux Socket", .interval = kSeldom},
          {.counterset = "Linux Softnet", .interval = kSeldom},
          {.counterset = "Linux Conntrack", .interval = kSeldom},
          {.counterset = "Process V2",
           .counters = {"% Processor Time", "% User Time", "% Privileged Time",
                        "Working Set", "Virtual Bytes", "Thread Count",
                        "Page Faults/sec"},
           .interval = kOften},
          {.counterset = "Process V2",
           .counters = {"Elapsed Time", "Handle Count", "Private Bytes",
                        "IO Read Bytes/sec", "IO Write Bytes/sec",
                        "IO Data Bytes/sec", "Storage Read Bytes/sec",
                        "Storage Write Bytes/sec", "Creating Process ID"},
           .interval = kSeldom},
          {.counterset = "Linux Cgroup",
           .counters = {"% Processor Time", "% Throttled Time", "Memory Bytes",
                        "Working Set", "Out Of Memory Kills",
                        "IO Read Bytes/sec", "IO Write Bytes/sec", "Tasks"},
           .interval = kSeldom},
      }};
}

}  // namespace fleetperf::agent
