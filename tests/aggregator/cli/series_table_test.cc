#include "aggregator/cli/series_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Sparkline, HasABarForEachValueAndAMarkForEachGap) {
  EXPECT_EQ(Sparkline({0, 7, std::nullopt, 3, 4}, 10, Characters::kUnicode),
            "▁█·▄▅");
  EXPECT_EQ(Sparkline({0, 7, std::nullopt, 3, 4}, 10, Characters::kAscii),
            "_@?=+");
  EXPECT_EQ(Sparkline({}, 10, Characters::kUnicode), "");
}

TEST(Sparkline, StartsAt0OrAtANegativeMinimum) {
  EXPECT_EQ(Sparkline({7, 7}, 10, Characters::kUnicode), "██");
  EXPECT_EQ(Sparkline({0, 0}, 10, Characters::kUnicode), "▁▁");
  EXPECT_EQ(Sparkline({-7, 0}, 10, Characters::kUnicode), "▁█");
}

TEST(Sparkline, KeepsPeaksInFewCells) {
  // Two, two, and three of the seven.
  EXPECT_EQ(Sparkline({0, 7, 1, std::nullopt, std::nullopt, std::nullopt,
                       std::nullopt},
                      3, Characters::kUnicode),
            "█▂·");
}

Value At(int second, double value) {
  return {.time = absl::FromUnixSeconds(second), .value = value};
}

Value GapAt(int second, v1::GapCause cause) {
  return {.time = absl::FromUnixSeconds(second),
          .status = v1::VALUE_STATUS_GAP,
          .cause = cause};
}

v1::Series SeriesOf(uint32_t id, const std::string& machine,
                    const std::string& path, const std::string& unit) {
  v1::Series series;
  series.set_id(id);
  series.set_machine(machine);
  series.set_path(path);
  series.set_unit(unit);
  series.set_type(0x00010000);  // PERF_COUNTER_RAWCOUNT
  return series;
}

void Add(SeriesTable& table, const v1::Series& series, const Value& value) {
  table.Add(ValueRecord(series, value, /*with_time=*/true), series, value);
}

TEST(SeriesTable, HasOneRowPerSeriesWithItsOwnUnit) {
  SeriesTable table(absl::Minutes(1));
  const v1::Series memory = SeriesOf(1, "web-1", "\\Memory\\Free", "B");
  const v1::Series time = SeriesOf(2, "web-2", "\\CPU\\Time", "%");
  Add(table, memory, At(60, 512));
  Add(table, memory, At(120, 2048));
  Add(table, memory, At(180, 1280));
  Add(table, time, At(60, 12.5));
  Add(table, time, At(120, 37.5));
  EXPECT_THAT(
      table.Lines(0, std::nullopt),
      ElementsAre("from 1970-01-01T00:00:00Z to 1970-01-01T00:03:00Z",
                  "MACHINE  COUNTER        LAST    AVG    MIN    MAX  UNIT",
                  "web-1    \\Memory\\Free   1.25   1.25   0.50      2  KiB",
                  "web-2    \\CPU\\Time     37.50  25.00  12.50  37.50  %"));
}

TEST(SeriesTable, CountsGapsByTheirCause) {
  SeriesTable table(absl::Minutes(1));
  const v1::Series series = SeriesOf(1, "web-1", "\\System\\Processes", "");
  Add(table, series, GapAt(1, v1::GAP_CAUSE_SPOOL_FULL));
  Add(table, series, At(2, 5));
  Add(table, series, GapAt(3, v1::GAP_CAUSE_NO_SAMPLES));
  Add(table, series, GapAt(4, v1::GAP_CAUSE_NO_SAMPLES));
  Value fell = At(5, 0);
  fell.status = v1::VALUE_STATUS_NEGATIVE_VALUE;
  Add(table, series, fell);
  const v1::Series silent = SeriesOf(2, "web-2", "\\System\\Processes", "");
  Add(table, silent, GapAt(1, v1::GAP_CAUSE_NO_SAMPLES));
  EXPECT_THAT(
      table.Lines(0, std::nullopt),
      ElementsAre(HasSubstr("from"), EndsWith("MAX  GAPS  CAUSE"),
                  EndsWith("   5    5    5    5     4  "
                           "1 negative_value, 2 no_samples, "
                           "1 spool_full"),
                  AllOf(EndsWith("   1  no_samples"), Not(HasSubstr(" 0 ")))));
  // The path moves above the table, after the end of the causes was cut.
  const std::string narrow = table.Lines(75, Characters::kAscii)[3];
  EXPECT_THAT(narrow, HasSubstr("     4  1 negative_…  ?@???"));
  EXPECT_LE(DisplayWidth(narrow), 75);
}

TEST(SeriesTable, FillsRemainingSpaceWithTheTrend) {
  SeriesTable table(absl::Minutes(1));
  const v1::Series series = SeriesOf(1, "web-1", "\\CPU\\Time", "%");
  for (int second = 0; second < 200; ++second) {
    Add(table, series, At(second, second % 2));
  }
  // MACHINE  COUNTER    LAST   AVG   MIN   MAX  UNIT take 48 columns.
  EXPECT_THAT(table.Lines(0, std::nullopt)[1], SizeIs(48));
  EXPECT_THAT(table.Lines(58, Characters::kAscii)[2], EndsWith("  @@@@@@@@"));
  EXPECT_THAT(table.Lines(80, Characters::kAscii)[2], SizeIs(80));
  EXPECT_THAT(table.Lines(400, Characters::kAscii)[2], SizeIs(48 + 2 + 60));
  EXPECT_THAT(table.Lines(400, std::nullopt)[2], SizeIs(Le(48)));
}

v1::Series ProcessOf(uint32_t id, const std::string& instance) {
  v1::Series series = SeriesOf(
      id, "web-1", "\\Process V2(" + instance + ")\\% Processor Time", "%");
  series.set_instance(instance);
  return series;
}

TEST(SeriesTable, KeepsNamesNewestValuesAndUnitsAtAnyWidth) {
  SeriesTable table(absl::Minutes(1));
  Add(table, ProcessOf(1, "fleetperf-agent:1482"), At(1, 12.5));
  Add(table, ProcessOf(2, "python3:2290"), At(1, 99.5));
  EXPECT_THAT(table.Lines(50, Characters::kUnicode),
              ElementsAre(HasSubstr("from"),
                          "\\\\web-1\\Process V2(*)\\% Processor Time",
                          "INSTANCE               LAST    AVG    MAX  UNIT",
                          "fleetperf-agent:1482  12.50  12.50  12.50  %",
                          "python3:2290          99.50  99.50  99.50  %"));
  EXPECT_THAT(
      table.Lines(80, Characters::kUnicode)[3],
      AllOf(HasSubstr("fleetperf-agent:1482  12.50  12.50  12.50  12.50  "
                      "%     █")));
  for (const size_t width : {20, 30, 50, 80, 200}) {
    for (const std::string& line : table.Lines(width, Characters::kUnicode)) {
      EXPECT_LE(DisplayWidth(line), std::max<size_t>(width, 49)) << line;
    }
    EXPECT_THAT(
        table.Lines(width, std::nullopt).back(),
        AllOf(HasSubstr("python3"), HasSubstr("99.50"), HasSubstr("%")));
  }
}

}  // namespace
}  // namespace fleetperf::cli
