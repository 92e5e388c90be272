#include "cli/series_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fleetperf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

// The bars of values with a scale of their own.
std::string BarsOf(const std::vector<std::optional<double>>& values,
                   size_t cells, Characters characters) {
  TrendScale scale;
  for (const auto& value : values) scale.Add(value);
  return Sparkline(values, cells, characters, scale);
}

TEST(Sparkline, HasABarForEachValueAndABlankForEachGap) {
  EXPECT_EQ(BarsOf({0, 7, std::nullopt, 3, 4}, 10, Characters::kUnicode),
            "▁█ ▄▅");
  EXPECT_EQ(BarsOf({0, 7, std::nullopt, 3, 4}, 10, Characters::kAscii),
            "_@ =+");
  EXPECT_EQ(BarsOf({}, 10, Characters::kUnicode), "");
}

TEST(Sparkline, StartsAt0OrAtANegativeMinimum) {
  EXPECT_EQ(BarsOf({7, 7}, 10, Characters::kUnicode), "██");
  EXPECT_EQ(BarsOf({0, 0}, 10, Characters::kUnicode), "▁▁");
  EXPECT_EQ(BarsOf({-7, 0}, 10, Characters::kUnicode), "▁█");
}

TEST(Sparkline, KeepsPeaksInFewCells) {
  // Two, two, and three of the seven.
  EXPECT_EQ(
      BarsOf({0, 7, 1, std::nullopt, std::nullopt, std::nullopt, std::nullopt},
             3, Characters::kUnicode),
      "█▂ ");
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
  SeriesTable table(absl::Seconds(1));
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
      ElementsAre(HasSubstr("from"), EndsWith("MAX  COVERED  GAPS  CAUSE"),
                  EndsWith("   5    5    5    5   20.0 %     4  "
                           "1 negative_value, 2 no_samples, "
                           "1 spool_full"),
                  AllOf(EndsWith("    0.0 %     1  no_samples"),
                        Not(HasSubstr(" 0 ")))));
  // The path moves above the table, after the end of the causes was cut.
  const std::string narrow = table.Lines(84, Characters::kAscii)[3];
  EXPECT_THAT(narrow, HasSubstr("     4  1 negative_…   @"));
  EXPECT_LE(DisplayWidth(narrow), 84);
}

