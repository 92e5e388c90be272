#include "cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/missing.h"
#include "cli/numbers.h"
#include "cli/pdh_csv.h"
#include "cli/table.h"
#include "cli/values.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;

std::string Number(double value, absl::string_view unit) {
  const NumberText text = FormatNumber(value, unit);
  return text.unit.empty() ? text.number : text.number + " " + text.unit;
}

TEST(FormatNumber, ShowsSignificantDigits) {
  EXPECT_EQ(Number(0, ""), "0");
  EXPECT_EQ(Number(65, ""), "65");
  EXPECT_EQ(Number(0.29, ""), "0.29");
  EXPECT_EQ(Number(12.345, "1/s"), "12.35 /s");
  EXPECT_EQ(Number(123.45, "1/s"), "123.5 /s");
  EXPECT_EQ(Number(0, "1/s"), "0 /s");
  EXPECT_EQ(Number(1234567.8, ""), "1,234,568");
  EXPECT_EQ(Number(-1234567, ""), "-1,234,567");
  EXPECT_EQ(Number(0.00123, ""), "0.0012");
}

TEST(FormatNumber, ShowsPercentagesWithTwoDecimals) {
  EXPECT_EQ(Number(12.3456, "%"), "12.35 %");
  EXPECT_EQ(Number(100, "%"), "100.00 %");
  EXPECT_EQ(Number(-0.01, "%"), "0.00 %");
  EXPECT_EQ(Number(-3, "%"), "-3.00 %");
}

TEST(FormatNumber, ShowsPercentagesThatAreNotZero) {
  EXPECT_EQ(Number(0, "%"), "0.00 %");
  EXPECT_EQ(Number(0.034, "%"), "0.03 %");
  EXPECT_EQ(Number(0.01, "%"), "0.01 %");
  EXPECT_EQ(Number(0.0042, "%"), "0.004 %");
  EXPECT_EQ(Number(0.001, "%"), "0.001 %");
  EXPECT_EQ(Number(0.0009, "%"), "<0.001 %");
}

TEST(FormatNumber, ShowsBytesInPowersOf1024) {
  EXPECT_EQ(Number(512, "B"), "512 B");
  EXPECT_EQ(Number(1024, "B"), "1 KiB");
  EXPECT_EQ(Number(1536, "B/s"), "1.50 KiB/s");
  EXPECT_EQ(Number(23.5 * 1024 * 1024 * 1024, "B"), "23.50 GiB");
  EXPECT_EQ(Number(-2048, "B"), "-2 KiB");
}

TEST(FormatNumber, ShowsTimesInSuitableUnits) {
  EXPECT_EQ(Number(0, "s"), "0 s");
  EXPECT_EQ(Number(0.0000425, "s"), "42.50 µs");
  EXPECT_EQ(Number(0.0125, "s"), "12.50 ms");
  EXPECT_EQ(Number(3, "s"), "3 s");
  EXPECT_EQ(Number(3725.9, "s"), "1h2m5s");
  EXPECT_EQ(Number(93784, "s"), "1d2h3m4s");
  EXPECT_EQ(Number(7 * 86400, "s"), "7d");
}

std::string Scaled(double value, double largest, absl::string_view unit) {
  const Scale scale = ScaleFor(largest, unit);
  return FormatScaled(value, scale) + " " + scale.unit;
}

TEST(FormatScaled, GivesNumbersTheUnitOfTheLargest) {
  EXPECT_EQ(Scaled(512, 4096, "B"), "0.50 KiB");
  EXPECT_EQ(Scaled(512, 1023, "B/s"), "512 B/s");
  EXPECT_EQ(Scaled(0.5, 0.002, "s"), "500 ms");
  EXPECT_EQ(Scaled(30, 90, "s"), "0.50 min");
  EXPECT_EQ(Scaled(1800, 7200, "s"), "0.50 h");
  EXPECT_EQ(Scaled(43200, 86400, "s"), "0.50 d");
  EXPECT_EQ(Scaled(7, 1e9, "1/s"), "7 /s");
  EXPECT_EQ(Scaled(-0.01, 50, "%"), "0.00 %");
}

TEST(Cut, LeavesRoomForAnEllipsis) {
  EXPECT_EQ(CutEnd("äöüß", 4), "äöüß");
  EXPECT_EQ(CutEnd("äöüß", 3), "äö…");
  EXPECT_EQ(CutFront("äöüß", 4), "äöüß");
  EXPECT_EQ(CutFront("äöüß", 3), "…üß");
  EXPECT_EQ(CutFront("äöüß", 1), "…");
}

