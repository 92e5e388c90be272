// Tables that fit the terminal.

#include "cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

Record SmallRow(const std::string& name, double value,
                const std::string& text) {
  return {{.name = "name", .value = name, .role = ColumnRole::kInstance},
          {.name = "value", .value = value, .text = text},
          {.name = "how_it_is", .value = uint64_t{7}, .detail = true},
          {.name = "note", .value = std::string()}};
}

TEST(FormatTable, AlignsNumbersRightAndOmitsDetailsAndEmptyColumns) {
  EXPECT_THAT(
      FormatTable({SmallRow("a", 1, "1.00"), SmallRow("longer", 20, "20.00")},
                  0),
      ElementsAre("NAME    VALUE",  //
                  "a        1.00",  //
                  "longer  20.00"));
  EXPECT_TRUE(FormatTable({}, 80).empty());
}

TEST(FormatTable, ReplacesControlCharactersInNames) {
  EXPECT_THAT(
      FormatTable({{{.name = "n", .value = std::string("a\x1B[2J\nb")}}}, 0),
      ElementsAre("N", "a?[2J?b"));
}

Record WideRow(const std::string& machine, const std::string& counter,
               const std::string& instance) {
  return {
      {.name = "machine", .value = machine, .role = ColumnRole::kMachine},
      {.name = "counter", .value = counter, .role = ColumnRole::kCounter},
      {.name = "instance", .value = instance, .role = ColumnRole::kInstance},
      {.name = "value", .value = 12.5, .text = "12.50"},
      {.name = "text",
       .value = std::string("no more"),
       .role = ColumnRole::kText}};
}

TEST(FormatTable, SaysOnceInWhichAllRowsAgree) {
  const std::vector<Record> rows = {WideRow("web-1", "\\A(*)\\B", "first"),
                                    WideRow("web-1", "\\A(*)\\B", "second")};
  EXPECT_THAT(FormatTable(rows, 80),
              ElementsAre("MACHINE  COUNTER  INSTANCE  VALUE  TEXT",
                          "web-1    \\A(*)\\B  first     12.50  no more",
                          "web-1    \\A(*)\\B  second    12.50  no more"));
  EXPECT_THAT(FormatTable(rows, 35),
              ElementsAre("\\\\web-1", "COUNTER  INSTANCE  VALUE  TEXT",
                          "\\A(*)\\B  first     12.50  no more",
                          "\\A(*)\\B  second    12.50  no more"));
  EXPECT_THAT(FormatTable(rows, 30),
              ElementsAre("\\\\web-1\\A(*)\\B",  //
                          "INSTANCE  VALUE  TEXT", "first     12.50  no more",
                          "second    12.50  no more"));
}

TEST(FormatTable, CutsNamesLastAndNumbersNever) {
  const std::vector<Record> rows = {
      WideRow("web-frontend-1", "\\Processor Information(*)\\% Idle Time",
              "_Total"),
      WideRow("web-frontend-2", "\\Processor Information(*)\\% User Time",
              "a long instance")};
  // The counter keeps its end, the machine its start.
  EXPECT_THAT(
      FormatTable(rows, 70),
      ElementsAre("MACHINE         COUNTER                INSTANCE         "
                  "VALUE  TEXT",
                  "web-frontend-1  …ation(*)\\% Idle Time  _Total           "
                  "12.50  no more",
                  "web-frontend-2  …ation(*)\\% User Time  a long instance  "
                  "12.50  no more"));
  // The explanation goes before names are cut further.
  EXPECT_THAT(
      FormatTable(rows, 50),
      ElementsAre("MACHINE     COUNTER         INSTANCE         VALUE",
                  "web-front…  …)\\% Idle Time  _Total           12.50",
                  "web-front…  …)\\% User Time  a long instance  12.50"));
  EXPECT_THAT(FormatTable(rows, 33),
              ElementsAre("MACHI…  COUNTER   INSTANCE  VALUE",
                          "web-f…  …le Time  _Total    12.50",
                          "web-f…  …er Time  a long …  12.50"));
}

