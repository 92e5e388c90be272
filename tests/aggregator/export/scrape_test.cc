// The newest values of the samples of a store.

#include "aggregator/export/scrape.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using testing::At;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kPageFaults;
using testing::kQueueLength;
using testing::kTransfers;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TestAgent;
using testing::TestStore;

class ScrapeTest : public ::testing::Test {
 protected:
  // Returns the answer to a scrape `now` seconds after kStart. The series of
  // each metric are sorted: only metrics have an order.
  std::string WholeText(double now, std::vector<std::string> paths = {}) {
    request_.paths = std::move(paths);
    request_.now_of = [now](const std::string&) { return At(now); };
    absl::StatusOr<Exposition> text = Scrape(request_, &*store_);
    if (!text.ok()) return text.status().ToString();
    std::string joined;
    EXPECT_OK(text->Write([&](std::string part) {
      joined += part;
      return absl::OkStatus();
    }));
    std::vector<std::string> lines = absl::StrSplit(joined, '\n');
    const auto is_comment = [](const std::string& line) {
      return absl::StartsWith(line, "#");
    };
    for (auto begin = lines.begin(); begin != lines.end();) {
      const auto end = std::find_if(begin, lines.end(), is_comment);
      std::sort(begin, end);
      begin = std::find_if_not(end, lines.end(), is_comment);
    }
    return absl::StrJoin(lines, "\n");
  }

  // Same without fleetperf_machine_info.
  std::string Text(double now, std::vector<std::string> paths = {}) {
    std::vector<std::string> lines =
        absl::StrSplit(WholeText(now, std::move(paths)), '\n');
    std::erase_if(lines, [](const std::string& line) {
      return absl::StrContains(line, "fleetperf_machine_info");
    });
    return absl::StrJoin(lines, "\n");
  }

  // A line of the text for a disk. kStart is 1800000000.
  static std::string Line(absl::string_view metric, absl::string_view machine,
                          absl::string_view disk, int value, int time) {
    return absl::StrCat("fleetperf_disk_", metric, "{instance=\"", disk,
                        "\",machine=\"", machine, "\"} ", value, " ",
                        1'800'000'000 + time, ".000\n");
  }

  static constexpr char kQueueType[] =
      "# TYPE fleetperf_disk_queue_length gauge\n";
  static constexpr char kTransfersType[] =
      "# TYPE fleetperf_disk_transfers_per_second gauge\n";

  TestStore store_{1 << 20};
  DiskAgent agent_{&store_};
  ScrapeRequest request_{.format = ExpositionFormat::kOpenMetrics,
                         .now_of = nullptr};
};

TEST_F(ScrapeTest, HasTheNewestValueOfEachSeries) {
  const uint32_t c = agent_.Disk("C:");
  const uint32_t d = agent_.Disk("D:");
  agent_.Ticks(1, 10, {{c, 5}, {d, 6}});
  ASSERT_OK(agent_.Send());
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 12, {{other.Disk("C:"), 7}});
  ASSERT_OK(other.Send());
  const std::string expected = absl::StrCat(
      kQueueType, Line("queue_length", "web-1", "C:", 5, 10),
      Line("queue_length", "web-2", "C:", 7, 12),
      Line("queue_length", "web-1", "D:", 6, 10), kTransfersType,
      Line("transfers_per_second", "web-1", "C:", 5, 10),
      Line("transfers_per_second", "web-2", "C:", 7, 12),
      Line("transfers_per_second", "web-1", "D:", 6, 10), "# EOF\n");
  EXPECT_EQ(Text(12), expected);
  // Values do not depend on where samples are, and what the process has seen.
  ASSERT_OK(store_.Compact());
  EXPECT_EQ(Text(12), expected);
  store_.Reopen();
  EXPECT_EQ(Text(12), expected);
}

