// Explanations and raw samples of a real store.

#include "aggregator/query/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/conversions.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TestAgent;
using testing::TestStore;

class ExplainTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::ExplainValueResponse> Ask(
      const std::string& path, std::optional<absl::Time> at = std::nullopt) {
    return RunExplain(path, at, *store_,
                      [](const std::string&) { return At(20); });
  }
  // Explains the only series.
  v1::Explanation Explained(const std::string& path,
                            std::optional<absl::Time> at = std::nullopt) {
    const auto response = Ask(path, at);
    EXPECT_OK(response);
    if (!response.ok() || response->explanations_size() != 1) {
      ADD_FAILURE() << "not one series";
      return {};
    }
    return response->explanations(0);
  }

  TestStore store_;
};

TEST_F(ExplainTest, StopsWhenTheCallerIsGone) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  for (const int last : {0, 1, 2, 3}) {
    int asked = 0;
    EXPECT_THAT(RunExplain(
                    "\\Disk(C:)\\*", std::nullopt, *store_,
                    [](const std::string&) { return At(20); }, {},
                    [&] { return asked++ >= last; }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")))
        << last;
  }
}

TEST_F(ExplainTest, ShowsSamplesFormulaAndArithmetic) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:", 7), 3}});
  ASSERT_OK(agent.Send());
  const v1::Explanation newest = Explained("\\Disk(C:)\\Transfers/sec");
  EXPECT_EQ(newest.series().machine(), "web-1");
  EXPECT_EQ(newest.series().path(), "\\Disk(C:)\\Transfers/sec");
  EXPECT_EQ(newest.series().instance_id(), 7);
  EXPECT_EQ(newest.counterset_guid(), "{00000000-0000-4000-8000-00000000d15c}");
  EXPECT_EQ(newest.counter_id(), testing::kTransfers);
  EXPECT_EQ(newest.older().value(), 57);
  EXPECT_EQ(newest.newer().value(), 60);
  EXPECT_EQ(newest.newer().value_size(), 8);
  EXPECT_EQ(newest.newer().perf_time_100nsec(), ClocksAt(20).perf_time_100nsec);
  EXPECT_EQ(newest.newer().perf_time_stamp(), ClocksAt(20).perf_time_stamp);
  EXPECT_EQ(newest.older().life(), newest.newer().life());
  EXPECT_EQ(newest.denominator(), "PerfTimeStamp");
  EXPECT_EQ(newest.formula(), "dN * F / dD");
  EXPECT_EQ(
      newest.arithmetic(),
      absl::StrCat("(60 - 57) * 10000000 / (", ClocksAt(20).perf_time_stamp,
                   " - ", ClocksAt(19).perf_time_stamp, ")"));
  EXPECT_EQ(newest.status(), v1::VALUE_STATUS_OK);
  EXPECT_EQ(newest.value(), 3);
  // The value at a time is that of the newest sample at or before it.
  EXPECT_EQ(Explained("\\Disk(C:)\\Transfers/sec", At(10.5)).newer().value(),
            30);
}

TEST_F(ExplainTest, ShowsOneSampleOfOneSampleFormulas) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 20, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const v1::Explanation gauge = Explained("\\Disk(C:)\\Queue Length");
  EXPECT_FALSE(gauge.has_older());
  EXPECT_EQ(gauge.formula(), "N1");
  EXPECT_EQ(gauge.arithmetic(), "3");
  EXPECT_EQ(gauge.denominator(), "");
  EXPECT_EQ(gauge.value(), 3);
}

TEST_F(ExplainTest, ReportsWhyThereIsNoValue) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.AddTick(agent.query, ClocksAt(18), {{c, {50, 0}}});
  agent.AddTick(agent.query, ClocksAt(19), {{c, {30, 0}}});
  ASSERT_OK(agent.Send());
  const std::string path = "\\Disk(C:)\\Transfers/sec";
  const v1::Explanation fell = Explained(path);
  EXPECT_EQ(fell.status(), v1::VALUE_STATUS_NEGATIVE_VALUE);
  EXPECT_EQ(fell.older().value(), 50);
  EXPECT_EQ(fell.newer().value(), 30);
  EXPECT_EQ(fell.arithmetic(), "");
  EXPECT_EQ(Explained(path, At(18.5)).status(),
            v1::VALUE_STATUS_NEED_TWO_SAMPLES);
  // No value this long after the last sample.
  const auto later = Ask(path, At(30));
  ASSERT_OK(later);
  EXPECT_EQ(later->explanations_size(), 0);
  EXPECT_THAT(Ask("\\Disk(X:)\\Transfers/sec"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("there was no instance \"X:\"")));
}