Record AgedRow(const std::string& machine, const std::string& counter,
               const std::string& instance, bool is_late) {
  Record record = WideRow(machine, counter, instance);
  record.pop_back();
  record.push_back({.name = "max",
                    .value = 20.0,
                    .text = "20.00",
                    .role = ColumnRole::kSpare});
  Field late{.name = "late"};
  if (is_late) {
    late.value = std::string("12:00:00Z, 42s old");
    late.brief = Field::Brief{.name = "AGE", .text = "42s old"};
  }
  record.push_back(late);
  return record;
}

TEST(FormatTable, StatesMachinesOnceBeforeNamesAreCutMuch) {
  const std::vector<Record> rows = {
      AgedRow("web-frontend-1", "\\Memory\\Available Bytes", "", true),
      AgedRow("web-frontend-1", "\\CPU(*)\\% Processor Time", "0,0", true),
      AgedRow("web-frontend-2", "\\Memory\\Available Bytes", "", false),
      AgedRow("web-frontend-2", "\\CPU(*)\\% Processor Time", "0,0", false)};
  EXPECT_THAT(
      FormatTable(rows, 57),
      ElementsAre("COUNTER                   INSTANCE  VALUE    MAX  AGE",
                  "\\\\web-frontend-1",
                  "\\Memory\\Available Bytes             12.50  20.00  42s old",
                  "\\CPU(*)\\% Processor Time  0,0       12.50  20.00  42s old",
                  "\\\\web-frontend-2",
                  "\\Memory\\Available Bytes             12.50  20.00",
                  "\\CPU(*)\\% Processor Time  0,0       12.50  20.00"));
}

TEST(FormatTable, HasNoSectionsIfMachinesAlternate) {
  const std::vector<Record> rows = {
      AgedRow("web-frontend-1", "\\CPU(*)\\% Processor Time", "0,0", true),
      AgedRow("web-frontend-2", "\\CPU(*)\\% User Time", "0,0", false),
      AgedRow("web-frontend-1", "\\CPU(*)\\% User Time", "0,1", true),
      AgedRow("web-frontend-2", "\\CPU(*)\\% Processor Time", "0,1", false)};
  // The spare column goes before names are cut to the least.
  EXPECT_THAT(FormatTable(rows, 50),
              ElementsAre("MACHINE   COUNTER         INSTANCE  VALUE  AGE",
                          "web-fro…  …rocessor Time  0,0       12.50  42s old",
                          "web-fro…  …)\\% User Time  0,0       12.50",
                          "web-fro…  …)\\% User Time  0,1       12.50  42s old",
                          "web-fro…  …rocessor Time  0,1       12.50"));
}

TEST(FormatTable, CountsCharactersAndNotBytes) {
  EXPECT_THAT(FormatTable({{{.name = "n", .value = std::string("äöüß")}}}, 4),
              ElementsAre("N", "äöüß"));
}

TEST(FormatTable, GivesTheRestToTheTrend) {
  const std::vector<Record> rows = {SmallRow("a", 1, "1.00")};
  const TrendColumn trend{.max_cells = 20, .draw = [](size_t, size_t cells) {
                            return std::string(cells, '*');
                          }};
  // NAME and VALUE take 11 columns; the trend needs 10 more.
  EXPECT_THAT(FormatTable(rows, 20, &trend),
              ElementsAre("NAME  VALUE", "a      1.00"));
  EXPECT_THAT(FormatTable(rows, 21, &trend),
              ElementsAre("NAME  VALUE  TREND", "a      1.00  ********"));
  EXPECT_THAT(FormatTable(rows, 80, &trend)[1],
              EndsWith("1.00  " + std::string(20, '*')));
  EXPECT_THAT(FormatTable(rows, 0, &trend)[1],
              EndsWith("1.00  " + std::string(20, '*')));
}

TEST(WrapWords, BreaksLinesAtSpaces) {
  EXPECT_THAT(WrapWords("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("one longer-than-that two", 7),
              ElementsAre("one", "longer-than-that", "two"));
  EXPECT_THAT(WrapWords("one two", 0), ElementsAre("one two"));
}

}  // namespace
}  // namespace fleetperf::cli
