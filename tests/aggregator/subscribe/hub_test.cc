// The updates that subscribers get for new samples.

#include "aggregator/subscribe/hub.h"

#include "tests/aggregator/subscribe/hub_fixture.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::Contains;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::SizeIs;
using testing::StatusIs;

TEST_F(HubTest, BeginsWithTheNewestStoredValues) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 4, {{c, 3}});
  ASSERT_OK(agent.Send());
  agent.Ticks(5, 5, {{c, 3}});
  // The batch is already stored when it arrives.
  ASSERT_OK_AND_ASSIGN(const auto stored, agent.TakeBatch());
  ASSERT_OK(agent.Keep(*stored));
  const auto reader = Subscribe({"\\Disk(*)\\*"});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                          "+2 web-1 \\Disk(C:)\\Queue Length",  //
                          "1@5=3", "2@5=3"));
  hub_.OnBatch(stored);
  Work();
  EXPECT_THAT(reader->Read(), IsEmpty());
  agent.Ticks(6, 6, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@6=3", "2@6=3"));
}

TEST_F(HubTest, SendsOnlySelectedSeries) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  const uint32_t c = web.Disk("C:");
  const uint32_t d = web.Disk("D:");
  web.Ticks(1, 1, {{c, 3}, {d, 4}});
  db.Ticks(1, 1, {{db.Disk("C:"), 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto reader = Subscribe({"\\\\web-*\\Disk(D:)\\Queue Length"});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length", "1@1=4"));
  EXPECT_TRUE(hub_.IsWatched("web-7"));
  EXPECT_FALSE(hub_.IsWatched("db-1"));
  web.Ticks(2, 2, {{c, 3}, {d, 4}});
  Arrive(web);
  EXPECT_THAT(reader->Read(), ElementsAre("1@2=4"));
}

TEST_F(HubTest, AddsNewMachinesAndInstances) {
  DiskAgent web(&store_, "web-1");
  const uint32_t c = web.Disk("C:");
  web.Ticks(1, 1, {{c, 3}});
  ASSERT_OK(web.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(), SizeIs(2));
  web.Ticks(2, 2, {{c, 3}, {web.Disk("D:"), 4}});
  Arrive(web);
  EXPECT_THAT(reader->Read(), ElementsAre("+2 web-1 \\Disk(D:)\\Queue Length",
                                          "1@2=3", "2@2=4"));
  DiskAgent db(&store_, "db-1");
  db.Ticks(2, 2, {{db.Disk("C:"), 5}});
  Arrive(db);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+3 db-1 \\Disk(C:)\\Queue Length", "3@2=5"));
}

// The hub keeps the names of machines that no subscription selects.
TEST_F(HubTest, AddsMachinesThatWereUnwatched) {
  DiskAgent web(&store_, "web-1");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  ASSERT_OK(web.Send());
  const auto first = Subscribe({"\\\\WEB-1\\Disk(*)\\Queue Length"});
  EXPECT_TRUE(hub_.IsWatched("web-1"));
  EXPECT_FALSE(hub_.IsWatched("db-1"));
  EXPECT_FALSE(hub_.IsWatched("db-2"));
  const auto second = Subscribe(
      {"\\\\db-1\\Disk(*)\\Queue Length", "\\\\web-*\\Disk(*)\\Queue Length"});
  EXPECT_THAT(second->Read(), SizeIs(2));
  EXPECT_TRUE(hub_.IsWatched("db-1"));
  EXPECT_FALSE(hub_.IsWatched("db-2"));
  DiskAgent db(&store_, "db-1");
  db.Ticks(2, 2, {{db.Disk("C:"), 5}});
  Arrive(db);
  EXPECT_THAT(second->Read(), Contains("2@2=5"));
}

TEST_F(HubTest, EndsSeriesOfAnEndedInstance) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  const uint32_t d = agent.Disk("D:");
  agent.Ticks(1, 1, {{c, 3}, {d, 4}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(), SizeIs(4));
  agent.Ticks(2, 2, {{c, 3}, {d, 4}});
  agent.Ticks(3, 3, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@2=3", "1@3=3", "2@2=4", "-2"));
  // An instance that returns is another series.
  agent.Ticks(4, 4, {{c, 3}, {agent.Disk("D:"), 6}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("+3 web-1 \\Disk(D:)\\Queue Length",
                                          "1@4=3", "3@4=6"));
}

// The agent restarts. Its machine and instances are the same.
TEST_F(HubTest, ContinuesAfterAnAgentRestart) {
  DiskAgent first(&store_);
  first.Ticks(1, 1, {{first.Disk("C:"), 3}});
  ASSERT_OK(first.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(), SizeIs(2));
  DiskAgent second(&store_, "web-1", /*epoch=*/2);
  second.Ticks(60, 61, {{second.Disk("C:"), 4}, {second.Disk("D:"), 5}});
  Arrive(second);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 web-1 \\Disk(D:)\\Queue Length", "1@60=4",
                          "1@61=4", "2@60=5", "2@61=5"));
}

// The message is sent even if it is empty, to show that the subscription works.
TEST_F(HubTest, SendsAMessageOnceStoredValuesAreRead) {
  DiskAgent agent(&store_);
  agent.Ticks(1, 1, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(Z:)\\Queue Length"});
  EXPECT_THAT(reader->Read(), IsEmpty());
  EXPECT_EQ(reader->messages(), 1);
  EXPECT_EQ(reader->live_machines().live(), 1);
}

TEST_F(HubTest, OmitsSeriesThatEndedBefore) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(1, 1, {{c, 3}, {agent.Disk("D:"), 4}});
  agent.Ticks(2, 2, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@2=3"));
}

// More processes than the limit of series come and go, each for one tick.
TEST_F(HubTest, EndedSeriesDoNotCountTowardsTheLimit) {
  constexpr int kTicks = 101;
  constexpr uint32_t kInstances = 2000;
  DiskAgent agent(&store_);
  agent.Ticks(0, 0, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  reader->Read();
  for (int t = 1; t <= kTicks; ++t) {
    std::vector<std::pair<uint32_t, uint64_t>> rates;
    for (uint32_t i = 0; i < kInstances; ++i) {
      rates.emplace_back(
          agent.Disk("sh", static_cast<uint32_t>(t) * kInstances + i), 1);
    }
    agent.Ticks(t, t, rates);
    const size_t ended = t == 1 ? 1 : kInstances;
    Arrive(agent);
    EXPECT_THAT(reader->Read(), SizeIs(2 * kInstances + ended)) << t;
  }
}

TEST_F(HubTest, BusyMachineDoesNotStarveOthers) {
  DiskAgent busy(&store_, "busy");
  const uint32_t c = busy.Disk("C:");
  busy.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(busy.Send());
  const auto reader = Subscribe({"\\\\*\\Disk(*)\\Queue Length"});
  for (int t = 1; t <= 40; ++t) {
    busy.Ticks(t, t, {{c, 3}});
    Offer(busy);
  }
  DiskAgent other(&store_, "other");
  other.Ticks(1, 1, {{other.Disk("C:"), 7}});
  Offer(other);
  hub_.WorkOnce();
  hub_.WorkOnce();
  hub_.WorkOnce();
  hub_.WorkOnce();
  const auto notes = reader->Read();
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr("@1=7")));
  EXPECT_LT(notes.size(), 42);
}

TEST_F(HubTest, FailedQueryEndsNoSeries) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(1, 1, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(), SizeIs(2));
  agent.AddBlock(agent.query, ClocksAt(2), {{agent.query, {}, 1460}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), IsEmpty());
  agent.Ticks(3, 3, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@3=3"));
}

TEST_F(HubTest, NumbersInstancesWithTheSameName) {
  DiskAgent agent(&store_);
  const uint32_t first = agent.Disk("gpu", 10);
  const uint32_t second = agent.Disk("gpu", 20);
  agent.Ticks(1, 1, {{first, 3}, {second, 4}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(gpu#1)\\Queue Length"});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(gpu#1)\\Queue Length", "1@1=4"));
  // The first one is not selected, but keeps its number while it lives.
  agent.Ticks(2, 2, {{second, 4}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@2=4"));
}

TEST_F(HubTest, SendsAtTheRequestedInterval) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader =
      Subscribe({"\\Disk(*)\\Transfers/sec"}, {.interval = absl::Seconds(5)});
  EXPECT_THAT(reader->Read(), IsEmpty());
  agent.Ticks(1, 11, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                                          "1@5=3", "1@10=3"));
}

TEST_F(HubTest, SendsThePresenceInAWindow) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader =
      Subscribe({"\\Disk(*)\\*"}, {.interval = absl::Seconds(5)});
  reader->Read();
  agent.Ticks(1, 6, {{c, 3}});
  agent.Ticks(7, 11, {{c, 3}, {agent.Disk("D:"), 4}});
  Arrive(agent);
  const std::vector<std::string> messages = reader->Read();
  // Of the 5 s from 5 s to 10 s, a rate has those from 7 s, and a gauge those
  // from 6 s.
  EXPECT_THAT(messages, Contains("3@10=4*0.6"));
  EXPECT_THAT(messages, Contains("4@10=4*0.8"));
  EXPECT_THAT(messages, Contains("1@10=3"));
}

TEST_F(HubTest, SendsTheGrowthOfBornInstances) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 0, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(D:)\\Transfers/sec"});
  EXPECT_THAT(reader->Read(), IsEmpty());
  const uint32_t born =
      agent.Instance(agent.machine_id, agent.disk, "D:", /*instance_id=*/0,
                     /*occurrence=*/0, /*is_born=*/true);
  agent.Ticks(1, 2, {{born, 4}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(D:)\\Transfers/sec",
                                          "1@1=4", "1@2=4"));
}

TEST_F(HubTest, SendsRawSamples) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 2, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Transfers/sec"}, {.raw = true});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec", "1@2 raw 6"));
  agent.Ticks(3, 4, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@3 raw 9", "1@4 raw 12"));
}

TEST_F(HubTest, DropsAndCountsBatchesBeyondTheQueue) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(agent.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(reader->Read(), SizeIs(2));
  // No thread works on the queue of 1024 batches.
  for (int t = 1; t <= 1034; ++t) {
    agent.Ticks(t, t, {{c, 3}});
    Offer(agent);
  }
  Work();
  // The oldest ten batches of two values each are dropped.
  const std::vector<std::string> sent = reader->Read();
  EXPECT_EQ(reader->lagged(), 20);
  EXPECT_THAT(sent, SizeIs(1024));
  EXPECT_EQ(sent.front(), "1@11=3");
  EXPECT_EQ(sent.back(), "1@1034=3");
}

TEST_F(HubTest, SlowSubscriberKeepsOnlyNewestValues) {
  constexpr int kTicks = static_cast<int>(Outbox::kMaxValues) / 2 + 100;
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  const uint32_t d = agent.Disk("D:");
  agent.Ticks(0, 0, {{c, 3}, {d, 4}});
  ASSERT_OK(agent.Send());
  const auto slow = Subscribe({"\\Disk(*)\\Queue Length"});
  const auto quick = Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(slow->Read(), SizeIs(4));
  EXPECT_THAT(quick->Read(), SizeIs(4));
  size_t sent = 0;
  for (int t = 1; t <= kTicks; ++t) {
    agent.Ticks(t, t, {{c, 3}, {d, 4}});
    Arrive(agent);
    sent += quick->Read().size();
  }
  EXPECT_EQ(sent, 2 * kTicks);
  EXPECT_EQ(quick->lagged(), 0);
  const auto rest = slow->Read();
  EXPECT_EQ(rest.size() + slow->lagged(), 2 * kTicks);
  EXPECT_GT(slow->lagged(), Outbox::kMaxValues - 10);
  EXPECT_EQ(rest[rest.size() - 2], absl::StrCat("1@", kTicks, "=3"));
  EXPECT_EQ(rest[rest.size() - 1], absl::StrCat("2@", kTicks, "=4"));
}

TEST_F(HubTest, ThousandSubscribersGetTheSameValues) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 1, {{c, 3}});
  ASSERT_OK(agent.Send());
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 1000; ++i) {
    readers.push_back(Subscribe(
        {i % 2 == 0 ? "\\Disk(*)\\Queue Length" : "\\\\web-*\\Disk(C:)\\*"}));
    readers.back()->Read();
  }
  agent.Ticks(2, 2, {{c, 3}});
  Arrive(agent);
  for (int i = 0; i < 1000; ++i) {
    if (i % 2 == 0) {
      EXPECT_THAT(readers[i]->Read(), ElementsAre("1@2=3"));
    } else {
      EXPECT_THAT(readers[i]->Read(), ElementsAre("1@2=3", "2@2=3"));
    }
  }
  for (const auto& reader : readers) hub_.Remove(reader->subscription());
  Work();
  EXPECT_FALSE(hub_.IsWatched("web-1"));
  // Batches without subscribers are ignored.
  agent.Ticks(3, 3, {{c, 3}});
  Arrive(agent);
  EXPECT_THAT(readers[0]->Read(), IsEmpty());
}

