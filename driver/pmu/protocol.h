// The requests that the PMU core accepts and its replies, which cross the
// border between a process and the kernel. Requests are untrusted: the core
// checks all sizes, numbers and reserved bits.
//
// All numbers are little endian. A structure of a later version only appends
// fields, and `size` says how much of it is present. Only kProgram has a
// request; the requests of the other commands are empty.

#ifndef FLEETPERF_DRIVER_PMU_PROTOCOL_H_
#define FLEETPERF_DRIVER_PMU_PROTOCOL_H_

#include <stdint.h>

namespace fleetperf::pmu {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr uint32_t kMaxGeneralCounters = 8;
inline constexpr uint32_t kMaxFixedCounters = 4;
inline constexpr uint32_t kMaxCoreTypes = 2;
inline constexpr uint32_t kMaxCpus = 2048;

enum class Command : uint32_t {
  kDescribe = 1,  // -> Description; any client
  kReserve = 2,   // the client becomes the PMU's owner
  kProgram = 3,   // ProgramRequest; only the owner
  kRead = 4,      // -> Counts; only the owner
  kRelease = 5,   // restores all registers; only the owner
};

// The outcome of a request.
enum class Result : uint32_t {
  kOk = 0,
  kUnknownCommand = 1,
  kWrongSize = 2,     // of the request, or too little space for the reply
  kWrongVersion = 3,  // of the protocol
  kNotOwner = 4,
  kOwned = 5,             // another client owns the PMU
  kReservedBySystem = 6,  // another driver or profiler owns the PMU
  kInUse = 7,             // counters already run without a reservation
  kNoPmu = 8,             // no CPU has a PMU that the core can program
  kWrongCoreType = 9,     // a program for a type of core that does not exist
  kWrongCounter = 10,     // a counter that the CPU lacks
  kWrongEvent = 11,       // an event that the CPU lacks, or a reserved bit
  kFault = 12,            // the CPU refused an access, e.g. under a hypervisor
  kNotProgrammed = 13,
  kSuspended = 14,      // the machine is about to sleep
  kCannotReserve = 15,  // the operating system lacks functions for it
};

struct Header {
  uint32_t version = kProtocolVersion;
  // In bytes, of the structure that begins with the header, without the array
  // that follows it.
  uint32_t size = 0;
};

enum class Vendor : uint32_t { kOther = 0, kIntel = 1, kAmd = 2 };

// Capability bits of a CPU.
inline constexpr uint32_t kHasFullWidthWrites = 1 << 0;
inline constexpr uint32_t kHasGlobalControl = 1 << 1;
inline constexpr uint32_t kHasTemperature = 1 << 2;
inline constexpr uint32_t kHasPackageEnergy = 1 << 3;
inline constexpr uint32_t kHasMemoryEnergy = 1 << 4;
inline constexpr uint32_t kHasActualPerformance = 1 << 5;  // APERF and MPERF
inline constexpr uint32_t kHasUserReads = 1 << 6;          // CR4.PCE can be set

struct CpuDescription {
  uint32_t is_online = 0;
  // CPUID.1AH:EAX[31:24]: 0x40 Core, 0x20 Atom; 0: not hybrid.
  uint32_t core_type = 0;
  uint32_t pmu_version = 0;  // 0: no PMU that the core can program
  uint32_t num_general = 0;
  uint32_t general_width = 0;   // in bits
  uint32_t fixed_counters = 0;  // bit i: fixed counter i exists
  uint32_t fixed_width = 0;
  uint32_t absent_events = 0;  // bit i: architectural event i does not exist
  uint32_t capabilities = 0;
  uint32_t package = 0;
};

// Followed by num_cpus structures CpuDescription, of cpu_size bytes each.
struct Description {
  Header header;
  Vendor vendor = Vendor::kOther;
  uint32_t family = 0;  // with the extended family added; likewise the model
  uint32_t model = 0;
  uint32_t stepping = 0;
  uint64_t tsc_hz = 0;       // 0: unknown
  uint32_t energy_unit = 0;  // a count is 2^-energy_unit joules
  // Likewise; 16 where 15.3 microjoules are fixed.
  uint32_t memory_energy_unit = 0;
  uint32_t num_cpus = 0;
  uint32_t cpu_size = sizeof(CpuDescription);
};

// Bits of an event selection that a request may have set: event and unit mask,
// user, system, edge, invert, threshold; on AMD also event[11:8] in bits 35:32.
inline constexpr uint64_t kSelectUser = 1 << 16;
inline constexpr uint64_t kSelectSystem = 1 << 17;
inline constexpr uint64_t kIntelSelectMask = 0xFF87FFFF;
inline constexpr uint64_t kAmdSelectMask = 0xF'FF87FFFF;

// What the counters of one type of core count. 0 leaves a counter off.
struct CoreProgram {
  uint32_t core_type = 0;  // as in CpuDescription
  uint32_t reserved = 0;
  // Selections without the enable bit.
  uint64_t general[kMaxGeneralCounters] = {};
  // 4 bits for each fixed counter: bit 0 system, bit 1 user.
  uint64_t fixed_control = 0;
};

inline constexpr uint32_t kAllowUserReads = 1 << 0;  // sets CR4.PCE

struct ProgramRequest {
  Header header;
  uint32_t flags = 0;
  uint32_t num_programs = 0;
  CoreProgram programs[kMaxCoreTypes];
};

// Of one CPU since the last kProgram. Counts never fall, also beyond the width
// of their registers, if they are read before a register passes its last
// value again. A CPU that was offline continues from its last counts.
struct CpuCounts {
  uint32_t is_online = 0;  // 0: offline, or not programmed
  // Degrees Celsius below the throttling point.
  uint32_t temperature_below_limit = 0;
  // When the counts were read. May begin anew after a sleep of the machine.
  uint64_t tsc = 0;
  uint64_t general[kMaxGeneralCounters] = {};
  uint64_t fixed[kMaxFixedCounters] = {};
  uint64_t actual_performance = 0;  // APERF: cycles
  // MPERF: cycles of the timestamp counter, not halted.
  uint64_t maximum_performance = 0;
  // In Description::energy_unit. Every CPU of a package has the package's.
  uint64_t package_energy = 0;
  uint64_t memory_energy = 0;
  uint32_t temperature_limit = 0;  // degrees Celsius; 0: unknown
  uint32_t has_temperature = 0;    // 0: the sensor has no value now
};

// Followed by num_cpus structures CpuCounts, of cpu_size bytes each.
struct Counts {
  Header header;
  uint32_t num_cpus = 0;
  uint32_t cpu_size = sizeof(CpuCounts);
};

static_assert(sizeof(CpuDescription) == 40);
static_assert(sizeof(Description) == 48);
static_assert(sizeof(CoreProgram) == 80);
static_assert(sizeof(ProgramRequest) == 176);
static_assert(sizeof(CpuCounts) == 152);
static_assert(sizeof(Counts) == 16);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_PROTOCOL_H_