TEST(SeriesTable, FillsRemainingSpaceWithTheTrend) {
  SeriesTable table(absl::Seconds(1));
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

// Value::share and Value::ended are those of the series.
Value Ranked(Value value, double share,
             std::optional<absl::Time> ended = std::nullopt) {
  value.share = share;
  value.ended = ended;
  return value;
}

v1::Series ProcessOf(uint32_t id, const std::string& instance) {
  v1::Series series = SeriesOf(
      id, "web-1", "\\Process V2(" + instance + ")\\% Processor Time", "%");
  series.set_instance(instance);
  return series;
}

TEST(SeriesTable, ShowsTheKeyOfARankingAndWhatHasEnded) {
  SeriesTable table(absl::Minutes(1));
  const v1::Series first = ProcessOf(1, "fleetperf-agent:1482");
  const v1::Series second = ProcessOf(2, "python3:2290");
  for (const int time : {60, 120, 180}) {
    Add(table, first, Ranked(At(time, 20.5), 20.5));
  }
  Add(table, second, Ranked(At(60, 99.5), 9.95, absl::FromUnixMillis(36'700)));
  EXPECT_THAT(
      table.Lines(60, std::nullopt),
      ElementsAre("from 1970-01-01T00:00:00Z to 1970-01-01T00:03:00Z, by SHARE",
                  "\\\\web-1\\Process V2(*)\\% Processor Time",
                  "INSTANCE          SHARE   LAST  UNIT  COVERED  ENDED",
                  "fleetperf-agent…  20.50  20.50  %",
                  "python3:2290       9.95  99.50  %      33.3 %  00:00:36Z"));
  EXPECT_THAT(
      table.Lines(80, std::nullopt),
      ElementsAre(
          "from 1970-01-01T00:00:00Z to 1970-01-01T00:03:00Z, by SHARE",
          "\\\\web-1\\Process V2(*)\\% Processor Time",
          "INSTANCE              SHARE   LAST    AVG    MAX  UNIT  COVERED  "
          "ENDED",
          "fleetperf-agent:1482  20.50  20.50  20.50  20.50  %",
          "python3:2290           9.95  99.50  99.50  99.50  %      33.3 %  "
          "00:00:36Z"));
  for (const size_t width : {120, 200}) {
    for (const std::string& line : table.Lines(width, Characters::kAscii)) {
      EXPECT_LE(DisplayWidth(line), width);
    }
    EXPECT_THAT(table.Lines(width, Characters::kAscii).back(),
                HasSubstr("python3:2290           9.95  99.50"));
  }
}

TEST(SeriesTable, EndsHaveTheirDateIfTheTimeIsADayOrMore) {
  SeriesTable table(absl::Hours(1));
  const v1::Series series = ProcessOf(1, "python3:2290");
  const absl::Time end = absl::FromUnixSeconds(3600);
  Add(table, series, Ranked(At(3600, 1), 1, end));
  Add(table, ProcessOf(2, "nginx:12"), Ranked(At(25 * 3600, 1), 1));
  EXPECT_THAT(table.Lines(0, std::nullopt)[2],
              EndsWith("  1970-01-01T01:00:00Z"));
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
                      "%     ▂")));
  for (const size_t width : {20, 30, 50, 80, 200}) {
    for (const std::string& line : table.Lines(width, Characters::kUnicode)) {
      EXPECT_LE(DisplayWidth(line), std::max<size_t>(width, 49)) << line;
    }
    EXPECT_THAT(
        table.Lines(width, std::nullopt).back(),
        AllOf(HasSubstr("python3"), HasSubstr("99.50"), HasSubstr("%")));
  }
}

// The request of the first hour of 1970, minute by minute.
v1::QueryRangeRequest FirstHour() {
  v1::QueryRangeRequest request;
  request.mutable_start_time()->set_seconds(0);
  request.mutable_end_time()->set_seconds(3600);
  request.mutable_step()->set_seconds(60);
  return request;
}

// Adds a value at the end of each of these minutes.
void AddMinutes(SeriesTable& table, const v1::Series& series, int first,
                int last, double value) {
  for (int minute = first; minute <= last; ++minute) {
    Add(table, series, At(60 * minute, value));
  }
}

// Returns the bars of each row.
std::vector<std::string> TrendsOf(const SeriesTable& table) {
  const std::vector<std::string> lines = table.Lines(0, Characters::kAscii);
  const size_t start = lines.at(1).find("TREND");
  std::vector<std::string> trends;
  for (size_t i = 2; i < lines.size(); ++i) {
    trends.push_back(lines[i].size() > start ? lines[i].substr(start) : "");
  }
  return trends;
}

TEST(SeriesTable, DrawsTrendsOnOneTimeAxis) {
  SeriesTable table(absl::Minutes(1));
  AddMinutes(table, ProcessOf(1, "daemon:1"), 1, 10, 8);
  AddMinutes(table, ProcessOf(2, "short:2"), 6, 6, 8);
  const v1::Series gappy = ProcessOf(3, "gappy:3");
  Add(table, gappy, At(120, 8));
  Add(table, gappy, GapAt(180, v1::GAP_CAUSE_NO_SAMPLES));
  Add(table, gappy, At(240, 8));
  EXPECT_THAT(TrendsOf(table), ElementsAre("@@@@@@@@@@", "     @", " @ @"));
}

TEST(SeriesTable, DrawsValuesPerSampleAsLongAsTheirInterval) {
  // One counter each second, one every 5 s, none on whole seconds.
  SeriesTable table(absl::Seconds(1));
  for (int i = 0; i < 20; ++i) {
    Value value = At(i, 8);
    value.time += absl::Milliseconds(i % 3);
    Add(table, ProcessOf(1, "often:1"), value);
  }
  for (int i = 4; i < 20; i += 5) {
    Value value = At(i, i == 14 ? 8 : 0);
    value.time -= absl::Milliseconds(i % 3);
    Add(table, ProcessOf(2, "rarely:2"), value);
  }
  EXPECT_THAT(TrendsOf(table),
              ElementsAre("@@@@@@@@@@@@@@@@@@@@", "__________@@@@@_____"));
}

TEST(SeriesTable, KeepsPeaksOfLongTimes) {
  SeriesTable table(absl::Minutes(1));
  AddMinutes(table, ProcessOf(1, "a:1"), 1, 1000, 0);
  AddMinutes(table, ProcessOf(1, "a:1"), 1001, 1001, 8);
  AddMinutes(table, ProcessOf(1, "a:1"), 1002, 2000, 0);
  const std::string trend = TrendsOf(table).at(0);
  EXPECT_THAT(trend, SizeIs(60));
  EXPECT_EQ(std::count(trend.begin(), trend.end(), '@'), 1);
  EXPECT_EQ(trend.find('@'), 30);
}

TEST(SeriesTable, DrawsRowsOfOneCounterToOneScale) {
  SeriesTable table(absl::Minutes(1));
  AddMinutes(table, ProcessOf(1, "busy:1"), 1, 2, 70);
  AddMinutes(table, ProcessOf(2, "quiet:2"), 1, 2, 10);
  AddMinutes(table, SeriesOf(3, "web-1", "\\System\\Processes", ""), 1, 2, 10);
  EXPECT_THAT(TrendsOf(table), ElementsAre("@@", "..", "@@"));
}

TEST(SeriesTable, SaysWhatRowsCoverOfTheAskedRange) {
  SeriesTable table(absl::Minutes(1), FirstHour());
  const v1::Series whole = SeriesOf(1, "web-1", "\\CPU\\% Time", "%");
  const v1::Series away = SeriesOf(2, "web-2", "\\CPU\\% Time", "%");
  AddMinutes(table, whole, 1, 60, 50);
  AddMinutes(table, away, 1, 44, 50);
  Value partly = At(60 * 45, 50);
  partly.coverage = 0.5;
  Add(table, away, partly);
  EXPECT_THAT(
      table.Lines(0, std::nullopt),
      ElementsAre("from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z",
                  "MACHINE  COUNTER       LAST    AVG    MIN    MAX  UNIT  "
                  "COVERED",
                  "web-1    \\CPU\\% Time  50.00  50.00  50.00  50.00  %",
                  "web-2    \\CPU\\% Time  50.00  50.00  50.00  50.00  %     "
                  " 74.2 %"));
  // COVERED stays at any width.
  const auto lines_of = [&](size_t width) {
    const auto lines = table.Lines(width, Characters::kAscii);
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width);
    return std::vector(lines.begin() + 1, lines.end());
  };
  EXPECT_THAT(
      lines_of(60),
      ElementsAre(
          "\\CPU\\% Time",
          "MACHINE   LAST    AVG    MIN    MAX  UNIT  COVERED  TREND",
          "web-1    50.00  50.00  50.00  50.00  %              @@@@@@@@",
          "web-2    50.00  50.00  50.00  50.00  %      74.2 %  "
          "@@@@@@"));
  EXPECT_THAT(
      lines_of(80)[0],
      "MACHINE  COUNTER       LAST    AVG    MIN    MAX  UNIT  COVERED  "
      "TREND");
  EXPECT_THAT(lines_of(80)[2], EndsWith("74.2 %  " + std::string(12, '@')));
  EXPECT_THAT(lines_of(120)[2], EndsWith("74.2 %  " + std::string(41, '@')));
  EXPECT_THAT(lines_of(200)[2], EndsWith("74.2 %  " + std::string(45, '@')));
}

