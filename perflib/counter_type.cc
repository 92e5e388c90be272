#include "perflib/counter_type.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace fleetperf::perflib {
namespace {

// The bit fields of a counter type (winperf.h).
constexpr uint32_t kTypeMask = 0x00000C00;
constexpr uint32_t kTypeCounter = 0x00000400;
// Compared as a whole field, because the bits of PRECISION include those of
// BASE.
constexpr uint32_t kSubtypeMask = 0x000F0000;
constexpr uint32_t kSubtypeBase = 0x00030000;
constexpr uint32_t kDisplayShift = 28;

using enum Formula;
using enum Denominator;

// Sorted by value.
constexpr CounterTypeInfo kTypes[] = {
    {kPerfCounterRawcountHex, "PERF_COUNTER_RAWCOUNT_HEX", kRaw, kNone},
    {kPerfCounterLargeRawcountHex, "PERF_COUNTER_LARGE_RAWCOUNT_HEX", kRaw,
     kNone},
    {kPerfCounterText, "PERF_COUNTER_TEXT", kNotDisplayable, kNone},
    {kPerfCounterRawcount, "PERF_COUNTER_RAWCOUNT", kRaw, kNone},
    {kPerfCounterLargeRawcount, "PERF_COUNTER_LARGE_RAWCOUNT", kRaw, kNone},
    {kPerfCounterDelta, "PERF_COUNTER_DELTA", kDelta, kNone},
    {kPerfCounterLargeDelta, "PERF_COUNTER_LARGE_DELTA", kDelta, kNone},
    {kPerfSampleCounter, "PERF_SAMPLE_COUNTER", kRate, kPerfTimeStamp},
    {kPerfCounterQueuelenType, "PERF_COUNTER_QUEUELEN_TYPE", kQueueLength,
     kPerfTimeStamp},
    {kPerfCounterLargeQueuelenType, "PERF_COUNTER_LARGE_QUEUELEN_TYPE",
     kQueueLength, kPerfTimeStamp},
    {kPerfCounter100NsQueuelenType, "PERF_COUNTER_100NS_QUEUELEN_TYPE",
     kQueueLength, kPerfTime100NSec},
    {kPerfCounterObjTimeQueuelenType, "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE",
     kQueueLength, kPerfTimeCounter},
    {kPerfCounterCounter, "PERF_COUNTER_COUNTER", kRate, kPerfTimeStamp},
    {kPerfCounterBulkCount, "PERF_COUNTER_BULK_COUNT", kRate, kPerfTimeStamp},
    {kPerfRawFraction, "PERF_RAW_FRACTION", kRawFraction, kBaseCounter},
    {kPerfLargeRawFraction, "PERF_LARGE_RAW_FRACTION", kRawFraction,
     kBaseCounter},
    {kPerfCounterTimer, "PERF_COUNTER_TIMER", kTimer, kPerfTimeStamp},
    {kPerfPrecisionSystemTimer, "PERF_PRECISION_SYSTEM_TIMER", kTimer,
     kBaseCounter},
    {kPerf100NsecTimer, "PERF_100NSEC_TIMER", kTimer, kPerfTime100NSec},
    {kPerfPrecision100NsTimer, "PERF_PRECISION_100NS_TIMER", kTimer,
     kBaseCounter},
    {kPerfObjTimeTimer, "PERF_OBJ_TIME_TIMER", kTimer, kPerfTimeCounter},
    {kPerfPrecisionObjectTimer, "PERF_PRECISION_OBJECT_TIMER", kTimer,
     kPerfTimeCounter},
    {kPerfSampleFraction, "PERF_SAMPLE_FRACTION", kSampleFraction,
     kBaseCounter},
    {kPerfCounterTimerInv, "PERF_COUNTER_TIMER_INV", kTimerInverse,
     kPerfTimeStamp},
    {kPerf100NsecTimerInv, "PERF_100NSEC_TIMER_INV", kTimerInverse,
     kPerfTime100NSec},
    {kPerfCounterMultiTimer, "PERF_COUNTER_MULTI_TIMER", kMultiTimer,
     kPerfTimeStamp},
    {kPerf100NsecMultiTimer, "PERF_100NSEC_MULTI_TIMER", kMultiTimer100Ns,
     kPerfTime100NSec},
    {kPerfCounterMultiTimerInv, "PERF_COUNTER_MULTI_TIMER_INV",
     kMultiTimerInverse, kPerfTimeStamp},
    {kPerf100NsecMultiTimerInv, "PERF_100NSEC_MULTI_TIMER_INV",
     kMultiTimerInverse, kPerfTime100NSec},
    {kPerfAverageTimer, "PERF_AVERAGE_TIMER", kAverageTimer, kBaseCounter},
    {kPerfElapsedTime, "PERF_ELAPSED_TIME", kElapsedTime, kPerfTimeCounter},
    {kPerfCounterNodata, "PERF_COUNTER_NODATA", kNotDisplayable, kNone},
    {kPerfAverageBulk, "PERF_AVERAGE_BULK", kAverageBulk, kBaseCounter},
    {kPerfSampleBase, "PERF_SAMPLE_BASE", kNotDisplayable, kNone},
    {kPerfAverageBase, "PERF_AVERAGE_BASE", kNotDisplayable, kNone},
    {kPerfRawBase, "PERF_RAW_BASE", kNotDisplayable, kNone},
    {kPerfLargeRawBase, "PERF_LARGE_RAW_BASE", kNotDisplayable, kNone},
    {kPerfLargeRawBaseWmi, "PERF_LARGE_RAW_BASE", kNotDisplayable, kNone},
    {kPerfCounterMultiBase, "PERF_COUNTER_MULTI_BASE", kNotDisplayable, kNone},
    {kPerfCounterHistogramType, "PERF_COUNTER_HISTOGRAM_TYPE", kNotDisplayable,
     kNone},
};

constexpr bool LessByType(const CounterTypeInfo& a, const CounterTypeInfo& b) {
  return a.type < b.type;
}
static_assert(std::is_sorted(std::begin(kTypes), std::end(kTypes), LessByType));

}  // namespace

