// The source of an agent whose machine has a simulated PMU: takes the place of
// agent/source/linux/sources_linux.cc.

#include "absl/time/clock.h"
#include "agent/source/linux/linux_source.h"
#include "agent/source/sources.h"
#include "driver/perf_event/simulation/simulated_system.h"

namespace fleetperf::agent {
namespace {

using perf_event::Hardware;
using perf_event::HardwareEvent;
using perf_event::SimulatedSystem;

// The script: perf_counters_test.cc has the results. Three counters for five
// events, so that groups take turns.
SimulatedSystem& Machine() {
  static SimulatedSystem* const machine = [] {
    auto* const simulated =
        new SimulatedSystem({.cpus = 2, .hardware_counters = 3});
    simulated->SetFile("/proc/cpuinfo",
                       "vendor_id\t: GenuineIntel\ncpu family\t: 6\n"
                       "model\t\t: 143\nstepping\t: 8\n");
    simulated->SetRate(Hardware(HardwareEvent::kCpuCycles), 1'500'000'000);
    simulated->SetRate(Hardware(HardwareEvent::kReferenceCpuCycles),
                       1'000'000'000);
    simulated->SetRate(Hardware(HardwareEvent::kInstructions), 0,
                       3'000'000'000);
    simulated->SetRate(Hardware(HardwareEvent::kInstructions), 1, 375'000'000);
    simulated->SetRate(Hardware(HardwareEvent::kCacheReferences), 20'000'000);
    simulated->SetRate(Hardware(HardwareEvent::kCacheMisses), 5'000'000);
    simulated->FollowClock([] { return absl::Now(); });
    return simulated;
  }();
  return *machine;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(const std::string&,
                                                        const std::string&) {
  return MakeLinuxSource({.events = &Machine()});
}

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(const std::string&,
                                                         const std::string&) {
  return absl::UnimplementedError("no remote machines");
}

}  // namespace fleetperf::agent