TEST(ToJson, WritesFieldsInOrderAndDetailsOnlyWithAValue) {
  EXPECT_EQ(ToJson({{.name = "machine", .value = std::string("web-1")},
                    {.name = "value"},
                    {.name = "status", .value = std::string("gap")},
                    {.name = "breaks", .detail = true},
                    {.name = "cause",
                     .value = std::string("new_life"),
                     .detail = true}}),
            R"({"machine":"web-1","value":null,"status":"gap",)"
            R"("cause":"new_life"})");
  EXPECT_EQ(ToJson({{.name = "n", .value = std::string("a\"\n\xFF")}}),
            "{\"n\":\"a\\\"\\n\xEF\xBF\xBD\"}");
}

TEST(ToJson, EscapesText) {
  EXPECT_EQ(ToJson({{.name = "p", .value = std::string(R"(\\a\b "c" /)")}}),
            R"({"p":"\\\\a\\b \"c\" /"})");
  EXPECT_EQ(ToJson({{.name = "\"ä\"", .value = std::string("\t\x7F\\ö")}}),
            "{\"\\\"ä\\\"\":\"\\t\x7F\\\\ö\"}");
}

TEST(ToJson, WritesEmptyAndNestedRecords) {
  EXPECT_EQ(ToJson({}), "{}");
  const Record record = {
      {.name = "none", .value = std::vector<Record>()},
      {.name = "queries",
       .value = std::vector<Record>{{{.name = "q", .value = uint32_t{1}}},
                                    {{.name = "q"}}}}};
  EXPECT_EQ(ToJson(record), R"({"none":[],"queries":[{"q":1},{"q":null}]})");
}

TEST(ToJson, LosesNoDigits) {
  EXPECT_EQ(ToJson({{.name = "v", .value = 0.1}}), R"({"v":0.1})");
  EXPECT_EQ(ToJson({{.name = "v", .value = 33.333333333333336}}),
            R"({"v":33.333333333333336})");
  EXPECT_EQ(ToJson({{.name = "v", .value = 3.0}}), R"({"v":3.0})");
  EXPECT_EQ(ToJson({{.name = "v", .value = HUGE_VAL}}), R"({"v":null})");
}

TEST(TableText, ShowsNumbersWithoutQuotes) {
  EXPECT_EQ(TableText({.name = "v", .value = uint64_t{5}}), "5");
  EXPECT_EQ(TableText({.name = "v", .value = int64_t{-5}}), "-5");
  EXPECT_EQ(TableText({.name = "v", .value = uint32_t{5}}), "5");
  EXPECT_EQ(TableText({.name = "v", .value = 0.5}), "0.5");
  EXPECT_EQ(TableText({.name = "v", .value = false}), "false");
  EXPECT_EQ(TableText({.name = "v", .value = std::string("\"a\"")}), "\"a\"");
}

TEST(ToJson, WritesIntegersOf64BitsAsStrings) {
  EXPECT_EQ(ToJson({{.name = "v", .value = uint64_t{18446744073709551615u}}}),
            R"({"v":"18446744073709551615"})");
  EXPECT_EQ(ToJson({{.name = "v", .value = uint64_t{5}}}), R"({"v":"5"})");
  EXPECT_EQ(ToJson({{.name = "v", .value = int64_t{-5}}}), R"({"v":"-5"})");
  EXPECT_EQ(ToJson({{.name = "v", .value = uint32_t{5}}}), R"({"v":5})");
}

TEST(ToJson, WritesBooleansAndObjects) {
  const Record record = {
      {.name = "b", .value = true, .text = "yes"},
      {.name = "labels",
       .value = Record{{.name = "dc", .value = std::string("1")},
                       {.name = "role", .value = std::string("web")}}},
      {.name = "only_in_tables",
       .value = std::string("x"),
       .shown_in = kInTables}};
  EXPECT_EQ(ToJson(record), R"({"b":true,"labels":{"dc":"1","role":"web"}})");
  EXPECT_EQ(TableText(record[0]), "yes");
  EXPECT_EQ(TableText(record[1]), "dc=1 role=web");
}

TEST(CsvPrinter, QuotesOnlyWhenNecessary) {
  const auto printer = MakePrinter(Format::kCsv);
  ::testing::internal::CaptureStdout();
  printer->Print({{.name = "path", .value = std::string("\\A(0,1)\\B")},
                  {.name = "value", .value = 1.5}});
  printer->Print({{.name = "path", .value = std::string("say \"hi\"")},
                  {.name = "value"}});
  printer->Finish();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "path,value\n\"\\A(0,1)\\B\",1.5\n\"say \"\"hi\"\"\",\n");
}

