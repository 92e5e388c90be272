// Counters as columns (--pivot).

#include "cli/pivot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::Series MakeSeries(const std::string& counter, const std::string& instance,
                      const std::string& unit) {
  v1::Series series;
  series.set_machine("web-1");
  series.set_counterset("Disk");
  series.set_counter(counter);
  series.set_unit(unit);
  series.set_type(perflib::kPerfCounterRawcount);
  if (instance.empty()) {
    series.set_path(absl::StrCat("\\Disk\\", counter));
  } else {
    series.set_instance(instance);
    series.set_path(absl::StrCat("\\Disk(", instance, ")\\", counter));
  }
  return series;
}

void Add(const v1::Series& series, const Value& value, Pivot* pivot) {
  pivot->Add(ValueRecord(series, value, /*with_time=*/true), series, value);
}

// Returns the lines with single spaces.
std::vector<std::string> Collapsed(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    std::string& text = result.emplace_back();
    for (const char c : line) {
      if (c != ' ' || text.empty() || text.back() != ' ') text += c;
    }
  }
  return result;
}

// Two disks with two counters; sdb lacks one of them.
Pivot TwoDisks() {
  Pivot pivot(/*with_time=*/false);
  Add(MakeSeries("Reads/sec", "sda", "1/s"), {.value = 3}, &pivot);
  Add(MakeSeries("Bytes/sec", "sda", "B/s"), {.value = 2048}, &pivot);
  Add(MakeSeries("Bytes/sec", "sdb", "B/s"), {.value = 512, .presence = 0.5},
      &pivot);
  return pivot;
}

TEST(Pivot, HasARowForEachInstanceAndAColumnForEachCounter) {
  const auto tables = TwoDisks().Tables(0, 0, 10);
  ASSERT_THAT(tables, SizeIs(1));
  // The numbers of a column have one scale.
  EXPECT_THAT(
      Collapsed(tables[0]),
      ElementsAre("MACHINE INSTANCE READS/SEC BYTES/SEC PRESENCE",
                  "web-1 sda 3 /s 2 KiB/s", "web-1 sdb 0.50 KiB/s 50.0 %"));
}

TEST(Pivot, CsvHasFullNumbersAndUnits) {
  std::vector<std::string> lines;
  for (const Record& record : TwoDisks().Records(kInCsv)) {
    std::vector<std::string> cells;
    for (const Field& field : record) {
      if (!field.is_in(kInCsv)) continue;
      cells.push_back(absl::StrCat(
          field.name, "=", TableText({.name = "", .value = field.value})));
    }
    lines.push_back(absl::StrJoin(cells, ","));
  }
  EXPECT_THAT(lines,
              ElementsAre("machine=web-1,instance=sda,Reads/sec (1/s)=3.0,"
                          "Bytes/sec (B/s)=2048.0,newest_sample=,presence=",
                          "machine=web-1,instance=sdb,Reads/sec (1/s)=,"
                          "Bytes/sec (B/s)=512.0,newest_sample=,presence=0.5"));
}

TEST(Pivot, SaysTheLeastThatAValueOfARowCovers) {
  const absl::Time now = absl::Now();
  for (const bool is_first_less : {true, false}) {
    Pivot pivot(/*with_time=*/false);
    const Value less = {.coverage = 0.25,
                        .newest_sample = now - absl::Hours(3)};
    const Value more = {.coverage = 0.75,
                        .newest_sample = now - absl::Hours(1)};
    Add(MakeSeries("Reads/sec", "sda", "1/s"), is_first_less ? less : more,
        &pivot);
    Add(MakeSeries("Bytes/sec", "sda", "B/s"), is_first_less ? more : less,
        &pivot);
    EXPECT_THAT(pivot.Tables(120, 0, 1)[0][1], HasSubstr("3h"));
    EXPECT_THAT(pivot.Tables(120, 0, 1)[0][1], HasSubstr("25.0 %"));
  }
}

TEST(Pivot, HasARowForEachTime) {
  Pivot pivot(/*with_time=*/true);
  for (const std::string instance : {"sda", "sdb"}) {
    for (const int second : {1, 2}) {
      Add(MakeSeries("Reads/sec", instance, "1/s"),
          {.time = absl::FromUnixSeconds(second),
           .value = second + (instance == "sdb" ? 0.5 : 0)},
          &pivot);
    }
  }
  EXPECT_THAT(Collapsed(pivot.Tables(0, 0, 10)[0]),
              ElementsAre("TIME MACHINE INSTANCE READS/SEC",
                          "1970-01-01T00:00:01Z web-1 sda 1 /s",
                          "1970-01-01T00:00:01Z web-1 sdb 1.50 /s",
                          "1970-01-01T00:00:02Z web-1 sda 2 /s",
                          "1970-01-01T00:00:02Z web-1 sdb 2.50 /s"));
}

TEST(Pivot, NamesTheCountersetOfEqualCounters) {
  Pivot pivot(/*with_time=*/false);
  Add(MakeSeries("Time", "", "s"), {.value = 1}, &pivot);
  v1::Series other = MakeSeries("Time", "", "s");
  other.set_counterset("Clock");
  other.set_path("\\Clock\\Time");
  Add(other,
      {.status = v1::VALUE_STATUS_GAP, .cause = v1::GAP_CAUSE_NO_SAMPLES},
      &pivot);
  EXPECT_THAT(
      Collapsed(pivot.Tables(0, 0, 10)[0]),
      ElementsAre("MACHINE DISK\\TIME CLOCK\\TIME", "web-1 1 s no_samples"));
}

TEST(Pivot, ContinuesInFurtherTablesThatFit) {
  Pivot pivot(/*with_time=*/false);
  for (int counter = 0; counter < 20; ++counter) {
    for (const std::string instance : {"sda", "sdb", "a-long-name-of-a-disk"}) {
      Add(MakeSeries(absl::StrCat("Disk Counter ", counter), instance, "B/s"),
          {.value = 1e6 * counter}, &pivot);
    }
  }
  for (const size_t width : {60, 80, 120, 200}) {
    const auto tables = pivot.Tables(width, 0, 10);
    EXPECT_GT(tables.size(), 1u) << width;
    std::string all;
    for (const auto& table : tables) {
      EXPECT_GE(table.size(), 4u);
      for (const std::string& line : table) {
        EXPECT_LE(DisplayWidth(line), width) << line;
        absl::StrAppend(&all, line, "\n");
      }
    }
    for (int counter = 0; counter < 20; ++counter) {
      EXPECT_THAT(all, HasSubstr(absl::StrCat("DISK COUNTER ", counter)));
    }
  }
  // A page.
  EXPECT_THAT(Collapsed(pivot.Tables(0, 1, 1)[0]), SizeIs(2));
}

}  // namespace
}  // namespace fleetperf::cli
