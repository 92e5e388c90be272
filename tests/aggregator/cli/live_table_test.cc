// The table of fleetperf watch.

#include "aggregator/cli/live_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
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
    table_.Add(response, now);
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
      ElementsAre("08:00:00 UTC 3 series", "MACHINE PATH VALUE UNIT NOTE",
                  "web-1 \\Disk(a)\\Queue 5", "web-1 \\Disk(b)\\Queue 7",
                  "web-1 \\Disk(c)\\Queue 6"));
  table_.SetOrder(LiveTable::Order::kLargest);
  EXPECT_THAT(Lines()[2], HasSubstr("(b)"));
  EXPECT_THAT(Lines()[4], HasSubstr("(a)"));
  EXPECT_THAT(Lines({.has_keys = true})[0],
              HasSubstr("3 series, largest first (s sorts, "));
  table_.SetOrder(LiveTable::Order::kSmallest);
  EXPECT_THAT(Lines()[2], HasSubstr("(a)"));
  EXPECT_THAT(Lines()[4], HasSubstr("(b)"));
}

TEST_F(LiveTableTest, HasPagesThatFit) {
  Add({1, 2, 3, 4, 5});
  const LiveTable::Look look{.rows = 6};
  EXPECT_THAT(Lines(look), SizeIs(5));
  EXPECT_THAT(Lines(look)[2], HasSubstr("(a)"));
  EXPECT_EQ(Lines(look).back(), "1 to 2 of 5");
  table_.TurnPage(1);
  EXPECT_THAT(Lines(look)[2], HasSubstr("(c)"));
  table_.TurnPage(5);
  EXPECT_THAT(Lines(look)[2], HasSubstr("(d)"));
  EXPECT_EQ(Lines(look).back(), "4 to 5 of 5");
  table_.TurnPage(-5);
  EXPECT_THAT(Lines(look)[2], HasSubstr("(a)"));
}

TEST_F(LiveTableTest, MarksStaleRows) {
  Add({1, 2});
  v1::SubscribeResponse response;
  AddPoint(1, kNow + absl::Seconds(1), 3, &response);
  table_.Add(response, kNow + absl::Seconds(1));
  v1::SubscribeResponse later;
  AddPoint(1, kNow + absl::Seconds(20), 4, &later);
  table_.Add(later, kNow + absl::Seconds(20));
  const auto lines = Lines({}, kNow + absl::Seconds(21));
  EXPECT_THAT(lines[2], Not(HasSubstr("no value")));
  EXPECT_THAT(lines[3], HasSubstr("no value for 21s"));
}

TEST_F(LiveTableTest, OmitsEndedSeriesAndReportsMissingValues) {
  Add({1, 2});
  v1::SubscribeResponse response;
  response.add_ended(1);
  response.set_lagged(12);
  response.mutable_live_machines()->set_widened(30);
  response.mutable_live_machines()->mutable_widened_interval()->set_seconds(10);
  table_.Add(response, kNow);
  EXPECT_THAT(
      Lines(),
      ElementsAre("08:00:00 UTC 1 series 12 values left out 30 "
                  "machines each 10s: too many are watched",
                  "MACHINE PATH VALUE UNIT NOTE", "web-1 \\Disk(b)\\Queue 2"));
}

TEST_F(LiveTableTest, FitsTheTerminal) {
  Add({1, 2});
  for (const std::string& line :
       table_.Lines({.columns = 40, .trend = Characters::kAscii}, kNow)) {
    EXPECT_LE(DisplayWidth(line), 40) << line;
  }
}

}  // namespace
}  // namespace fleetperf::cli