TEST(CsvPrinter, WritesTimesAsSpreadsheetsReadThem) {
  const Record record = {
      {.name = "time", .value = absl::FromUnixMillis(1'795'977'900'250)}};
  const auto printer = MakePrinter(Format::kCsv);
  ::testing::internal::CaptureStdout();
  printer->Print(record);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "time\n2026-11-29 18:45:00.250\n");
  EXPECT_EQ(ToJson(record), R"({"time":"2026-11-29T18:45:00.25Z"})");
  EXPECT_EQ(TableText(record[0]), "2026-11-29T18:45:00.25Z");
}

TEST(NumberOf, FollowsTheRegistrationsAttributes) {
  const struct {
    const char* name;
    uint32_t type;
    uint64_t attrib;
    double value;
    const char* expected;
  } kCases[] = {
      {"plain", 0x00010000, 0, 48879, "48,879"},
      {"RAWCOUNT_HEX", 0x00000000, 0, 48879, "0xBEEF"},
      {"LARGE_RAWCOUNT_HEX", 0x00000100, 0, 0x1p63, "0x8000000000000000"},
      {"DISPLAY_AS_HEX", 0x00010000, 0x10, 48879, "0xBEEF"},
      {"an average of hexadecimal numbers", 0, 0, 2.5, "2.50"},
      {"NO_GROUP_SEPARATOR", 0x00010000, 0x4, 48879, "48879"},
      // If several attributes are set, the first of the three applies.
      {"NO_GROUP_SEPARATOR and HEX", 0x00010000, 0x14, 48879, "48879"},
      {"DISPLAY_AS_REAL and HEX", 0x00010000, 0x18, 48879, "48,879"},
  };
  for (const auto& test : kCases) {
    v1::Series series;
    series.set_type(test.type);
    series.set_attrib(test.attrib);
    EXPECT_EQ(NumberOf(series, test.value).number, test.expected) << test.name;
  }
}

Value ValueAt(absl::Time time, double value) {
  return {.time = time, .value = value};
}

TEST(PdhCsv, HasAColumnForEachSeriesAndARowForEachTime) {
  const absl::Time noon = absl::FromCivil(
      absl::CivilSecond(2026, 11, 21, 12, 0, 0), absl::UTCTimeZone());
  v1::Series processor, memory, group;
  processor.set_id(1);
  processor.set_machine("web-1");
  processor.set_path("\\Processor Information(0,1)\\% Processor Time");
  memory.set_id(2);
  memory.set_machine("web-1");
  memory.set_path("\\Say \"x\"\\Bytes");
  group.set_id(3);
  group.set_path("\\System\\Processes");
  PdhCsv csv(absl::Seconds(1));
  csv.Add(processor, ValueAt(noon + absl::Milliseconds(996), 12.5));
  csv.Add(processor, ValueAt(noon + absl::Seconds(2), 0.1));
  csv.Add(memory, ValueAt(noon + absl::Seconds(2), 4096));
  Value gap{.time = noon, .status = v1::VALUE_STATUS_GAP};
  csv.Add(group, gap);
  EXPECT_THAT(
      csv.Lines(),
      ElementsAre("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\","
                  "\"\\\\web-1\\Processor Information(0,1)\\% Processor Time\","
                  "\"\\\\web-1\\Say \"\"x\"\"\\Bytes\",\"\\System\\Processes\"",
                  "\"11/21/2026 12:00:00.000\",\" \",\" \",\" \"",
                  "\"11/21/2026 12:00:01.000\",\"12.5\",\" \",\" \"",
                  "\"11/21/2026 12:00:02.000\",\"0.1\",\"4096\",\" \""));
}

// Returns the names of the columns, or a row's cells, without quotes.
std::vector<std::string> CellsOf(const PdhCsv& csv, size_t line) {
  std::string cells = csv.Lines().at(line);
  absl::StrReplaceAll({{"\"", ""}}, &cells);
  return absl::StrSplit(cells, ',');
}

v1::Series GroupOf(uint32_t id, const std::string& path) {
  v1::Series group;
  group.set_id(id);
  group.set_path(path);
  return group;
}

