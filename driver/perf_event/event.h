// Events that need nothing but their number. Events of dynamic PMUs are in
// pmu.h, tracepoints and probes in probe.h, and names as `perf` writes them in
// event_parser.h.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_EVENT_H_
#define FLEETPERF_DRIVER_PERF_EVENT_EVENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {

// What is counted. A value: copies are independent.
struct Event {
  // As `perf list` names the event; used in messages.
  std::string name;

  uint32_t type = type::kHardware;
  uint64_t config = 0;
  uint64_t config1 = 0;
  uint64_t config2 = 0;
  uint64_t config3 = 0;
  uint32_t breakpoint_type = 0;
  // The function of a kprobe, or the file of a uprobe. The kernel expects its
  // address in config1; Builder sets it.
  std::string probe_text;

  // A count times `scale` is in `unit`, if the PMU defines them.
  double scale = 1;
  std::string unit;

  // CPUs on which the event is opened, as the PMU's cpumask or cpus names them:
  // one that counts for all CPUs of its package or die, or those of a hybrid
  // core PMU. Empty: the event counts on every CPU.
  std::vector<int> cpus;

  // Flags of flag::kExclude..., flag::kPinned, flag::kExclusive and precise_ip.
  uint64_t flags = flag::kExcludeKernel | flag::kExcludeHypervisor;
};

enum class HardwareEvent : uint64_t {
  kCpuCycles = 0,
  kInstructions = 1,
  kCacheReferences = 2,
  kCacheMisses = 3,
  kBranchInstructions = 4,
  kBranchMisses = 5,
  kBusCycles = 6,
  kStalledCyclesFrontend = 7,
  kStalledCyclesBackend = 8,
  kReferenceCpuCycles = 9,
};

enum class SoftwareEvent : uint64_t {
  kCpuClock = 0,   // ns
  kTaskClock = 1,  // ns
  kPageFaults = 2,
  kContextSwitches = 3,
  kCpuMigrations = 4,
  kPageFaultsMinor = 5,
  kPageFaultsMajor = 6,
  kAlignmentFaults = 7,
  kEmulationFaults = 8,
  kDummy = 9,
  kBpfOutput = 10,
  kCgroupSwitches = 11,
};

enum class CacheId : uint64_t {
  kL1Data = 0,
  kL1Instruction = 1,
  kLastLevel = 2,
  kDataTlb = 3,
  kInstructionTlb = 4,
  kBranchPredictor = 5,
  kNode = 6,
};
enum class CacheOperation : uint64_t { kRead = 0, kWrite = 1, kPrefetch = 2 };
enum class CacheResult : uint64_t { kAccess = 0, kMiss = 1 };

enum class BreakpointAccess : uint32_t {
  kRead = 1,
  kWrite = 2,
  kReadWrite = 3,
  kExecute = 4,
};

// Counts in user mode only, unless Builder is told otherwise.
Event Hardware(HardwareEvent event);

// Counts in kernel mode, too, if the event occurs only there: the kernel counts
// context switches, migrations and switches of cgroups in its own mode.
Event Software(SoftwareEvent event);

Event Cache(CacheId cache, CacheOperation operation, CacheResult result);

// A number that means an event to this model of CPU. Its bits are in the files
// below /sys/bus/event_source/devices/cpu/format.
Event Raw(uint64_t config, uint64_t config1 = 0, uint64_t config2 = 0,
          uint64_t config3 = 0);

// Accesses of `length` bytes (1, 2, 4 or 8) at an address, or execution of the
// instruction there, for which the length is that of a pointer.
Event Breakpoint(BreakpointAccess access, uint64_t address,
                 uint64_t length = sizeof(void*));

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_EVENT_H_
