#include "perflib/counter_type.h"

#include <set>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using enum Formula;
using Suffix = DisplaySuffix;
using D = Denominator;

// The table of Microsoft's counter types (values from winperf.h; formulas and
// time sources from "Calculating Counter Values" and [MS-PCQ]), written
// independently of the code.
struct Row {
  const char* name;
  uint32_t type;
  Suffix suffix;
  int samples;  // 0: not displayed
  Formula formula;
  D denominator;
};

constexpr Row kTable[] = {
    {"PERF_COUNTER_RAWCOUNT_HEX", 0x00000000, Suffix::kNone, 1, kRaw, D::kNone},
    {"PERF_COUNTER_LARGE_RAWCOUNT_HEX", 0x00000100, Suffix::kNone, 1, kRaw,
     D::kNone},
    {"PERF_COUNTER_TEXT", 0x00000B00, Suffix::kNone, 0, kNotDisplayable,
     D::kNone},
    {"PERF_COUNTER_RAWCOUNT", 0x00010000, Suffix::kNone, 1, kRaw, D::kNone},
    {"PERF_COUNTER_LARGE_RAWCOUNT", 0x00010100, Suffix::kNone, 1, kRaw,
     D::kNone},
    {"PERF_COUNTER_DELTA", 0x00400400, Suffix::kNone, 2, kDelta, D::kNone},
    {"PERF_COUNTER_LARGE_DELTA", 0x00400500, Suffix::kNone, 2, kDelta,
     D::kNone},
    {"PERF_SAMPLE_COUNTER", 0x00410400, Suffix::kNone, 2, kRate,
     D::kPerfTimeStamp},
    {"PERF_COUNTER_QUEUELEN_TYPE", 0x00450400, Suffix::kNone, 2, kQueueLength,
     D::kPerfTimeStamp},
    {"PERF_COUNTER_LARGE_QUEUELEN_TYPE", 0x00450500, Suffix::kNone, 2,
     kQueueLength, D::kPerfTimeStamp},
    {"PERF_COUNTER_100NS_QUEUELEN_TYPE", 0x00550500, Suffix::kNone, 2,
     kQueueLength, D::kPerfTime100NSec},
    {"PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE", 0x00650500, Suffix::kNone, 2,
     kQueueLength, D::kPerfTimeCounter},
    {"PERF_COUNTER_COUNTER", 0x10410400, Suffix::kPerSecond, 2, kRate,
     D::kPerfTimeStamp},
    {"PERF_COUNTER_BULK_COUNT", 0x10410500, Suffix::kPerSecond, 2, kRate,
     D::kPerfTimeStamp},
    {"PERF_RAW_FRACTION", 0x20020400, Suffix::kPercent, 1, kRawFraction,
     D::kBaseCounter},
    {"PERF_LARGE_RAW_FRACTION", 0x20020500, Suffix::kPercent, 1, kRawFraction,
     D::kBaseCounter},
    {"PERF_COUNTER_TIMER", 0x20410500, Suffix::kPercent, 2, kTimer,
     D::kPerfTimeStamp},
    {"PERF_PRECISION_SYSTEM_TIMER", 0x20470500, Suffix::kPercent, 2, kTimer,
     D::kBaseCounter},
    {"PERF_100NSEC_TIMER", 0x20510500, Suffix::kPercent, 2, kTimer,
     D::kPerfTime100NSec},
    {"PERF_PRECISION_100NS_TIMER", 0x20570500, Suffix::kPercent, 2, kTimer,
     D::kBaseCounter},
    {"PERF_OBJ_TIME_TIMER", 0x20610500, Suffix::kPercent, 2, kTimer,
     D::kPerfTimeCounter},
    {"PERF_PRECISION_OBJECT_TIMER", 0x20670500, Suffix::kPercent, 2, kTimer,
     D::kPerfTimeCounter},
    {"PERF_SAMPLE_FRACTION", 0x20C20400, Suffix::kPercent, 2, kSampleFraction,
     D::kBaseCounter},
    {"PERF_COUNTER_TIMER_INV", 0x21410500, Suffix::kPercent, 2, kTimerInverse,
     D::kPerfTimeStamp},
    {"PERF_100NSEC_TIMER_INV", 0x21510500, Suffix::kPercent, 2, kTimerInverse,
     D::kPerfTime100NSec},
    {"PERF_COUNTER_MULTI_TIMER", 0x22410500, Suffix::kPercent, 2, kMultiTimer,
     D::kPerfTimeStamp},
    {"PERF_100NSEC_MULTI_TIMER", 0x22510500, Suffix::kPercent, 2,
     kMultiTimer100Ns, D::kPerfTime100NSec},
    {"PERF_COUNTER_MULTI_TIMER_INV", 0x23410500, Suffix::kPercent, 2,
     kMultiTimerInverse, D::kPerfTimeStamp},
    {"PERF_100NSEC_MULTI_TIMER_INV", 0x23510500, Suffix::kPercent, 2,
     kMultiTimerInverse, D::kPerfTime100NSec},
    {"PERF_AVERAGE_TIMER", 0x30020400, Suffix::kSeconds, 2, kAverageTimer,
     D::kBaseCounter},
    {"PERF_ELAPSED_TIME", 0x30240500, Suffix::kSeconds, 1, kElapsedTime,
     D::kPerfTimeCounter},
    {"PERF_COUNTER_NODATA", 0x40000200, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_AVERAGE_BULK", 0x40020500, Suffix::kNoShow, 2, kAverageBulk,
     D::kBaseCounter},
    {"PERF_SAMPLE_BASE", 0x40030401, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_AVERAGE_BASE", 0x40030402, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_RAW_BASE", 0x40030403, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_LARGE_RAW_BASE", 0x40030500, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_COUNTER_MULTI_BASE", 0x42030500, Suffix::kNoShow, 0, kNotDisplayable,
     D::kNone},
    {"PERF_COUNTER_HISTOGRAM_TYPE", 0x80000000, Suffix::kNone, 0,
     kNotDisplayable, D::kNone},
};

