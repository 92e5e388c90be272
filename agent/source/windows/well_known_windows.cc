#include <iterator>
#include <string>
#include <vector>

#include "agent/source/well_known.h"
#include "driver/hardware/reader.h"

namespace fleetperf::agent {
namespace {

constexpr WellKnownCounterset kPerfLib[] = {
    {"Processor",
     "It is a PerfLib V1 counterset, which the V2 API cannot read: Processor "
     "Information has the same, and more."},
    {"Process",
     "It is a PerfLib V1 counterset, which the V2 API cannot read: Process V2 "
     "has the same, where Windows has it."},
    {"Process V2", "It needs Windows 11 or Server 2022."},
    {"Thread", "It is a PerfLib V1 counterset, which the V2 API cannot read."},
    {"System", "It is a PerfLib V1 counterset, which the V2 API cannot read."},
    {"Memory", "It is a PerfLib V1 counterset, which the V2 API cannot read."},
    {"Paging File",
     "It is a PerfLib V1 counterset, which the V2 API cannot read."},
    {"PhysicalDisk",
     "It is a PerfLib V1 counterset, which the V2 API cannot read: FileSystem "
     "Disk Activity counts bytes, where Windows has it."},
    {"LogicalDisk",
     "It is a PerfLib V1 counterset, which the V2 API cannot read: FileSystem "
     "Disk Activity counts bytes, where Windows has it."},
    {"Network Interface",
     "It is a PerfLib V1 counterset, which the V2 API cannot read: Network "
     "Adapter has nearly the same, where Windows has it."},
    {"TCPv4", "It is a PerfLib V1 counterset, which the V2 API cannot read."},
};

}  // namespace

absl::Span<const WellKnownCounterset> WellKnownCountersets() {
  static const auto* const kWhyNoHardware =
      new std::string(hardware::OpenHardwareReader().status().message());
  static const auto* const kAll = [] {
    auto* const all = new std::vector<WellKnownCounterset>(std::begin(kPerfLib),
                                                           std::end(kPerfLib));
    all->push_back({"Hardware Counters", *kWhyNoHardware});
    return all;
  }();
  return *kAll;
}

}  // namespace fleetperf::agent