TEST_F(ScrapeTest, LeavesOutWhatHasNoValue) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 1, {{c, 5}});
  ASSERT_OK(agent_.Send());
  // A rate needs two samples.
  EXPECT_EQ(Text(1),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 1),
                         "# EOF\n"));
  // The rate of a counter that went back is no value.
  agent_.AddTick(agent_.query, ClocksAt(2), {{c, {uint64_t{1}, uint64_t{3}}}});
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(2),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 3, 2),
                         "# EOF\n"));
}

TEST_F(ScrapeTest, SeriesEndWithTheirInstanceAndNotWithAFailedTick) {
  const uint32_t c = agent_.Disk("C:");
  const uint32_t d = agent_.Disk("D:");
  agent_.Ticks(1, 3, {{c, 5}, {d, 6}});
  ASSERT_OK(agent_.Send());
  agent_.AddBlock(agent_.query, ClocksAt(4), {{agent_.query, {}, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Text(4), HasSubstr(Line("queue_length", "web-1", "D:", 6, 3)));
  agent_.Ticks(5, 5, {{c, 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(5),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 5),
                         kTransfersType,
                         Line("transfers_per_second", "web-1", "C:", 5, 5),
                         "# EOF\n"));
}

TEST_F(ScrapeTest, LeavesOutWhatIsOlderThanFiveMinutes) {
  agent_.Ticks(1, 2, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Text(302), HasSubstr("queue_length"));
  EXPECT_EQ(Text(302.001), "# EOF\n");
}

// An aggregator's own counters are of its machine, whose agent sends samples
// in batches.
TEST_F(ScrapeTest, QueriesOfAMachineMayBeLate) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 10, {{c, 5}});
  ASSERT_OK(agent_.Send());
  TestAgent own(&store_, "web-1", 2);
  const uint32_t machine = own.Machine("web-1");
  const uint32_t memory = own.Counterset(testing::MemoryRegistration());
  const uint32_t instance = own.Instance(machine, memory);
  const uint32_t query =
      own.Query(machine, memory, absl::Seconds(1), {{kPageFaults}});
  for (const uint64_t t : {19, 20}) {
    own.AddTick(query, ClocksAt(static_cast<double>(t)), {{instance, {t * 3}}});
  }
  ASSERT_OK(own.Send());
  EXPECT_EQ(Text(20),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 10),
                         kTransfersType,
                         Line("transfers_per_second", "web-1", "C:", 5, 10),
                         "# TYPE fleetperf_memory_page_faults_per_second "
                         "gauge\n"
                         "fleetperf_memory_page_faults_per_second"
                         "{machine=\"web-1\"} 3 1800000020.000\n"
                         "# EOF\n"));
}

TEST_F(ScrapeTest, FollowsAClockThatWasSetBack) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1000, 1010, {{c, 5}, {agent_.Disk("D:"), 6}});
  ASSERT_OK(agent_.Send());
  const std::string expected = absl::StrCat(
      kQueueType, Line("queue_length", "web-1", "C:", 7, 505), kTransfersType,
      Line("transfers_per_second", "web-1", "C:", 7, 505), "# EOF\n");
  agent_.Ticks(500, 505, {{c, 7}});
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(505), expected);
  ASSERT_OK(store_.Compact());
  EXPECT_EQ(Text(505), expected);
}

// The transfers of C: each second, and its queue length each minute.
class TwoQueriesTest : public ScrapeTest {
 protected:
  void Fast(int t) {
    agent_.AddTick(fast_, ClocksAt(t), {{c_, {static_cast<uint64_t>(t) * 5}}});
  }
  void Slow(int t, uint64_t queue_length) {
    agent_.AddTick(slow_, ClocksAt(t), {{c_, {queue_length}}});
  }
  static std::string Values(int queue_length, int slow, int fast) {
    return absl::StrCat(
        kQueueType, Line("queue_length", "web-1", "C:", queue_length, slow),
        kTransfersType, Line("transfers_per_second", "web-1", "C:", 5, fast),
        "# EOF\n");
  }