TEST(CounterType, KnowsMicrosoftsTable) {
  for (const Row& row : kTable) {
    SCOPED_TRACE(row.name);
    const CounterTypeInfo* info = FindCounterType(row.type);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->type, row.type);
    EXPECT_EQ(info->name, row.name);
    EXPECT_EQ(info->formula, row.formula);
    EXPECT_EQ(info->denominator, row.denominator);
    EXPECT_EQ(FindCounterTypeByName(row.name), info);
    EXPECT_EQ(CounterTypeName(row.type), row.name);
    EXPECT_EQ(SuffixOf(row.type), row.suffix);
    EXPECT_EQ(UsesTwoSamples(info->formula), row.samples == 2);
    EXPECT_EQ(IsBaseType(row.type), absl::string_view(row.name).find("_BASE") !=
                                        absl::string_view::npos);
  }
}

TEST(CounterType, ListsTheTableAndWmisLargeRawBase) {
  std::set<uint32_t> expected = {0x40030503};
  for (const Row& row : kTable) expected.insert(row.type);
  std::set<uint32_t> listed;
  for (const CounterTypeInfo& info : AllCounterTypes())
    listed.insert(info.type);
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(AllCounterTypes().size(), expected.size());
}

TEST(CounterType, AcceptsTheTwoOtherFormsOfLargeRawBase) {
  EXPECT_EQ(FindCounterTypeByName("PERF_PRECISION_TIMESTAMP"),
            FindCounterType(0x40030500));
  // The value in WMI's documentation.
  EXPECT_EQ(CounterTypeName(0x40030503), "PERF_LARGE_RAW_BASE");
  EXPECT_TRUE(IsBaseType(0x40030503));
  EXPECT_EQ(FindCounterTypeByName("PERF_LARGE_RAW_BASE")->type, 0x40030500);
}

TEST(CounterType, FindsNothingForAnUnknownType) {
  for (const uint32_t type :
       {0x00012000u, 0x10410401u, 0x00000001u, 0x80000001u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FindCounterType(type), nullptr) << type;
  }
  EXPECT_EQ(CounterTypeName(0x00012000), "0x00012000");
  EXPECT_EQ(CounterTypeName(0xFFFFFFFF), "0xFFFFFFFF");
  for (const char* name :
       {"", "PERF_COUNTER", "PERF_DOUBLE_RAW", "perf_counter_timer"}) {
    EXPECT_EQ(FindCounterTypeByName(name), nullptr) << name;
  }
}

TEST(CounterType, TestsAllBitsOfTheSubtypeForABase) {
  EXPECT_FALSE(IsBaseType(0x20470500));  // PRECISION's bits contain BASE's
  EXPECT_FALSE(IsBaseType(0x00030000));  // of type NUMBER
  EXPECT_FALSE(IsBaseType(0x00030800));  // of type TEXT
  EXPECT_TRUE(IsBaseType(0x40030404));   // unknown, but a base
}

TEST(CounterType, KnowsMultiTimers) {
  std::vector<absl::string_view> names;
  for (const CounterTypeInfo& info : AllCounterTypes()) {
    if (IsMultiTimer(info.type)) names.push_back(info.name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre(
                         "PERF_COUNTER_MULTI_TIMER", "PERF_100NSEC_MULTI_TIMER",
                         "PERF_COUNTER_MULTI_TIMER_INV",
                         "PERF_100NSEC_MULTI_TIMER_INV"));
}

TEST(CounterType, TakesTheSuffixOfAnUnknownTypeFromItsBits) {
  EXPECT_EQ(SuffixOf(0x10000001), Suffix::kPerSecond);
  EXPECT_EQ(SuffixOf(0x4FFFFFFF), Suffix::kNoShow);
  EXPECT_EQ(SuffixOf(0x50000000), Suffix::kNone);
  EXPECT_EQ(SuffixOf(0xF0000000), Suffix::kNone);
}

}  // namespace
}  // namespace fleetperf::perflib
