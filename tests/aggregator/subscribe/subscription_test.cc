// What a subscriber is sent.

#include "aggregator/subscribe/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::SizeIs;
using testing::TestStore;

// Notes what is sent: "+1 web-1 \Disk(C:)\Queue Length", "1@5=2", "-1".
class Notes : public SubscriptionOutlet {
 public:
  void Send(v1::SubscribeResponse response) override {
    if (response.has_series()) {
      const v1::Series& series = response.series();
      notes_.push_back(absl::StrCat("+", series.id(), " ", series.machine(),
                                    " ", series.path()));
    }
    if (response.has_end()) {
      notes_.push_back(absl::StrCat("-", response.end().series()));
    }
    updates_ += response.has_update();
    lagged_ += response.update().lagged();
    for (const v1::Points& points : response.update().points()) {
      int64_t nanos = 0;
      for (int i = 0; i < points.values_size(); ++i) {
        nanos += points.time_unix_nanos(i);
        notes_.push_back(absl::StrFormat(
            "%d@%g=%g", points.series(),
            absl::ToDoubleSeconds(absl::FromUnixNanos(nanos) - kStart),
            points.values(i)));
      }
    }
  }
  void End(const absl::Status& status) override {
    notes_.push_back(status.ToString());
  }

  // Everything since the last call.
  std::vector<std::string> Take() { return std::exchange(notes_, {}); }
  uint64_t lagged() const { return lagged_; }
  int updates() const { return updates_; }

 private:
  std::vector<std::string> notes_;
  uint64_t lagged_ = 0;
  int updates_ = 0;
};

class SubscriptionTest : public ::testing::Test {
 protected:
  void Subscribe(const std::vector<std::string>& paths,
                 absl::Duration interval = absl::ZeroDuration()) {
    auto parsed = PathSet::Parse(paths, store_->directory());
    ASSERT_OK(parsed);
    subscription_ = std::make_unique<Subscription>(*std::move(parsed), interval,
                                                   &*store_, notes_);
    Work();
  }
  void Work() {
    while (subscription_->Work()) {
    }
  }

  // What is sent when the agent's next batch arrives.
  std::vector<std::string> Offer(DiskAgent& agent) {
    const auto batch = agent.TakeBatch();
    EXPECT_OK(batch);
    if (subscription_->Offer(*batch)) Work();
    return notes_->Take();
  }

  TestStore store_;
  const std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  std::unique_ptr<Subscription> subscription_;
};