  const uint32_t c_ = agent_.Disk("C:");
  const uint32_t fast_ = agent_.Query(agent_.machine_id, agent_.disk,
                                      absl::Seconds(1), {{kTransfers}});
  const uint32_t slow_ = agent_.Query(agent_.machine_id, agent_.disk,
                                      absl::Minutes(1), {{kQueueLength, 4}});
};

TEST_F(TwoQueriesTest, FollowAClockThatWasSetBackOneByOne) {
  for (const int t : {958, 959, 960}) Fast(t);
  Slow(960, 8);
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(960), Values(8, 960, 960));
  for (const int t : {500, 501}) Fast(t);
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(501), Values(8, 960, 501));
  Fast(502);
  Slow(502, 9);
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(502), Values(9, 502, 502));
}

TEST_F(TwoQueriesTest, NeedNoTickSinceTheStartOfTheProcess) {
  for (const int t : {98, 99, 100}) Fast(t);
  Slow(60, 8);
  ASSERT_OK(agent_.Send());
  store_.Reopen();
  Fast(101);
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(101), Values(8, 60, 101));
  // The slow query would have had a tick.
  for (const int t : {251, 252}) Fast(t);
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Text(252), Not(HasSubstr("queue_length")));
}

TEST_F(ScrapeTest, LeavesOutCountersThatThePlanNoLongerHas) {
  const uint32_t c = agent_.Disk("C:");
  agent_.Ticks(1, 10, {{c, 5}});
  const uint32_t query = agent_.Query(agent_.machine_id, agent_.disk,
                                      absl::Seconds(10), {{kQueueLength, 4}});
  for (const int t : {20, 30, 40}) {
    agent_.AddTick(query, ClocksAt(t), {{c, {uint64_t{8}}}});
  }
  ASSERT_OK(agent_.Send());
  EXPECT_EQ(Text(40),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 8, 40),
                         "# EOF\n"));
}

TEST_F(ScrapeTest, PathsSelectCountersAndMachines) {
  agent_.Ticks(1, 2, {{agent_.Disk("C:"), 5}, {agent_.Disk("D:"), 6}});
  ASSERT_OK(agent_.Send());
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 2, {{other.Disk("C:"), 7}});
  ASSERT_OK(other.Send());
  EXPECT_EQ(Text(2, {"\\\\web-1\\Disk(D:)\\Queue Length",
                     "\\\\web-2\\Disk(*)\\Transfers/sec"}),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "D:", 6, 2),
                         kTransfersType,
                         Line("transfers_per_second", "web-2", "C:", 7, 2),
                         "# EOF\n"));
  EXPECT_EQ(Text(2, {"\\\\web-3\\Disk(*)\\*"}), "# EOF\n");
  EXPECT_THAT(Text(2, {"Disk"}), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(ScrapeTest, SeriesHaveTheCopiedLabelsOfTheirMachines) {
  store_->SetLabelRules(
      LabelRules({{.machines = {perflib::Pattern("*")},
                   .labels = {{"role", "db"}, {"site", "oslo"}}}}));
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  request_.machines.copied_labels = {"role"};
  EXPECT_THAT(Text(1), HasSubstr("{instance=\"C:\",machine=\"web-1\","
                                 "role=\"db\"} 5"));
}

// web-7 has never been connected; other aggregators may have it.
TEST_F(ScrapeTest, TellsOfMachines) {
  store_->SetLabelRules(LabelRules(
      {{.machines = {perflib::Pattern("web-1")}, .labels = {{"role", "db"}}}}));
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  request_.machines = {
      .aggregator = "agg-1", .copied_labels = {}, .expected = [] {
        return std::set<std::string>{"web-1", "web-7"};
      }};
  const std::string of_web_1 =
      "{aggregator=\"agg-1\",machine=\"web-1\"} 1 1800000009.000\n";
  const std::string of_web_7 =
      "{aggregator=\"agg-1\",machine=\"web-7\"} 1 1800000009.000\n";
  const std::string info_of_web_1 =
      "fleetperf_machine_info{aggregator=\"agg-1\",machine=\"web-1\","
      "role=\"db\"} 1 1800000009.000\n";
  EXPECT_EQ(WholeText(9),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 1),
                         "# TYPE fleetperf_machine_expected gauge\n",
                         "fleetperf_machine_expected", of_web_1,
                         "fleetperf_machine_expected", of_web_7,
                         "# TYPE fleetperf_machine_info gauge\n", info_of_web_1,
                         "# EOF\n"));
  EXPECT_EQ(WholeText(9, {"\\\\web-7\\Disk(*)\\*"}),
            absl::StrCat("# TYPE fleetperf_machine_expected gauge\n",
                         "fleetperf_machine_expected", of_web_7, "# EOF\n"));
}

