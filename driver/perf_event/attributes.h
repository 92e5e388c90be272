// The argument of perf_event_open(2), and the names of its bits.
//
// Declared here instead of included from <linux/perf_event.h>, because a
// distribution's header can be older than the kernel that the program runs on.
// Source of the layout: include/uapi/linux/perf_event.h of Linux 6.18.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTES_H_
#define FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>

namespace fleetperf::perf_event {

// perf_event_attr up to PERF_ATTR_SIZE_VER8. An older kernel accepts it as long
// as the fields that this kernel does not know are 0.
struct Attributes {
  uint32_t type = 0;
  uint32_t size = sizeof(Attributes);
  uint64_t config = 0;
  uint64_t sample_period = 0;  // a frequency in Hz with flag::kFrequency
  uint64_t sample_type = 0;    // bits of namespace sample
  uint64_t read_format = 0;    // bits of namespace read_format
  uint64_t flags = 0;          // bits of namespace flag
  uint32_t wakeup = 0;         // records, or bytes with flag::kWatermark
  uint32_t breakpoint_type = 0;
  uint64_t config1 = 0;  // address of a breakpoint, or of a probe's text
  uint64_t config2 = 0;  // length of a breakpoint, or offset of a probe
  uint64_t branch_sample_type = 0;  // bits of namespace branch
  uint64_t sample_regs_user = 0;
  uint32_t sample_stack_user = 0;
  int32_t clock_id = 0;
  uint64_t sample_regs_intr = 0;
  uint32_t aux_watermark = 0;
  uint16_t sample_max_stack = 0;
  uint16_t reserved = 0;
  uint32_t aux_sample_size = 0;
  uint32_t aux_action = 0;
  uint64_t signal_data = 0;
  uint64_t config3 = 0;
};
static_assert(sizeof(Attributes) == 136);
static_assert(offsetof(Attributes, flags) == 40);
static_assert(offsetof(Attributes, branch_sample_type) == 72);
static_assert(offsetof(Attributes, signal_data) == 120);

// Values of Attributes::type. All other types are those of a dynamic PMU, whose
// number is in its `type` file below /sys/bus/event_source/devices.
namespace type {
inline constexpr uint32_t kHardware = 0;
inline constexpr uint32_t kSoftware = 1;
inline constexpr uint32_t kTracepoint = 2;
inline constexpr uint32_t kCache = 3;
inline constexpr uint32_t kRaw = 4;
inline constexpr uint32_t kBreakpoint = 5;
}  // namespace type

// Attributes::flags.
namespace flag {
inline constexpr uint64_t kDisabled = 1ull << 0;
inline constexpr uint64_t kInherit = 1ull << 1;
inline constexpr uint64_t kPinned = 1ull << 2;
inline constexpr uint64_t kExclusive = 1ull << 3;
inline constexpr uint64_t kExcludeUser = 1ull << 4;
inline constexpr uint64_t kExcludeKernel = 1ull << 5;
inline constexpr uint64_t kExcludeHypervisor = 1ull << 6;
inline constexpr uint64_t kExcludeIdle = 1ull << 7;
inline constexpr uint64_t kMmap = 1ull << 8;
inline constexpr uint64_t kComm = 1ull << 9;
inline constexpr uint64_t kFrequency = 1ull << 10;
inline constexpr uint64_t kInheritStat = 1ull << 11;
inline constexpr uint64_t kEnableOnExec = 1ull << 12;
inline constexpr uint64_t kTask = 1ull << 13;
inline constexpr uint64_t kWatermark = 1ull << 14;
inline constexpr int kPreciseIpShift = 15;  // two bits
inline constexpr uint64_t kMmapData = 1ull << 17;
inline constexpr uint64_t kSampleIdAll = 1ull << 18;
inline constexpr uint64_t kExcludeHost = 1ull << 19;
inline constexpr uint64_t kExcludeGuest = 1ull << 20;
inline constexpr uint64_t kExcludeCallchainKernel = 1ull << 21;
inline constexpr uint64_t kExcludeCallchainUser = 1ull << 22;
inline constexpr uint64_t kMmap2 = 1ull << 23;
inline constexpr uint64_t kCommExec = 1ull << 24;
inline constexpr uint64_t kUseClockId = 1ull << 25;
inline constexpr uint64_t kContextSwitch = 1ull << 26;
inline constexpr uint64_t kWriteBackward = 1ull << 27;
inline constexpr uint64_t kNamespaces = 1ull << 28;
inline constexpr uint64_t kKsymbol = 1ull << 29;
inline constexpr uint64_t kBpfEvent = 1ull << 30;
inline constexpr uint64_t kAuxOutput = 1ull << 31;
inline constexpr uint64_t kCgroup = 1ull << 32;
inline constexpr uint64_t kTextPoke = 1ull << 33;
inline constexpr uint64_t kBuildId = 1ull << 34;
inline constexpr uint64_t kInheritThread = 1ull << 35;
inline constexpr uint64_t kRemoveOnExec = 1ull << 36;
inline constexpr uint64_t kSigtrap = 1ull << 37;
}  // namespace flag

// Attributes::read_format.
namespace read_format {
inline constexpr uint64_t kTotalTimeEnabled = 1 << 0;
inline constexpr uint64_t kTotalTimeRunning = 1 << 1;
inline constexpr uint64_t kId = 1 << 2;
inline constexpr uint64_t kGroup = 1 << 3;
inline constexpr uint64_t kLost = 1 << 4;  // Linux 6.0
}  // namespace read_format

// Attributes::sample_type.
namespace sample {
inline constexpr uint64_t kIp = 1 << 0;
inline constexpr uint64_t kTid = 1 << 1;
inline constexpr uint64_t kTime = 1 << 2;
inline constexpr uint64_t kAddress = 1 << 3;
inline constexpr uint64_t kRead = 1 << 4;
inline constexpr uint64_t kCallchain = 1 << 5;
inline constexpr uint64_t kId = 1 << 6;
inline constexpr uint64_t kCpu = 1 << 7;
inline constexpr uint64_t kPeriod = 1 << 8;
inline constexpr uint64_t kStreamId = 1 << 9;
inline constexpr uint64_t kRaw = 1 << 10;
inline constexpr uint64_t kBranchStack = 1 << 11;
inline constexpr uint64_t kRegsUser = 1 << 12;
inline constexpr uint64_t kStackUser = 1 << 13;
inline constexpr uint64_t kWeight = 1 << 14;
inline constexpr uint64_t kDataSource = 1 << 15;
inline constexpr uint64_t kIdentifier = 1 << 16;
inline constexpr uint64_t kTransaction = 1 << 17;
inline constexpr uint64_t kRegsIntr = 1 << 18;
inline constexpr uint64_t kPhysicalAddress = 1 << 19;
inline constexpr uint64_t kAux = 1 << 20;
inline constexpr uint64_t kCgroup = 1 << 21;
inline constexpr uint64_t kDataPageSize = 1 << 22;
inline constexpr uint64_t kCodePageSize = 1 << 23;
inline constexpr uint64_t kWeightStruct = 1 << 24;
}  // namespace sample

// Attributes::branch_sample_type.
namespace branch {
inline constexpr uint64_t kUser = 1 << 0;
inline constexpr uint64_t kKernel = 1 << 1;
inline constexpr uint64_t kHypervisor = 1 << 2;
inline constexpr uint64_t kAny = 1 << 3;
inline constexpr uint64_t kAnyCall = 1 << 4;
inline constexpr uint64_t kAnyReturn = 1 << 5;
inline constexpr uint64_t kIndirectCall = 1 << 6;
inline constexpr uint64_t kAbortTransaction = 1 << 7;
inline constexpr uint64_t kInTransaction = 1 << 8;
inline constexpr uint64_t kNoTransaction = 1 << 9;
inline constexpr uint64_t kConditional = 1 << 10;
inline constexpr uint64_t kCallStack = 1 << 11;
inline constexpr uint64_t kIndirectJump = 1 << 12;
inline constexpr uint64_t kCall = 1 << 13;
inline constexpr uint64_t kNoFlags = 1 << 14;
inline constexpr uint64_t kNoCycles = 1 << 15;
inline constexpr uint64_t kTypeSave = 1 << 16;
inline constexpr uint64_t kHardwareIndex = 1 << 17;
inline constexpr uint64_t kPrivilegeSave = 1 << 18;
inline constexpr uint64_t kCounters = 1 << 19;
inline constexpr uint64_t kAnyPrivilege = kUser | kKernel | kHypervisor;
}  // namespace branch

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_ATTRIBUTES_H_
