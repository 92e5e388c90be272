// The counter types of winperf.h: their values and formulas.
//
// Source of the values and links: Microsoft's winperf.h, [MS-PCQ] and
// "Calculating Counter Values". docs/reference/counters.md lists the formulas.
// The arithmetic is in values/.

#ifndef FLEETPERF_PERFLIB_COUNTER_TYPE_H_
#define FLEETPERF_PERFLIB_COUNTER_TYPE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::perflib {

inline constexpr uint32_t kPerfCounterRawcountHex = 0x00000000;
inline constexpr uint32_t kPerfCounterLargeRawcountHex = 0x00000100;
inline constexpr uint32_t kPerfCounterText = 0x00000B00;
inline constexpr uint32_t kPerfCounterRawcount = 0x00010000;
inline constexpr uint32_t kPerfCounterLargeRawcount = 0x00010100;
inline constexpr uint32_t kPerfCounterDelta = 0x00400400;
inline constexpr uint32_t kPerfCounterLargeDelta = 0x00400500;
inline constexpr uint32_t kPerfSampleCounter = 0x00410400;
inline constexpr uint32_t kPerfCounterQueuelenType = 0x00450400;
inline constexpr uint32_t kPerfCounterLargeQueuelenType = 0x00450500;
inline constexpr uint32_t kPerfCounter100NsQueuelenType = 0x00550500;
inline constexpr uint32_t kPerfCounterObjTimeQueuelenType = 0x00650500;
inline constexpr uint32_t kPerfCounterCounter = 0x10410400;
inline constexpr uint32_t kPerfCounterBulkCount = 0x10410500;
inline constexpr uint32_t kPerfRawFraction = 0x20020400;
inline constexpr uint32_t kPerfLargeRawFraction = 0x20020500;
inline constexpr uint32_t kPerfCounterTimer = 0x20410500;
inline constexpr uint32_t kPerfPrecisionSystemTimer = 0x20470500;
inline constexpr uint32_t kPerf100NsecTimer = 0x20510500;
inline constexpr uint32_t kPerfPrecision100NsTimer = 0x20570500;
inline constexpr uint32_t kPerfObjTimeTimer = 0x20610500;
inline constexpr uint32_t kPerfPrecisionObjectTimer = 0x20670500;
inline constexpr uint32_t kPerfSampleFraction = 0x20C20400;
inline constexpr uint32_t kPerfCounterTimerInv = 0x21410500;
inline constexpr uint32_t kPerf100NsecTimerInv = 0x21510500;
inline constexpr uint32_t kPerfCounterMultiTimer = 0x22410500;
inline constexpr uint32_t kPerf100NsecMultiTimer = 0x22510500;
inline constexpr uint32_t kPerfCounterMultiTimerInv = 0x23410500;
inline constexpr uint32_t kPerf100NsecMultiTimerInv = 0x23510500;
inline constexpr uint32_t kPerfAverageTimer = 0x30020400;
inline constexpr uint32_t kPerfElapsedTime = 0x30240500;
inline constexpr uint32_t kPerfCounterNodata = 0x40000200;
inline constexpr uint32_t kPerfAverageBulk = 0x40020500;
inline constexpr uint32_t kPerfSampleBase = 0x40030401;
inline constexpr uint32_t kPerfAverageBase = 0x40030402;
inline constexpr uint32_t kPerfRawBase = 0x40030403;
// PERF_PRECISION_TIMESTAMP has the same value. The second constant is the value
// in WMI's documentation.
inline constexpr uint32_t kPerfLargeRawBase = 0x40030500;
inline constexpr uint32_t kPerfLargeRawBaseWmi = 0x40030503;
inline constexpr uint32_t kPerfCounterMultiBase = 0x42030500;
inline constexpr uint32_t kPerfCounterHistogramType = 0x80000000;

// The formula of the calculated value. N is the counter's raw value, B its base
// counter's, D the clock or base it is measured against, T and F an object's
// time and frequency, M the number of instances of a multi timer. d means newer
// minus older; 1 is the newer of two samples.
enum class Formula : uint8_t {
  kNotDisplayable,     // base counters, text, no data, histograms
  kRaw,                // N1
  kDelta,              // dN
  kRate,               // dN * F / dD
  kQueueLength,        // dN / dD
  kTimer,              // 100 * dN / dD
  kTimerInverse,       // 100 * (1 - dN / dD)
  kMultiTimer,         // 100 * dN * F / (dD * M1): in ticks
  kMultiTimer100Ns,    // 100 * dN / (dD * M1)
  kMultiTimerInverse,  // 100 * (M1 - dN / dD)
  kRawFraction,        // 100 * N1 / B1
  kSampleFraction,     // 100 * dN / dB
  kAverageTimer,       // (dN / F) / dB
  kAverageBulk,        // dN / dB
  kElapsedTime,        // (T1 - N1) / F1
};

// The meaning of D.
enum class Denominator : uint8_t {
  kNone,
  kPerfTimeStamp,    // the block's PerfTimeStamp
  kPerfTime100NSec,  // the block's PerfTime100NSec
  kBaseCounter,      // the counter that BaseCounterId names
  kPerfTimeCounter,  // the counter that PerfTimeId names
};

struct CounterTypeInfo {
  uint32_t type;
  absl::string_view name;  // as in winperf.h
  Formula formula;
  Denominator denominator;
};

// Returns all known types. PERF_PRECISION_TIMESTAMP is listed as
// PERF_LARGE_RAW_BASE, which has the same value.
absl::Span<const CounterTypeInfo> AllCounterTypes();

// Returns null if the type is unknown.
const CounterTypeInfo* FindCounterType(uint32_t type);

// Finds a type by its winperf.h name, including PERF_PRECISION_TIMESTAMP.
// Returns null if the name is unknown.
const CounterTypeInfo* FindCounterTypeByName(absl::string_view name);

// Returns "PERF_COUNTER_TIMER", or the hexadecimal value of an unknown type.
std::string CounterTypeName(uint32_t type);

// Returns whether the value needs two samples (a rate, a percentage of time)
// rather than only the newest (a gauge).
bool UsesTwoSamples(Formula formula);

// Returns whether values of this type are meant to be shown in hexadecimal.
bool IsHexType(uint32_t type);

// Returns whether values of this type only serve as the base of other counters.
bool IsBaseType(uint32_t type);

// Returns whether values of this type are those of several instances, whose
// number PerfLib V1 puts behind the value.
bool IsMultiTimer(uint32_t type);

// The suffix of the displayed number, from the type's display bits.
enum class DisplaySuffix : uint8_t {
  kNone,
  kPerSecond,
  kPercent,
  kSeconds,
  kNoShow
};
DisplaySuffix SuffixOf(uint32_t type);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_COUNTER_TYPE_H_