class LimitedHubTest : public HubTest {
 protected:
  LimitedHubTest() : HubTest({.max_live_machines = 1, .max_subscribers = 2}) {}
};

TEST_F(LimitedHubTest, WidensIntervalOfMachinesBeyondTheLimit) {
  DiskAgent first(&store_, "web-1");
  DiskAgent second(&store_, "web-2");
  const uint32_t c1 = first.Disk("C:");
  const uint32_t c2 = second.Disk("C:");
  first.Ticks(0, 0, {{c1, 3}});
  second.Ticks(0, 0, {{c2, 4}});
  ASSERT_OK(first.Send());
  ASSERT_OK(second.Send());
  const auto reader = Subscribe({"\\Disk(*)\\Transfers/sec"});
  reader->Read();
  EXPECT_EQ(reader->live_machines().live(), 1);
  EXPECT_EQ(reader->live_machines().widened(), 1);
  EXPECT_EQ(reader->live_machines().widened_interval().seconds(), 10);
  EXPECT_TRUE(hub_.IsWatched("web-1"));
  EXPECT_FALSE(hub_.IsWatched("web-2"));
  first.Ticks(1, 2, {{c1, 3}});
  second.Ticks(1, 11, {{c2, 4}});
  Arrive(first);
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                                          "1@1=3", "1@2=3"));
  Arrive(second);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 web-2 \\Disk(C:)\\Transfers/sec", "2@10=4"));
  // When the first is no longer watched, another one can be live.
  hub_.Remove(reader->subscription());
  const auto later = Subscribe({"\\\\web-2\\Disk(*)\\Transfers/sec"});
  EXPECT_TRUE(hub_.IsWatched("web-2"));
  EXPECT_FALSE(hub_.IsWatched("web-1"));
}

