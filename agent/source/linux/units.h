// The units of kernel counters and PerfLib clocks.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_

#include <cstdint>

#include "perflib/clocks.h"

namespace fleetperf::agent {

inline constexpr uint64_t k100NSecPerSecond = perflib::k100NSecPerSecond;
inline constexpr uint64_t k100NSecPerMillisecond = 10'000;
inline constexpr uint64_t k100NSecPerMicrosecond = 10;
inline constexpr uint64_t kNSecPer100NSec = 100;

// /proc counts CPU time in units of 1/USER_HZ s. USER_HZ is 100 on every
// supported architecture.
inline constexpr uint64_t kUserHz = 100;
inline constexpr uint64_t k100NSecPerJiffy = k100NSecPerSecond / kUserHz;

// /proc/diskstats counts in sectors of 512 bytes, regardless of the disk's
// sector size.
inline constexpr uint64_t kBytesPerSector = 512;

// Differences between 32-bit kernel counters: from this value on, the
// difference is a step back, not a wrap.
inline constexpr uint32_t kMinBackwardStep = uint32_t{1} << 31;

inline constexpr uint64_t kBytesPerKib = 1024;
inline constexpr uint64_t kBytesPerMib = uint64_t{1} << 20;

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_UNITS_H_
