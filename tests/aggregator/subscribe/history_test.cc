// The history of subscriptions, joined to live values.

#include <deque>

#include "tests/aggregator/subscribe/hub_fixture.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kQueue;
using testing::kStart;
using testing::StatusIs;

using HistoryTest = HubTest;

TEST_F(HistoryTest, ArrivesFirstAndOnce) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 5, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({kQueue}, {.start = kStart + absl::Seconds(3)});
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                          "1@4=3", "1@5=3"));
  agent.Ticks(6, 7, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@6=3", "1@7=3"));
}

TEST_F(HistoryTest, EndIsReportedOnce) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 5, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto newest = Subscribe({kQueue});
  const auto all = Subscribe({kQueue}, {.start = kStart});
  for (Reader* reader : {newest.get(), all.get()}) {
    EXPECT_THAT(reader->Read(), ::testing::Contains("1@5=3"));
    EXPECT_EQ(reader->histories(), 1);
  }
  agent.Ticks(6, 6, {{c, 3}});
  Arrive(agent);
  for (Reader* reader : {newest.get(), all.get()}) {
    EXPECT_THAT(reader->Read(), ElementsAre("1@6=3"));
    EXPECT_EQ(reader->histories(), 1);
  }
}

TEST_F(HistoryTest, IncludesEndedSeries) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 1, {{c, 3}, {agent.Disk("D:"), 4}});
  agent.Ticks(2, 10, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({kQueue}, {.start = kStart - absl::Seconds(1)});
  const auto notes = reader->Read();
  EXPECT_THAT(notes, ::testing::Contains("2@1=4"));
  EXPECT_THAT(notes, ::testing::Contains("-2"));
  EXPECT_THAT(notes, ::testing::Contains("1@10=3"));
}

TEST_F(HistoryTest, JoinsInTheMiddleOfAWindow) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 23, {{c, 3}});
  ASSERT_OK(agent.Send());
  // Another subscription began in the middle of another window.
  const auto other =
      Subscribe({"\\Disk(*)\\Transfers/sec"}, {.interval = absl::Seconds(10)});
  agent.Ticks(24, 27, {{c, 3}});
  const auto batch = agent.TakeBatch();
  ASSERT_OK(batch);
  hub_.OnBatch(*batch);
  ASSERT_OK(agent.Keep(**batch));
  Work();
  const auto reader =
      Subscribe({"\\Disk(*)\\Transfers/sec"},
                {.interval = absl::Seconds(10), .start = kStart});
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                                          "1@10=3", "1@20=3"));
  agent.Ticks(28, 31, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@30=3"));
}

TEST_F(HistoryTest, JoinsRawSamples) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 3, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader =
      Subscribe({kQueue}, {.raw = true, .start = kStart + absl::Seconds(1)});
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                          "1@2 raw 3", "1@3 raw 3"));
  agent.Ticks(4, 4, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@4 raw 3"));
}

// A tick in flight may have reached the subscribers, the store, both or
// neither.
TEST_F(HistoryTest, JoinsBatchesInFlightOnce) {
  std::deque<std::function<void()>> after_commits;
  hub_.SetAfterCommits([&](std::function<void()> task) {
    after_commits.push_back(std::move(task));
  });
  const auto run_after_commits = [&] {
    while (!after_commits.empty()) {
      after_commits.front()();
      after_commits.pop_front();
      Work();
    }
  };
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 1, {{c, 3}});
  ASSERT_OK(agent.Send());
  // A subscription exists, so batches are evaluated as they arrive.
  const auto other = Subscribe({kQueue});
  run_after_commits();

  agent.Ticks(2, 2, {{c, 3}});
  const auto before = agent.TakeBatch();
  ASSERT_OK(before);
  hub_.OnBatch(*before);  // not stored yet
  Work();
  const auto reader = Subscribe({kQueue}, {.start = kStart});
  EXPECT_THAT(reader->Read(), IsEmpty());
  ASSERT_OK(agent.Keep(**before));
  agent.Ticks(3, 3, {{c, 3}});
  const auto meanwhile = agent.TakeBatch();
  ASSERT_OK(meanwhile);
  ASSERT_OK(agent.Keep(**meanwhile));  // stored
  hub_.OnBatch(*meanwhile);            // and in flight
  agent.Ticks(4, 4, {{c, 3}});
  const auto after = agent.TakeBatch();
  ASSERT_OK(after);
  hub_.OnBatch(*after);
  run_after_commits();
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                          "1@1=3", "1@2=3", "1@3=3", "1@4=3"));
  EXPECT_EQ(reader->lagged(), 0);
}

class SmallHistoryTest : public HubTest {
 protected:
  SmallHistoryTest() : HubTest({.max_history_values = 100}) {}
};

TEST_F(SmallHistoryTest, EndsIfItExceedsTheMemoryLimit) {
  DiskAgent agent(&store_);
  // Two series with fifty values each after the start.
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 50, {{c, 1}});
  ASSERT_OK(agent.Send());
  EXPECT_EQ(Subscribe({"\\Disk(*)\\*"}, {.start = kStart})
                ->subscription()
                ->outbox()
                ->ended(),
            std::nullopt);
  agent.Ticks(51, 51, {{c, 1}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\*"}, {.start = kStart});
  reader->Read();
  const auto ended = reader->subscription()->outbox()->ended();
  ASSERT_TRUE(ended.has_value());
  EXPECT_THAT(*ended,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("Disk of web-1 has more than 100 values "
                                 "since the start; choose a later start")));
}

TEST_F(HistoryTest, EndsWithItsSubscription) {
  DiskAgent first(&store_, "web-1");
  DiskAgent second(&store_, "web-2");
  first.Ticks(0, static_cast<int>(Outbox::kMaxValues), {{first.Disk("C:"), 3}});
  second.Ticks(0, 5, {{second.Disk("C:"), 3}});
  ASSERT_OK(first.Send());
  ASSERT_OK(second.Send());
  const auto reader = Subscribe({kQueue}, {.start = kStart});
  hub_.Remove(reader->subscription());
  // The outbox has room, but the second machine's history is not read.
  EXPECT_THAT(reader->Read(),
              ::testing::Not(::testing::Contains(HasSubstr("web-2"))));
  Work();
  EXPECT_THAT(reader->Read(), IsEmpty());
}

// History is never dropped. It is read at the subscriber's speed.
TEST_F(HistoryTest, WaitsForTheSubscriber) {
  constexpr int kMachines = 4;
  constexpr int kTicks = static_cast<int>(Outbox::kMaxValues);
  std::vector<std::unique_ptr<DiskAgent>> agents;
  for (int i = 0; i < kMachines; ++i) {
    agents.push_back(
        std::make_unique<DiskAgent>(&store_, absl::StrCat("web-", i)));
    agents.back()->Ticks(0, kTicks, {{agents.back()->Disk("C:"), 3}});
    ASSERT_OK(agents.back()->Send());
  }
  const auto reader = Subscribe({kQueue}, {.start = kStart});
  std::vector<std::string> notes;
  for (int i = 0; i < kMachines; ++i) {
    const auto some = reader->Read();
    notes.insert(notes.end(), some.begin(), some.end());
    Work();
  }
  EXPECT_EQ(reader->lagged(), 0);
  EXPECT_EQ(notes.size(), kMachines * (kTicks + 1));
}

}  // namespace
}  // namespace fleetperf::aggregator