TEST(PdhCsv, HasAColumnForEachGroup) {
  const absl::Time time = absl::FromUnixSeconds(60);
  PdhCsv csv(absl::Seconds(60));
  v1::Series web = GroupOf(1, "\\Disk\\Bytes");
  (*web.mutable_labels())["role"] = "web";
  csv.Add(web, ValueAt(time, 1));
  v1::Series db = GroupOf(2, "\\Disk\\Bytes");
  (*db.mutable_labels())["role"] = "db";
  csv.Add(db, ValueAt(time, 2));
  v1::Series instance = GroupOf(3, "\\Disk\\Bytes");
  instance.set_instance("sda");
  csv.Add(instance, ValueAt(time, 3));
  v1::Series bytes = GroupOf(4, "\\Disk\\*");
  bytes.set_counter("*");
  bytes.set_unit("B/s");
  csv.Add(bytes, ValueAt(time, 4));
  csv.Add(GroupOf(5, "\\Disk\\Time"), ValueAt(time, 5));
  csv.Add(GroupOf(6, "\\Disk\\Time"), ValueAt(time, 6));
  EXPECT_THAT(
      CellsOf(csv, 0),
      ElementsAre("(PDH-CSV 4.0) (Coordinated Universal Time)(0)",
                  "\\\\role=web\\Disk\\Bytes", "\\\\role=db\\Disk\\Bytes",
                  "\\Disk(sda)\\Bytes", "\\Disk\\* in B/s", "\\Disk\\Time",
                  "\\Disk\\Time #2"));
  EXPECT_THAT(CellsOf(csv, 1), ElementsAre("01/01/1970 00:01:00.000", "1", "2",
                                           "3", "4", "5", "6"));
}

