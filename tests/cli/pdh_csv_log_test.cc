// `fleetperf watch --format pdh-csv`: rows as values arrive.

#include "cli/pdh_csv_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kMidnight = absl::FromUnixSeconds(1'800'057'600);

class PdhCsvLogTest : public ::testing::Test {
 protected:
  // Adds values of the series, whose samples have these seconds, to the next
  // message.
  void Points(uint32_t id, const std::vector<double>& seconds) {
    if (known_ < id) {
      known_ = id;
      v1::Series* const series = next_.add_series();
      series->set_id(id);
      series->set_machine(absl::StrCat("m", id));
      series->set_path("\\A\\B");
    }
    v1::Points* const points = next_.add_points();
    points->set_series(id);
    absl::Time last = absl::UnixEpoch();
    for (const double second : seconds) {
      const absl::Time time = kMidnight + absl::Seconds(second);
      points->add_time_unix_nanos(absl::ToInt64Nanoseconds(time - last));
      points->add_values(second);
      last = time;
    }
  }

  // Sends the message, which arrives at this second. Returns the lines without
  // quotes and the date.
  std::vector<std::string> Send(double second) {
    return Plain(
        log_->Add(std::exchange(next_, {}), kMidnight + absl::Seconds(second)));
  }

  static std::vector<std::string> Plain(std::vector<std::string> lines) {
    for (std::string& line : lines) {
      absl::StrReplaceAll({{"\"", ""}, {"01/16/2027 00:00:", ""}}, &line);
    }
    return lines;
  }

  static constexpr char kHeader[] =
      "(PDH-CSV 4.0) (Coordinated Universal Time)(0),\\\\m1\\A\\B,\\\\m2\\A\\B";

  std::unique_ptr<PdhCsvLog> log_ = std::make_unique<PdhCsvLog>(
      PdhCsvLog::Options{.step = absl::Seconds(1), .limit = 3});
  v1::SubscribeResponse next_;
  uint32_t known_ = 0;
};

TEST_F(PdhCsvLogTest, HasTheRowsThatAllSeriesHave) {
  Points(1, {0.3});
  EXPECT_THAT(Send(1), IsEmpty());  // others may be stored
  Points(2, {0.8});
  Points(1, {1.3});
  next_.set_history_sent(true);
  EXPECT_THAT(Send(1.4), ElementsAre(kHeader, "01.000,0.3,0.8"));
  Points(1, {2.3, 3.3, 4.3});
  EXPECT_THAT(Send(4.4), IsEmpty());
  Points(2, {2.8});  // 1.8 is missing
  EXPECT_THAT(Send(4.5), ElementsAre("02.000,1.3, ", "03.000,2.3,2.8"));
  EXPECT_TRUE(log_->is_full());
  EXPECT_THAT(log_->Finish(), IsEmpty());
}

TEST_F(PdhCsvLogTest, BeginsWithTheFirstRowOfAllSeries) {
  Points(1, {1, 2, 3});
  Points(2, {3});
  next_.set_history_sent(true);
  EXPECT_THAT(Send(3), ElementsAre(kHeader, "03.000,3,3"));
}

TEST_F(PdhCsvLogTest, BeginsWithTheOldestOfStoredValues) {
  log_ = std::make_unique<PdhCsvLog>(
      PdhCsvLog::Options{.step = absl::Seconds(1), .with_stored = true});
  Points(1, {1, 2, 3});
  Points(2, {3});
  next_.set_history_sent(true);
  EXPECT_THAT(Send(3),
              ElementsAre(kHeader, "01.000,1, ", "02.000,2, ", "03.000,3,3"));
}

TEST_F(PdhCsvLogTest, DoesNotWaitForLateAndEndedSeries) {
  Points(1, {1});
  Points(2, {-3600});
  next_.set_history_sent(true);
  EXPECT_THAT(Send(1), ElementsAre(kHeader, "01.000,1, "));
  // It returns, and its values have a place.
  Points(2, {2});
  EXPECT_THAT(Send(2), IsEmpty());
  next_.add_ended(1);
  EXPECT_THAT(Send(2), ElementsAre("02.000, ,2"));
}

TEST_F(PdhCsvLogTest, OrdersColumnsByPathAndMachine) {
  log_ = std::make_unique<PdhCsvLog>(PdhCsvLog::Options{
      .paths = {"\\Z\\*", "\\A\\B"}, .step = absl::Seconds(1)});
  const std::pair<const char*, const char*> kSeries[] = {
      {"m2", "A"}, {"m1", "A"}, {"m2", "Z"}, {"m1", "Z"}};
  for (const auto& [machine, counterset] : kSeries) {
    v1::Series* const series = next_.add_series();
    series->set_id(++known_);
    series->set_machine(machine);
    series->set_path(absl::StrCat("\\", counterset, "\\B"));
    series->set_counterset(counterset);
    series->set_counter("B");
  }
  Points(1, {1});
  Points(2, {2});  // in another row
  Points(3, {1});  // the fourth has no value yet
  next_.set_history_sent(true);
  EXPECT_THAT(Send(2),
              ElementsAre("(PDH-CSV 4.0) (Coordinated Universal Time)(0),"
                          R"(\\m1\Z\B,\\m2\Z\B,\\m1\A\B,\\m2\A\B)"));
  EXPECT_THAT(Plain(log_->Finish()), ElementsAre("02.000, , ,2, "));
}

TEST_F(PdhCsvLogTest, EndsWithTheRestAndHasNoLaterColumns) {
  Points(1, {1});
  Points(2, {1});
  next_.set_history_sent(true);
  EXPECT_THAT(Send(1), ElementsAre(kHeader, "01.000,1,1"));
  Points(3, {1});
  Points(1, {2});
  EXPECT_THAT(Send(2), IsEmpty());
  EXPECT_EQ(log_->without_column(), 1u);
  EXPECT_THAT(Plain(log_->Finish()), ElementsAre("02.000,2, "));
}

}  // namespace
}  // namespace fleetperf::cli
