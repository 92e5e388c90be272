// The table of fleetperf watch.

#include "cli/live_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

v1::Series MakeSeries(uint32_t id, const std::string& instance) {
  v1::Series series;
  series.set_id(id);
  series.set_machine("web-1");
  series.set_type(perflib::kPerfCounterRawcount);
  series.set_instance(instance);
  series.set_path(absl::StrCat("\\Disk(", instance, ")\\Queue"));
  return series;
}

void AddPoint(uint32_t id, absl::Time time, double value,
              v1::SubscribeResponse* response) {
  v1::Points* points = response->add_points();
  points->set_series(id);
  points->add_time_unix_nanos(absl::ToUnixNanos(time));
  points->add_values(value);
}

class LiveTableTest : public ::testing::Test {
 protected:
  // Adds series with these values and the ids 1, 2, ...
  void Add(const std::vector<double>& values, absl::Time now = kNow) {
    v1::SubscribeResponse response;
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t id = static_cast<uint32_t>(i) + 1;
      *response.add_series() = MakeSeries(id, std::string(1, 'a' + char(i)));
      AddPoint(id, now, values[i], &response);
    }
    table_.Add(response);
  }

  // Returns the lines, with spaces collapsed.
  std::vector<std::string> Lines(const LiveTable::Look& look = {},
                                 absl::Time now = kNow) {
    std::vector<std::string> lines;
    for (const std::string& line : table_.Lines(look, now)) {
      std::string& shown = lines.emplace_back();
      for (const char c : line) {
        if (c != ' ' || shown.empty() || shown.back() != ' ') shown += c;
      }
      while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    }
    return lines;
  }

  LiveTable table_;
};

TEST_F(LiveTableTest, SortsByTheChosenOrder) {
  Add({5, 7, 6});
  EXPECT_THAT(
      Lines(),
      ElementsAre("08:00:00 UTC 3 series", "MACHINE COUNTER INSTANCE VALUE",
                  "web-1 \\Disk(*)\\Queue a 5", "web-1 \\Disk(*)\\Queue b 7",
                  "web-1 \\Disk(*)\\Queue c 6"));
  table_.SetOrder(LiveTable::Order::kLargest);
  EXPECT_THAT(Lines()[2], HasSubstr(" b "));
  EXPECT_THAT(Lines()[4], HasSubstr(" a "));
  EXPECT_THAT(Lines({.has_keys = true})[0],
              HasSubstr("3 series, largest first (s sorts, "));
  table_.SetOrder(LiveTable::Order::kSmallest);
  EXPECT_THAT(Lines()[2], HasSubstr(" a "));
  EXPECT_THAT(Lines()[4], HasSubstr(" b "));
}

TEST_F(LiveTableTest, SortsByValueTimesPresence) {
  // 10 for a fifth of the time is less than 5.
  for (const auto& [type, is_first] :
       {std::pair(perflib::kPerfCounterRawcount, " b "),
        std::pair(perflib::kPerfCounterDelta, " a ")}) {
    v1::SubscribeResponse response;
    for (const uint32_t id : {1, 2}) {
      v1::Series* series = response.add_series();
      *series = MakeSeries(id, id == 1 ? "a" : "b");
      series->set_type(type);
      AddPoint(id, kNow, id == 1 ? 10 : 5, &response);
    }
    response.mutable_points(0)->add_presence(0.2F);
    LiveTable table;
    table.Add(response);
    table.SetOrder(LiveTable::Order::kLargest);
    EXPECT_THAT(table.Lines({}, kNow)[2], HasSubstr(is_first));
    const bool is_weighted = type == perflib::kPerfCounterRawcount;
    for (const size_t columns : {60, 80, 120, 200}) {
      const std::string text = absl::StrJoin(
          table.Lines({.columns = columns, .trend = Characters::kAscii}, kNow),
          "\n");
      EXPECT_EQ(absl::StrContains(text, "SHARE  VALUE  PRESENCE"), is_weighted)
          << text;
    }
    table.SetOrder(LiveTable::Order::kPath);
    EXPECT_THAT(table.Lines({}, kNow)[1], Not(HasSubstr("SHARE")));
  }
}