// The page of the fleet has such an interval.
TEST_F(LimitedHubTest, LongIntervalsNeedNoLiveMachines) {
  DiskAgent first(&store_, "web-1");
  DiskAgent second(&store_, "web-2");
  const uint32_t c = first.Disk("C:");
  first.Ticks(0, 0, {{c, 3}});
  second.Ticks(0, 0, {{second.Disk("C:"), 4}});
  ASSERT_OK(first.Send());
  ASSERT_OK(second.Send());
  const auto slow = Subscribe({"\\Disk(*)\\Transfers/sec"},
                              {.interval = Hub::kWidenedInterval});
  slow->Read();
  EXPECT_FALSE(hub_.IsWatched("web-1"));
  EXPECT_FALSE(hub_.IsWatched("web-2"));
  EXPECT_EQ(hub_.counts().watched_machines, 2);
  EXPECT_EQ(hub_.counts().live_machines, 0);
  first.Ticks(1, 11, {{c, 3}});
  Arrive(first);
  EXPECT_THAT(slow->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec", "1@10=3"));
  // A subscription with a short one makes the same machine live, and its end
  // makes room for another.
  const auto quick = Subscribe({"\\\\web-1\\Disk(*)\\Transfers/sec"});
  quick->Read();
  EXPECT_EQ(quick->live_machines().live(), 1);
  EXPECT_EQ(quick->live_machines().widened(), 0);
  EXPECT_TRUE(hub_.IsWatched("web-1"));
  hub_.Remove(quick->subscription());
  EXPECT_FALSE(hub_.IsWatched("web-1"));
  EXPECT_EQ(hub_.counts().watched_machines, 2);
  const auto other = Subscribe({"\\\\web-2\\Disk(*)\\Transfers/sec"});
  EXPECT_TRUE(hub_.IsWatched("web-2"));
  EXPECT_EQ(hub_.counts().live_machines, 1);
}

TEST_F(LimitedHubTest, ReportsPathsThatSelectNothingBesideOthers) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 0, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const auto make = [&](const std::vector<std::string>& texts) {
    auto paths = PathSet::Parse(texts, store_->directory());
    EXPECT_OK(paths);
    return std::make_shared<Subscription>(
        SubscriptionRequest{.paths = *std::move(paths)});
  };
  std::vector<absl::Status> missed;
  Reader reader(make({"\\Dusk(*)\\*", testing::kQueue}));
  ASSERT_OK(hub_.Add(reader.subscription(), &missed));
  Work();
  EXPECT_THAT(reader.Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@0=3"));
  ASSERT_EQ(missed.size(), 1);
  EXPECT_EQ(MissedPath(missed[0]), "\\Dusk(*)\\*");
  // A subscription to nothing is an error.
  EXPECT_THAT(hub_.Add(make({"\\Dusk(*)\\*"}), &missed),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Dusk")));
}

TEST_F(LimitedHubTest, LimitsSubscribers) {
  DiskAgent agent(&store_);
  agent.Ticks(0, 0, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  const auto first = Subscribe({"\\Disk(*)\\*"});
  const auto second = Subscribe({"\\Disk(*)\\*"});
  auto paths = PathSet::Parse({"\\Disk(*)\\*"}, store_->directory());
  ASSERT_OK(paths);
  const auto third = std::make_shared<Subscription>(
      SubscriptionRequest{.paths = *std::move(paths)});
  EXPECT_THAT(hub_.Add(third), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr("limit of 2 subscribers")));
  hub_.Remove(first->subscription());
  EXPECT_OK(hub_.Add(third));
}

}  // namespace
}  // namespace fleetperf::aggregator