TEST_F(ExplainTest, ReportsTheStatusOfFailedQueries) {
  DiskAgent agent(&store_);
  agent.Ticks(15, 19, {{agent.Disk("C:"), 3}});
  agent.AddBlock(agent.query, ClocksAt(20),
                 {{.query = agent.query, .failure = 232}});
  ASSERT_OK(agent.Send());
  const auto failed = Ask("\\Disk(*)\\Queue Length");
  ASSERT_OK(failed);
  ASSERT_EQ(failed->failures_size(), 1);
  EXPECT_EQ(failed->failures(0).machine(), "web-1");
  EXPECT_EQ(failed->failures(0).counterset(), "Disk");
  EXPECT_EQ(FromProto(failed->failures(0).time()), At(20));
  EXPECT_EQ(failed->failures(0).status(), 232);
  // Before it failed.
  const auto sound = Ask("\\Disk(*)\\Queue Length", At(19));
  ASSERT_OK(sound);
  EXPECT_EQ(sound->failures_size(), 0);
}

TEST_F(ExplainTest, ShowsTheBaseAndItsWrap) {
  TestAgent agent(&store_, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(1),
                  {{testing::kBytesPerRead}, {testing::kReads, 4}});
  const uint32_t c = agent.Instance(machine, disk, "C:");
  agent.AddTick(query, ClocksAt(19), {{c, {1000, 0xFFFF'FFFF}}});
  agent.AddTick(query, ClocksAt(20), {{c, {1080, 9}}});
  ASSERT_OK(agent.Send());
  const v1::Explanation explanation = Explained("\\Disk(C:)\\Bytes per Read");
  EXPECT_EQ(explanation.denominator(), "counter 4");
  EXPECT_EQ(explanation.arithmetic(),
            "(1080 - 1000) / (2^32 + (9 - 4294967295))");
  EXPECT_EQ(explanation.older().denominator(), 0xFFFF'FFFF);
  EXPECT_EQ(explanation.value(), 8);
}

TEST_F(ExplainTest, ExplainsTheFirstHundredSeries) {
  DiskAgent agent(&store_);
  std::vector<std::pair<uint32_t, uint64_t>> disks;
  for (int i = 0; i < 103; ++i) {
    disks.push_back({agent.Disk(absl::StrCat("disk", 100 + i)), 1});
  }
  agent.Ticks(19, 20, disks);
  ASSERT_OK(agent.Send());
  const auto response = Ask("\\Disk(*)\\Queue Length");
  ASSERT_OK(response);
  EXPECT_EQ(response->explanations_size(), 100);
  EXPECT_EQ(response->left_out(), 3);
  EXPECT_EQ(response->explanations(0).series().instance(), "disk100");
}

TEST(RawQuery, ReturnsSamplesUnchanged) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(1),
                  {{testing::kBytesPerRead}, {testing::kReads, 4}});
  const uint32_t c = agent.Instance(machine, disk, "C:");
  for (int t = 0; t <= 4; ++t) {
    const auto n = static_cast<uint64_t>(t);
    std::optional<uint64_t> value = UINT64_MAX - n;
    if (t == 3) value.reset();
    agent.AddTick(query, ClocksAt(t), {{c, {value, 100 + n}}});
  }
  ASSERT_OK(agent.Send());
  const auto results = testing::CollectRawQuery(
      {.paths = {"\\Disk(*)\\Bytes per Read"}, .start = At(0), .end = At(3)},
      {.store = *store, .now_of = [](const auto&) { return At(60); }});
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 1);
  EXPECT_EQ(results->front().series.path(), "\\Disk(C:)\\Bytes per Read");
  std::vector<std::string> texts;
  for (const RawSample& sample : results->front().samples) {
    const v1::RawSample proto = ToProto(sample);
    EXPECT_EQ(proto.perf_freq(), testing::kFreq);
    texts.push_back(absl::StrCat(
        (proto.perf_time_stamp() - ClocksAt(0).perf_time_stamp) /
            testing::kFreq,
        ": ", proto.has_value() ? absl::StrCat(proto.value()) : "none", " by ",
        proto.denominator()));
  }
  // The range (0, 3].
  EXPECT_THAT(texts,
              ElementsAre("1: 18446744073709551614 by 101",
                          "2: 18446744073709551613 by 102", "3: none by 103"));
}

}  // namespace
}  // namespace fleetperf::aggregator