TEST_F(SubscriptionTest, BeginsWithTheNewestStoredValuesAndGoesOnWithoutASeam) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 5, {{c, 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\*"});
  EXPECT_THAT(notes_->Take(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                          "+2 web-1 \\Disk(C:)\\Queue Length",  //
                          "1@5=3", "2@5=3"));
  agent.Ticks(5, 6, {{c, 3}});  // the first of these was stored already
  EXPECT_THAT(Offer(agent), ElementsAre("1@6=3", "2@6=3"));
}

TEST_F(SubscriptionTest, OnlyWhatThePathsNameIsSent) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  const uint32_t c = web.Disk("C:");
  const uint32_t d = web.Disk("D:");
  web.Ticks(1, 1, {{c, 3}, {d, 4}});
  db.Ticks(1, 1, {{db.Disk("C:"), 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  Subscribe({"\\\\web-*\\Disk(D:)\\Queue Length"});
  EXPECT_THAT(notes_->Take(),
              ElementsAre("+1 web-1 \\Disk(D:)\\Queue Length", "1@1=4"));
  EXPECT_TRUE(subscription_->IsWatching("web-7"));
  EXPECT_FALSE(subscription_->IsWatching("db-1"));
  web.Ticks(2, 2, {{c, 3}, {d, 4}});
  EXPECT_THAT(Offer(web), ElementsAre("1@2=4"));
}

TEST_F(SubscriptionTest, NewMachinesAndInstancesJoin) {
  DiskAgent web(&store_, "web-1");
  const uint32_t c = web.Disk("C:");
  web.Ticks(1, 1, {{c, 3}});
  ASSERT_OK(web.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(notes_->Take(), SizeIs(2));
  web.Ticks(2, 2, {{c, 3}, {web.Disk("D:"), 4}});
  EXPECT_THAT(Offer(web), ElementsAre("+2 web-1 \\Disk(D:)\\Queue Length",
                                      "1@2=3", "2@2=4"));
  DiskAgent db(&store_, "db-1");
  db.Ticks(2, 2, {{db.Disk("C:"), 5}});
  EXPECT_THAT(Offer(db),
              ElementsAre("+3 db-1 \\Disk(C:)\\Queue Length", "3@2=5"));
}

TEST_F(SubscriptionTest, AnInstanceThatIsGoneEndsItsSeries) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  const uint32_t d = agent.Disk("D:");
  agent.Ticks(1, 1, {{c, 3}, {d, 4}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(notes_->Take(), SizeIs(4));
  agent.Ticks(2, 2, {{c, 3}, {d, 4}});
  agent.Ticks(3, 3, {{c, 3}});
  EXPECT_THAT(Offer(agent), ElementsAre("1@2=3", "1@3=3", "2@2=4", "-2"));
  // When it comes again it is another series.
  agent.Ticks(4, 4, {{c, 3}, {agent.Disk("D:"), 6}});
  EXPECT_THAT(Offer(agent), ElementsAre("+3 web-1 \\Disk(D:)\\Queue Length",
                                        "1@4=3", "3@4=6"));
}

// Also if nothing goes with it, so that a subscriber knows that it waits.
TEST_F(SubscriptionTest, TheFirstUpdateComesWhenHistoryIsRead) {
  DiskAgent agent(&store_);
  agent.Ticks(1, 1, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(Z:)\\Queue Length"});
  EXPECT_THAT(notes_->Take(), IsEmpty());
  EXPECT_EQ(notes_->updates(), 1);
}

TEST_F(SubscriptionTest, WhatWasGoneBeforeIsNotSent) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(1, 1, {{c, 3}, {agent.Disk("D:"), 4}});
  agent.Ticks(2, 2, {{c, 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(notes_->Take(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@2=3"));
}

// Processes come and go, each known for a tick, more than may be watched at a
// time.
TEST_F(SubscriptionTest, SeriesThatEndedMakeRoomForOthers) {
  constexpr int kTicks = 101;
  constexpr uint32_t kInstances = 2000;
  DiskAgent agent(&store_);
  agent.Ticks(0, 0, {{agent.Disk("C:"), 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  notes_->Take();
  for (int t = 1; t <= kTicks; ++t) {
    std::vector<std::pair<uint32_t, uint64_t>> rates;
    for (uint32_t i = 0; i < kInstances; ++i) {
      rates.emplace_back(
          agent.Disk("sh", static_cast<uint32_t>(t) * kInstances + i), 1);
    }
    agent.Ticks(t, t, rates);
    const size_t ended = t == 1 ? 1 : kInstances;
    EXPECT_THAT(Offer(agent), SizeIs(2 * kInstances + ended)) << t;
  }
}

TEST_F(SubscriptionTest, LeavesWorkForItsNextTurn) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  Subscribe({"\\\\*\\Disk(*)\\Queue Length"});
  for (int t = 1; t <= 20; ++t) {
    agent.Ticks(t, t, {{c, 3}});
    const auto batch = agent.TakeBatch();
    ASSERT_OK(batch);
    subscription_->Offer(*batch);
  }
  EXPECT_TRUE(subscription_->Work());
  const size_t first = notes_->Take().size();
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 21);
  Work();
  EXPECT_THAT(notes_->Take(), SizeIs(21 - first));
}

TEST_F(SubscriptionTest, AQueryThatFailsEndsNothing) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(1, 1, {{c, 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(notes_->Take(), SizeIs(2));
  agent.AddBlock(agent.query, ClocksAt(2), {{agent.query, {}, 1460}});
  EXPECT_THAT(Offer(agent), IsEmpty());
  agent.Ticks(3, 3, {{c, 3}});
  EXPECT_THAT(Offer(agent), ElementsAre("1@3=3"));
}

TEST_F(SubscriptionTest, InstancesOfOneNameAreNumbered) {
  DiskAgent agent(&store_);
  const uint32_t first = agent.Disk("gpu", 10);
  const uint32_t second = agent.Disk("gpu", 20);
  agent.Ticks(1, 1, {{first, 3}, {second, 4}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(gpu#1)\\Queue Length"});
  EXPECT_THAT(notes_->Take(),
              ElementsAre("+1 web-1 \\Disk(gpu#1)\\Queue Length", "1@1=4"));
  // The first one, which is not wanted, keeps its number while it lives.
  agent.Ticks(2, 2, {{second, 4}});
  EXPECT_THAT(Offer(agent), ElementsAre("1@2=4"));
}

TEST_F(SubscriptionTest, SendsNoMoreOftenThanWanted) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Transfers/sec"}, absl::Seconds(5));
  EXPECT_THAT(notes_->Take(), IsEmpty());
  agent.Ticks(1, 11, {{c, 3}});
  EXPECT_THAT(Offer(agent), ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                                        "1@5=3", "1@10=3"));
}

TEST_F(SubscriptionTest, WhatItIsTooSlowForIsLeftOutAndCounted) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 0, {{c, 3}});
  ASSERT_OK(agent.Send());
  Subscribe({"\\Disk(*)\\Queue Length"});
  EXPECT_THAT(notes_->Take(), SizeIs(2));
  // Nobody works the queue off, which holds 1024 batches.
  for (int t = 1; t <= 1034; ++t) {
    agent.Ticks(t, t, {{c, 3}});
    const auto batch = agent.TakeBatch();
    ASSERT_OK(batch);
    EXPECT_EQ(subscription_->Offer(*batch), t == 1);
  }
  Work();
  // The oldest ten went, of two values each.
  EXPECT_EQ(notes_->lagged(), 20);
  const std::vector<std::string> sent = notes_->Take();
  EXPECT_THAT(sent, SizeIs(1024));
  EXPECT_EQ(sent.front(), "1@11=3");
  EXPECT_EQ(sent.back(), "1@1034=3");
}

}  // namespace
}  // namespace fleetperf::aggregator
