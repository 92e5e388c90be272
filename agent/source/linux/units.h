// The units of the kernel's counts and of PerfLib's clocks.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_

#include <cstdint>

#include "perflib/clocks.h"

namespace fleetperf::agent {

inline constexpr uint64_t k100NSecPerSecond = perflib::k100NSecPerSecond;
inline constexpr uint64_t k100NSecPerMillisecond = 10'000;
inline constexpr uint64_t k100NSecPerMicrosecond = 10;

// /proc counts CPU time in units of 1/USER_HZ s, which is 100 on every
// architecture that fleetperf runs on.
inline constexpr uint64_t kUserHz = 100;
inline constexpr uint64_t k100NSecPerJiffy = k100NSecPerSecond / kUserHz;

// /proc/diskstats counts in sectors of 512 bytes, whatever the disk's are.
inline constexpr uint64_t kBytesPerSector = 512;

// A difference of numbers that the kernel prints with 32 bits: from here on it
// is a step back, not a wrap.
inline constexpr uint32_t kLeastFall = uint32_t{1} << 31;

inline constexpr uint64_t kBytesPerKib = 1024;
inline constexpr uint64_t kBytesPerMib = uint64_t{1} << 20;

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_