TEST(SeriesTable, TakesTheEndOfTheRangeFromTheAnswer) {
  v1::QueryRangeRequest request;
  request.mutable_since()->set_seconds(3600);
  request.mutable_step()->set_seconds(60);
  const auto lines_of = [&](int first, absl::Time range_end) {
    SeriesTable table(absl::Minutes(1), request);
    const v1::Series series = SeriesOf(1, "web-1", "\\CPU\\% Time", "%");
    for (int minute = first; minute <= 60; ++minute) {
      Value value = At(60 * minute, 50);
      value.range_end = range_end;
      Add(table, series, value);
    }
    return table.Lines(0, std::nullopt);
  };
  // It is decades ago by this machine's clock.
  EXPECT_THAT(lines_of(1, absl::FromUnixSeconds(3630)),
              ElementsAre("from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z",
                          EndsWith("UNIT"), EndsWith("%")));
  EXPECT_THAT(lines_of(31, absl::FromUnixSeconds(5400)),
              ElementsAre(HasSubstr(": 30m of the last 1h"),
                          EndsWith("  COVERED"), EndsWith("  50.0 %")));
}

TEST(SeriesTable, HasTheAskedRangeAboveALaterStart) {
  SeriesTable table(absl::Minutes(1), FirstHour());
  AddMinutes(table, SeriesOf(1, "web-1", "\\CPU\\% Time", "%"), 26, 60, 50);
  EXPECT_THAT(
      table.Lines(0, std::nullopt),
      ElementsAre("from 1970-01-01T00:25:00Z to 1970-01-01T01:00:00Z: 35m of "
                  "the time from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z",
                  EndsWith("  COVERED"), EndsWith("  58.3 %")));
}

}  // namespace
}  // namespace fleetperf::cli