absl::Span<const CounterTypeInfo> AllCounterTypes() { return kTypes; }

const CounterTypeInfo* FindCounterType(uint32_t type) {
  const CounterTypeInfo* found =
      std::lower_bound(std::begin(kTypes), std::end(kTypes),
                       CounterTypeInfo{.type = type}, LessByType);
  return found != std::end(kTypes) && found->type == type ? found : nullptr;
}

const CounterTypeInfo* FindCounterTypeByName(absl::string_view name) {
  if (name == "PERF_PRECISION_TIMESTAMP")
    return FindCounterType(kPerfLargeRawBase);
  const CounterTypeInfo* found =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const auto& info) { return info.name == name; });
  return found != std::end(kTypes) ? found : nullptr;
}

std::string CounterTypeName(uint32_t type) {
  const CounterTypeInfo* info = FindCounterType(type);
  return info != nullptr ? std::string(info->name)
                         : absl::StrFormat("0x%08X", type);
}

bool UsesTwoSamples(Formula formula) {
  switch (formula) {
    case kNotDisplayable:
    case kRaw:
    case kRawFraction:
    case kElapsedTime:
      return false;
    default:
      return true;
  }
}

bool IsHexType(uint32_t type) {
  return type == kPerfCounterRawcountHex ||
         type == kPerfCounterLargeRawcountHex;
}

bool IsBaseType(uint32_t type) {
  return (type & kTypeMask) == kTypeCounter &&
         (type & kSubtypeMask) == kSubtypeBase;
}

bool IsMultiTimer(uint32_t type) {
  switch (type) {
    case kPerfCounterMultiTimer:
    case kPerf100NsecMultiTimer:
    case kPerfCounterMultiTimerInv:
    case kPerf100NsecMultiTimerInv:
      return true;
    default:
      return false;
  }
}

DisplaySuffix SuffixOf(uint32_t type) {
  const uint32_t display = type >> kDisplayShift;
  return display <= static_cast<uint32_t>(DisplaySuffix::kNoShow)
             ? static_cast<DisplaySuffix>(display)
             : DisplaySuffix::kNone;
}

}  // namespace fleetperf::perflib
