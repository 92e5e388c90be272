#include "agent/source/well_known.h"

namespace fleetperf::agent {
namespace {

constexpr WellKnownCounterset kWellKnown[] = {
    {"Processor",
     "It is of PerfLib V1, which this API cannot see: Processor Information "
     "has the same, and more."},
    {"Process",
     "It is of PerfLib V1, which this API cannot see: Process V2 has the "
     "same, where Windows has it."},
    {"Process V2", "Windows 11 and Server 2022 have it; older ones do not."},
    {"Thread", "It is of PerfLib V1, which this API cannot see."},
    {"System", "It is of PerfLib V1, which this API cannot see."},
    {"Memory", "It is of PerfLib V1, which this API cannot see."},
    {"Paging File", "It is of PerfLib V1, which this API cannot see."},
    {"PhysicalDisk",
     "It is of PerfLib V1, which this API cannot see: FileSystem Disk "
     "Activity counts bytes, where Windows has it."},
    {"LogicalDisk",
     "It is of PerfLib V1, which this API cannot see: FileSystem Disk "
     "Activity counts bytes, where Windows has it."},
    {"Network Interface",
     "It is of PerfLib V1, which this API cannot see: Network Adapter has "
     "nearly the same, where Windows has it."},
    {"TCPv4", "It is of PerfLib V1, which this API cannot see."},
};

}  // namespace

absl::Span<const WellKnownCounterset> WellKnownCountersets() {
  return kWellKnown;
}

}  // namespace fleetperf::agent