TEST_F(LiveTableTest, HasPagesThatFit) {
  Add({1, 2, 3, 4, 5});
  const LiveTable::Look look{.rows = 6};
  EXPECT_THAT(Lines(look), SizeIs(5));
  EXPECT_THAT(Lines(look)[2], HasSubstr(" a "));
  EXPECT_EQ(Lines(look).back(), "1 to 2 of 5");
  table_.TurnPage(1);
  EXPECT_THAT(Lines(look)[2], HasSubstr(" c "));
  table_.TurnPage(5);
  EXPECT_THAT(Lines(look)[2], HasSubstr(" d "));
  EXPECT_EQ(Lines(look).back(), "4 to 5 of 5");
  table_.TurnPage(-5);
  EXPECT_THAT(Lines(look)[2], HasSubstr(" a "));
}

// Adds a value per second to series 1, and one at the start to series 2.
void AddTicks(absl::Time start, int ticks, LiveTable* table) {
  for (int tick = 0; tick < ticks; ++tick) {
    v1::SubscribeResponse response;
    AddPoint(1, start + absl::Seconds(tick), tick, &response);
    table->Add(response);
  }
}

TEST_F(LiveTableTest, MarksLateRowsByTheTimeOfTheirSample) {
  Add({1, 2}, kNow - absl::Minutes(10));
  AddTicks(kNow - absl::Seconds(3), 4, &table_);
  // The second machine's sample was ten minutes old when the watch began.
  for (const size_t columns : {0, 50, 80, 200}) {
    for (const std::optional<Characters> trend :
         {std::optional<Characters>(), std::optional(Characters::kAscii)}) {
      const auto lines =
          table_.Lines({.columns = columns, .trend = trend}, kNow);
      const std::string& late = lines.back();
      EXPECT_THAT(late, HasSubstr("07:50:00Z, 10m old")) << columns;
      EXPECT_THAT(lines[lines.size() - 2], Not(HasSubstr("old")));
    }
  }
  // The first one stops: three and a half intervals of one second, and one.
  EXPECT_THAT(Lines({}, kNow + absl::Milliseconds(4500))[2],
              Not(HasSubstr("old")));
  EXPECT_THAT(Lines({}, kNow + absl::Milliseconds(4501))[2],
              HasSubstr("08:00:00Z, 4s old"));
}

TEST_F(LiveTableTest, AnOutageIsNoInterval) {
  Add({1}, kNow);
  AddTicks(kNow + absl::Seconds(1), 3, &table_);
  AddTicks(kNow + absl::Hours(1), 2, &table_);
  EXPECT_THAT(Lines({}, kNow + absl::Hours(1) + absl::Seconds(7))[2],
              HasSubstr("6s old"));
}

TEST_F(LiveTableTest, LateRowsFollowByValue) {
  Add({1, 100, 300, 200}, kNow - absl::Minutes(10));
  AddTicks(kNow, 1, &table_);
  table_.SetOrder(LiveTable::Order::kLargest);
  EXPECT_THAT(Lines()[0], HasSubstr("4 series, largest first"));
  EXPECT_THAT(Lines()[2], HasSubstr(" a 0"));
  EXPECT_THAT(Lines()[3], HasSubstr(" c 300 07:50:00Z"));
  EXPECT_THAT(Lines()[4], HasSubstr(" d 200 07:50:00Z"));
  table_.SetOrder(LiveTable::Order::kSmallest);
  EXPECT_THAT(Lines()[2], HasSubstr(" a 0"));
  EXPECT_THAT(Lines()[3], HasSubstr(" b 100 07:50:00Z"));
}

TEST_F(LiveTableTest, SaysThatAllRowsAreLate) {
  Add({1, 3, 2}, kNow - absl::Minutes(10));
  table_.SetOrder(LiveTable::Order::kLargest);
  EXPECT_EQ(Lines()[0], "08:00:00 UTC 3 series, none current, largest first");
  EXPECT_THAT(Lines()[2], HasSubstr(" b 3 07:50:00Z, 10m old"));
  EXPECT_THAT(Lines()[4], HasSubstr(" a 1 07:50:00Z, 10m old"));
}

TEST_F(LiveTableTest, SortsTheRowsOfEachCounter) {
  v1::SubscribeResponse response;
  for (const uint32_t id : {1, 2, 3, 4}) {
    v1::Series* series = response.add_series();
    *series = MakeSeries(id, std::string(1, static_cast<char>('a' + id)));
    series->set_counter(id % 2 == 0 ? "Load" : "Size");
    AddPoint(id, kNow, id % 2 == 0 ? id : 1000 + id, &response);
  }
  table_.Add(response);
  table_.SetOrder(LiveTable::Order::kLargest);
  EXPECT_THAT(Lines(),
              ElementsAre(HasSubstr("largest first"), HasSubstr("VALUE"),
                          HasSubstr(" e 4"), HasSubstr(" c 2"),
                          HasSubstr(" d 1,003"), HasSubstr(" b 1,001")));
}