TEST(PdhCsv, PlacesMachinesOnOneGrid) {
  PdhCsv csv(absl::Seconds(1));
  const auto add = [&](uint32_t id, std::vector<int> milliseconds) {
    for (const int ms : milliseconds) {
      csv.Add(GroupOf(id, absl::StrCat("\\A\\", id)),
              ValueAt(absl::FromUnixMillis(ms), ms));
    }
  };
  // Ticks are a moment early or late, also across a whole second.
  add(1, {10'300, 11'305, 12'299, 13'300});
  add(2, {11'001, 11'999, 13'002});
  EXPECT_THAT(CellsOf(csv, 1),
              ElementsAre("01/01/1970 00:00:11.000", "10300", " "));
  EXPECT_THAT(CellsOf(csv, 2),
              ElementsAre("01/01/1970 00:00:12.000", "11305", "11001"));
  EXPECT_THAT(CellsOf(csv, 3),
              ElementsAre("01/01/1970 00:00:13.000", "12299", "11999"));
  EXPECT_THAT(CellsOf(csv, 4),
              ElementsAre("01/01/1970 00:00:14.000", "13300", "13002"));
}

// The windows of three machines that end at 23, 27 and 30 s.
TEST(PdhCsv, APartialWindowHasARowOfItsOwn) {
  PdhCsv csv(absl::Seconds(10));
  const auto add = [&](uint32_t id, int second, bool is_partial) {
    Value value = ValueAt(absl::FromUnixSeconds(second), second);
    value.is_partial = is_partial;
    csv.Add(GroupOf(id, absl::StrCat("\\A\\", id)), value);
  };
  for (const uint32_t id : {1, 2, 3}) {
    add(id, 10, false);
    add(id, 20, false);
  }
  add(1, 23, true);
  add(2, 27, true);
  EXPECT_THAT(CellsOf(csv, 2),
              ElementsAre("01/01/1970 00:00:20.000", "20", "20", "20"));
  EXPECT_THAT(CellsOf(csv, 3),
              ElementsAre("01/01/1970 00:00:27.000", "23", "27", " "));
  add(3, 30, false);
  EXPECT_THAT(CellsOf(csv, 3),
              ElementsAre("01/01/1970 00:00:30.000", "23", "27", "30"));
}

TEST(PdhCsv, HasTheWindowsOfTheStart) {
  PdhCsv csv(absl::Seconds(10), absl::FromUnixSeconds(3));
  csv.Add(GroupOf(1, "\\A\\B"), ValueAt(absl::FromUnixSeconds(13), 1));
  csv.Add(GroupOf(1, "\\A\\B"), ValueAt(absl::FromUnixSeconds(23), 2));
  EXPECT_THAT(CellsOf(csv, 1), ElementsAre("01/01/1970 00:00:13.000", "1"));
  EXPECT_THAT(CellsOf(csv, 2), ElementsAre("01/01/1970 00:00:23.000", "2"));
}

TEST(PdhCsv, HasOneRowWithoutAStep) {
  PdhCsv csv(absl::ZeroDuration());
  csv.Add(GroupOf(1, "\\A\\B"), ValueAt(absl::FromUnixMillis(10'300), 1));
  csv.Add(GroupOf(2, "\\A\\C"), ValueAt(absl::FromUnixMillis(10'900), 2));
  EXPECT_THAT(CellsOf(csv, 1),
              ElementsAre("01/01/1970 00:00:10.900", "1", "2"));
}

TEST(RawRecord, KeepsAllBitsOfNumbers) {
  v1::Series series;
  series.set_machine("web-1");
  series.set_path("\\System\\Processes");
  series.set_type(perflib::kPerfCounterLargeRawcount);
  v1::RawSample sample;
  sample.set_perf_time_stamp(5);
  sample.set_perf_time_100nsec(116444736000000000);  // 1970
  sample.set_perf_freq(10'000'000);
  sample.set_value(UINT64_MAX);
  sample.set_value_size(8);
  sample.set_life(7);
  EXPECT_EQ(ToJson(RawRecord(series, sample)),
            R"({"machine":"web-1","path":"\\System\\Processes",)"
            R"("type":"PERF_COUNTER_LARGE_RAWCOUNT",)"
            R"("time":"1970-01-01T00:00:00Z","value":"18446744073709551615",)"
            R"("size":8,"perf_time":"5",)"
            R"("perf_time_100ns":"116444736000000000",)"
            R"("perf_freq":"10000000","life":"7"})");
}

TEST(ForEachValue, ReadsColumnsWithDefaults) {
  v1::Points points;
  points.add_time_unix_nanos(5'000'000'000);
  points.add_time_unix_nanos(1'000'000'000);
  points.add_values(1.5);
  points.add_values(0);
  points.add_statuses(v1::VALUE_STATUS_OK);
  points.add_statuses(v1::VALUE_STATUS_GAP);
  points.add_causes(v1::GAP_CAUSE_UNSPECIFIED);
  points.add_causes(v1::GAP_CAUSE_CLOCK_STEP);
  v1::Series series;
  series.set_machine("web-1");
  series.set_path("\\Memory\\Available Bytes");
  series.set_unit("B");
  std::vector<std::string> lines;
  ForEachValue(points, [&](const Value& value) {
    lines.push_back(ToJson(ValueRecord(series, value, true)));
  });
  EXPECT_THAT(
      lines, ElementsAre(
                 R"({"machine":"web-1","path":"\\Memory\\Available Bytes",)"
                 R"("time":"1970-01-01T00:00:05Z","value":1.5,"status":"ok",)"
                 R"("unit":"B"})",
                 R"({"machine":"web-1","path":"\\Memory\\Available Bytes",)"
                 R"("time":"1970-01-01T00:00:06Z","value":null,"status":"gap",)"
                 R"("unit":"B","cause":"clock_step"})"));
}

TEST(ValueRecord, ShowsPresenceWhereItIsBelow1) {
  v1::Series series;
  series.set_path("\\Disk(C:)\\Queue");
  Value value{.time = absl::FromUnixSeconds(0), .value = 5};
  const Record always = ValueRecord(series, value, /*with_time=*/false);
  value.presence = 0.25;
  const Record sometimes = ValueRecord(series, value, /*with_time=*/false);
  EXPECT_THAT(ToJson(sometimes), ::testing::HasSubstr("\"presence\":0.25"));
  EXPECT_THAT(ToJson(always), ::testing::Not(::testing::HasSubstr("presence")));
  EXPECT_THAT(FormatTable({always}, 0)[0],
              ::testing::Not(::testing::HasSubstr("PRESENCE")));
  const auto table = FormatTable({always, sometimes}, 0);
  EXPECT_THAT(table[0], ::testing::HasSubstr("PRESENCE"));
  EXPECT_THAT(table[1], ::testing::Not(::testing::HasSubstr("%")));
  EXPECT_THAT(table[2], ::testing::HasSubstr("25.0 %"));
  // Never rounded to the whole time.
  value.presence = 0.99999;
  EXPECT_EQ(PresenceField(value).text, "99.9 %");
}

// Returns the table of records with this coverage and presence.
std::vector<std::string> TableOf(
    const std::vector<std::pair<double, double>>& rows, size_t width) {
  std::vector<Record> records;
  for (const auto& [coverage, presence] : rows) {
    v1::Series series;
    series.set_machine("web-1");
    series.set_path("\\Processor Information(_Total)\\% Processor Time");
    series.set_instance("_Total");
    series.set_unit("%");
    records.push_back(ValueRecord(series,
                                  {.time = absl::FromUnixSeconds(0),
                                   .value = 67.87,
                                   .coverage = coverage,
                                   .presence = presence},
                                  /*with_time=*/false));
  }
  return FormatTable(records, width);
}

TEST(ValueRecord, SaysWhatAValueCoversIfThatIsNotAll) {
  constexpr char kPath[] = "\\Processor Information(*)\\% Processor Time";
  EXPECT_THAT(TableOf({{1, 1}, {1, 1}}, 60),
              ElementsAre(kPath, "MACHINE  INSTANCE  VALUE  UNIT",
                          "web-1    _Total    67.87  %",
                          "web-1    _Total    67.87  %"));
  const std::string wide =
      "web-1    \\Processor Information(*)\\% Processor Time  _Total    67.87  "
      "%";
  for (const size_t width : {60, 80}) {
    EXPECT_THAT(TableOf({{1, 1}, {0.0035, 1}}, width),
                ElementsAre(kPath, "MACHINE  INSTANCE  VALUE  UNIT  COVERED",
                            "web-1    _Total    67.87  %",
                            "web-1    _Total    67.87  %       0.4 %"));
  }
  for (const size_t width : {120, 200}) {
    EXPECT_THAT(TableOf({{1, 1}, {0.75, 1}}, width),
                ElementsAre(::testing::EndsWith("  COVERED"), wide,
                            wide + "      75.0 %"));
  }
  // A process that ran for a quarter of the time, and one of which a half of
  // that is missing.
  EXPECT_THAT(
      TableOf({{0.25, 0.25}, {0.125, 0.25}}, 80),
      ElementsAre(kPath, "MACHINE  INSTANCE  VALUE  UNIT  PRESENCE  COVERED",
                  "web-1    _Total    67.87  %       25.0 %",
                  "web-1    _Total    67.87  %       25.0 %   12.5 %"));
  // Neither all nor nothing.
  EXPECT_THAT(TableOf({{0.99999, 1}, {0.00001, 1}}, 60),
              ElementsAre(kPath, ::testing::_, ::testing::EndsWith(" 99.9 %"),
                          ::testing::EndsWith(" <0.1 %")));
}

TEST(SeriesFields, NamesEndedProcessesInTables) {
  v1::Series series;
  series.set_machine("web-1");
  series.set_counterset("Process V2");
  series.set_instance("ended:0");
  series.set_path("\\Process V2(ended:0)\\% Processor Time");
  const Record record = SeriesFields(series);
  EXPECT_THAT(FormatTable({record}, 0)[1],
              ::testing::EndsWith("  (ended processes)"));
  EXPECT_THAT(ToJson(record), ::testing::HasSubstr("(ended:0)"));
  // Not an instance of another counterset.
  series.set_counterset("Tasks");
  EXPECT_THAT(FormatTable({SeriesFields(series)}, 0)[1],
              ::testing::EndsWith("  ended:0"));
}

TEST(SilenceText, SaysWhetherAMachineStoppedOrItsClockIsWrong) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);  // 08:00:00Z
  v1::SilentMachine machine;
  machine.set_machine("web-3");
  machine.mutable_newest_sample()->set_seconds(1'800'000'000 - 302);
  EXPECT_EQ(SilenceText(machine, now),
            "no samples of web-3 in this time: its newest is of 07:54:58Z, "
            "5m2s old");
  machine.mutable_newest_sample()->set_seconds(1'800'000'000 + 3598);
  machine.mutable_clock_skew()->set_seconds(3598);
  EXPECT_EQ(
      SilenceText(machine, now),
      "no samples of web-3 in this time: its newest is of "
      "2027-01-15T08:59:58Z, since its clock is 59m58s ahead of the other "
      "machines' clocks; set it");
  machine.mutable_newest_sample()->set_seconds(1'800'000'000 - 3600);
  machine.mutable_clock_skew()->set_seconds(-3600);
  machine.set_has_samples(true);
  EXPECT_EQ(SilenceText(machine, now),
            "not all samples of web-3 in this time: its newest is of "
            "2027-01-15T07:00:00Z, since its clock is 1h behind the other "
            "machines' clocks; set it, unless the machine is still sending "
            "older samples");
}

}  // namespace
}  // namespace fleetperf::cli