TEST_F(ScrapeTest, IsBounded) {
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  request_.max_bytes = WholeText(1).size();
  EXPECT_THAT(Text(1), Not(HasSubstr("OUT_OF_RANGE")));
  --request_.max_bytes;
  const std::string error = Text(1);
  EXPECT_THAT(error, HasSubstr("OUT_OF_RANGE"));
  EXPECT_THAT(error, HasSubstr("path="));
  EXPECT_THAT(error, HasSubstr("export.url"));
}

TEST_F(ScrapeTest, OneMachineDoesNotHideOthers) {
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 1, {{other.Disk(std::string(1000, 'D')), 6}});
  ASSERT_OK(other.Send());
  std::vector<std::string> left_out;
  request_.on_left_out = [&](const std::string& machine,
                             const absl::Status& error) {
    left_out.push_back(absl::StrCat(machine, ": ", error.message()));
  };
  EXPECT_THAT(Text(1), HasSubstr("web-2"));
  EXPECT_THAT(left_out, IsEmpty());
  request_.max_machine_bytes = 1000;
  EXPECT_EQ(Text(1),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 1),
                         "# EOF\n"));
  EXPECT_THAT(left_out,
              ElementsAre(AllOf(StartsWith("web-2: "), HasSubstr("path="))));
  EXPECT_THAT(Text(1, {"\\\\web-2\\Disk(*)\\*"}), HasSubstr("OUT_OF_RANGE"));
}

// Twelve machines of one certificate fill the text.
TEST_F(ScrapeTest, OneCertificateDoesNotHideOthers) {
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  for (int i = 0; i < 12; ++i) {
    DiskAgent evil(&store_, absl::StrCat("evil-", i));
    ASSERT_OK(evil.Connect("certificate"));
    evil.Ticks(1, 1, {{evil.Disk(std::string(300, 'D')), 6}});
    ASSERT_OK(evil.Send());
  }
  EXPECT_THAT(Text(1), HasSubstr("evil-11"));
  EXPECT_THAT(Text(1), Not(HasSubstr("left_out")));
  request_.max_bytes = 16 * 200;
  EXPECT_EQ(Text(1),
            absl::StrCat(kQueueType, Line("queue_length", "web-1", "C:", 5, 1),
                         "# TYPE fleetperf_scrape_machines_left_out gauge\n"
                         "fleetperf_scrape_machines_left_out 12\n# EOF\n"));
  request_.format = ExpositionFormat::kPrometheusText;
  EXPECT_THAT(Text(1), HasSubstr("# left out: evil-3: beyond the share of its "
                                 "certificate\n"));
}

TEST_F(ScrapeTest, EndsWhenTheCallerIsGone) {
  agent_.Ticks(1, 1, {{agent_.Disk("C:"), 5}});
  ASSERT_OK(agent_.Send());
  request_.is_cancelled = [] { return true; };
  EXPECT_THAT(Text(1), HasSubstr("CANCELLED"));
}

}  // namespace
}  // namespace fleetperf::aggregator