TEST_F(LiveTableTest, OmitsEndedSeriesAndReportsMissingValues) {
  Add({1, 2});
  v1::SubscribeResponse response;
  response.add_ended(1);
  response.set_lagged(12);
  response.mutable_live_machines()->set_widened(30);
  response.mutable_live_machines()->mutable_widened_interval()->set_seconds(10);
  table_.Add(response);
  EXPECT_THAT(Lines(),
              ElementsAre("08:00:00 UTC 1 series 12 values left out 30 "
                          "machines each 10s: too many are watched",
                          "MACHINE COUNTER INSTANCE VALUE",
                          "web-1 \\Disk(*)\\Queue b 2"));
}

TEST_F(LiveTableTest, FitsTheTerminal) {
  Add({1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const size_t columns : {18, 30, 50, 80, 200}) {
    const auto lines = table_.Lines(
        {.rows = 10, .columns = columns, .trend = Characters::kAscii}, kNow);
    // The last row of the terminal is the cursor's.
    EXPECT_THAT(lines, SizeIs(9));
    for (const std::string& line : lines) {
      EXPECT_LE(DisplayWidth(line), columns) << line;
    }
  }
}

// Adds the counters of `instances` disks.
void AddDisks(const std::vector<std::string>& counters, size_t instances,
              LiveTable* table) {
  v1::SubscribeResponse response;
  uint32_t id = 0;
  for (const std::string& counter : counters) {
    for (size_t i = 0; i < instances; ++i) {
      v1::Series* const series = response.add_series();
      *series = MakeSeries(++id, std::string(1, 'a' + char(i)));
      series->set_counterset("Disk");
      series->set_counter(counter);
      series->set_path(
          absl::StrCat("\\Disk(", series->instance(), ")\\", counter));
      AddPoint(id, kNow, static_cast<double>(100 + id), &response);
    }
  }
  table->Add(response);
}

TEST_F(LiveTableTest, PivotHasPagesThatFit) {
  AddDisks({"Queue", "Reads"}, 5, &table_);
  const LiveTable::Look look{.rows = 6, .pivot = true};
  EXPECT_THAT(
      Lines(look),
      ElementsAre("08:00:00 UTC 10 series", "MACHINE INSTANCE QUEUE READS",
                  "web-1 a 101 106", "web-1 b 102 107", "1 to 2 of 5"));
  table_.TurnPage(1);
  EXPECT_THAT(Lines(look)[2], "web-1 c 103 108");
  EXPECT_EQ(Lines(look).back(), "3 to 4 of 5");
  // The last page is full.
  table_.TurnPage(5);
  EXPECT_THAT(Lines(look)[2], "web-1 d 104 109");
  EXPECT_EQ(Lines(look).back(), "4 to 5 of 5");
  table_.TurnPage(-5);
  EXPECT_THAT(Lines(look)[2], "web-1 a 101 106");
  // All rows fit a larger terminal, and none is hidden without one.
  EXPECT_THAT(Lines({.rows = 9, .pivot = true}), SizeIs(7));
  EXPECT_THAT(Lines({.pivot = true}), SizeIs(7));
}

// Columns that do not fit are in a second table with the same rows.
TEST_F(LiveTableTest, PagesOfATableInPartsHaveTheSameRows) {
  AddDisks({"Queue Length Average", "Reads Per Second Now"}, 5, &table_);
  const LiveTable::Look look{.rows = 12, .columns = 42, .pivot = true};
  const auto rows_of = [&](const std::string& instance) {
    const auto lines = Lines(look);
    EXPECT_LT(lines.size(), look.rows);
    return std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) {
          return absl::StrContains(absl::StrCat(" ", line, " "),
                                   absl::StrCat(" ", instance, " "));
        });
  };
  EXPECT_EQ(rows_of("a"), 2);
  EXPECT_EQ(rows_of("e"), 0);
  table_.TurnPage(9);
  EXPECT_EQ(rows_of("a"), 0);
  EXPECT_EQ(rows_of("e"), 2);
  EXPECT_THAT(Lines(look).back(), HasSubstr(" to 5 of 5"));
}

}  // namespace
}  // namespace fleetperf::cli
