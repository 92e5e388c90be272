// Range queries over a series' history: instances that are renumbered or
// restarted, changed registrations, and gaps.

#include "tests/aggregator/query/range_query_fixture.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(RangeQuery, NumbersInstancesWithTheSameName) {
  DiskAgent agent(&store_);
  const uint32_t third = agent.Disk("usb", 9), first = agent.Disk("usb", 4),
                 second = agent.Disk("USB", 4, 1), only = agent.Disk("C:");
  agent.Ticks(0, 10, {{third, 3}, {first, 1}, {second, 2}, {only, 5}});
  ASSERT_OK(agent.Send());
  const auto ask = [&](const std::string& instance) {
    return Ask({.paths = {"\\Disk(" + instance + ")\\Transfers/sec"},
                .start = At(0),
                .end = At(10)});
  };
  // By instance id, then by occurrence; names without regard to case.
  EXPECT_THAT(ask("usb"),
              ElementsAre("web-1 \\Disk(USB#1)\\Transfers/sec", "10: 2",
                          "web-1 \\Disk(usb)\\Transfers/sec", "10: 1",
                          "web-1 \\Disk(usb#2)\\Transfers/sec", "10: 3"));
  EXPECT_THAT(ask("usb#0"),
              ElementsAre("web-1 \\Disk(usb)\\Transfers/sec", "10: 1"));
  EXPECT_THAT(ask("usb#2"),
              ElementsAre("web-1 \\Disk(usb#2)\\Transfers/sec", "10: 3"));
  EXPECT_THAT(ask("*#0"),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 5",
                          "web-1 \\Disk(usb)\\Transfers/sec", "10: 1"));
  EXPECT_THAT(ask("usb#3"), IsEmpty());
}

// The instances in the range are numbered, regardless of others stored with
// them.
TEST_F(RangeQuery, NumbersInstancesEquallyInLogAndChunks) {
  DiskAgent agent(&store_);
  const uint32_t gone = agent.Disk("usb", 4), stays = agent.Disk("usb", 9),
                 comes = agent.Disk("usb", 2);
  for (int tick = 0; tick < 40; ++tick) {
    if (tick < 15) {
      agent.Ticks(tick, tick, {{gone, 1}, {stays, 2}});
    } else if (tick < 35) {
      agent.Ticks(tick, tick, {{stays, 2}});
    } else {
      agent.Ticks(tick, tick, {{stays, 2}, {comes, 3}});
    }
    // Some instances begin and end within a batch.
    if (tick % 10 == 9) {
      ASSERT_OK(agent.Send());
    }
  }
  const auto ask = [&](double start, double end) {
    return Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                .start = At(start),
                .end = At(end)});
  };
  const auto expect_all = [&] {
    EXPECT_THAT(ask(2, 8),
                ElementsAre("web-1 \\Disk(usb)\\Transfers/sec", "8: 1",
                            "web-1 \\Disk(usb#1)\\Transfers/sec", "8: 2"));
    EXPECT_THAT(ask(20, 29),
                ElementsAre("web-1 \\Disk(usb)\\Transfers/sec", "29: 2"));
    EXPECT_THAT(ask(18, 32),
                ElementsAre("web-1 \\Disk(usb)\\Transfers/sec", "32: 2"));
    EXPECT_THAT(ask(36, 39),
                ElementsAre("web-1 \\Disk(usb)\\Transfers/sec", "39: 3",
                            "web-1 \\Disk(usb#1)\\Transfers/sec", "39: 2"));
  };
  expect_all();
  ASSERT_OK(store_.Compact());
  expect_all();
  store_.Reopen();
  expect_all();
}

TEST_F(RangeQuery, FollowsALifeAcrossEpochs) {
  DiskAgent before(&store_);
  before.Ticks(0, 10, {{before.Disk("C:"), 2}});
  ASSERT_OK(before.Send());
  DiskAgent after(&store_, "web-1", 2);
  after.Ticks(11, 20, {{after.Disk("C:"), 4}});
  ASSERT_OK(after.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(20),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2",
                          "20: 4 agent_restart breaks=1 coverage=0.9"));
}

TEST_F(RangeQuery, ContinuesOverAWrapIfThePlanAllowsIt) {
  for (const bool wraps : {false, true}) {
    const std::string machine = wraps ? "wraps" : "strict";
    testing::TestAgent agent(&store_, machine);
    const uint32_t id = agent.Machine(machine);
    const uint32_t disk = agent.Counterset(testing::DiskRegistration());
    const uint32_t query = agent.Query(
        id, disk, absl::Seconds(1),
        {{.counter_id = testing::kTransfers, .value_size = 4, .wraps = wraps}});
    const uint32_t c = agent.Instance(id, disk, "C:");
    for (uint32_t t = 0; t <= 4; ++t) {
      const uint32_t value = 0xFFFF'FF00 + 100 * t;  // wraps after 2 s
      agent.AddTick(query, ClocksAt(t), {{c, {value}}});
    }
    ASSERT_OK(agent.Send());
  }
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(4)}),
              ElementsAre("strict \\Disk(C:)\\Transfers/sec",
                          "4: 100 reset breaks=1 coverage=0.75",
                          "wraps \\Disk(C:)\\Transfers/sec", "4: 100"));
}

// An update changed a counter's type. Old and new samples are separate series.
TEST_F(RangeQuery, QueriesOldAndNewRegistrations) {
  DiskAgent before(&store_);
  before.Ticks(0, 10, {{before.Disk("C:"), 2}});
  ASSERT_OK(before.Send());
  testing::TestAgent after(&store_, "web-1", 2);
  perflib::CountersetRegistration changed = testing::DiskRegistration();
  changed.counters[1].type = 0x00010100;
  const uint32_t machine = after.Machine("web-1");
  const uint32_t disk = after.Counterset(changed);
  const uint32_t query =
      after.Query(machine, disk, absl::Seconds(1), {{testing::kQueueLength}});
  const uint32_t c = after.Instance(machine, disk, "C:");
  after.AddTick(query, ClocksAt(11), {{c, {7}}});
  ASSERT_OK(after.Send());
  EXPECT_THAT(
      Ask({.paths = {"\\Disk(*)\\Queue Length"},
           .start = At(0),
           .end = At(20)}),
      ElementsAre("web-1 \\Disk(C:)\\Queue Length", "20: 2 coverage=0.5",
                  "web-1 \\Disk(C:)\\Queue Length", "20: 7 coverage=0.05"));
}

TEST_F(RangeQuery, ShowsGapsWithTheirCauses) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:"), gone = agent.Disk("gone");
  agent.Ticks(0, 10, {{c, 2}, {gone, 1}});
  agent.Ticks(11, 12, {{c, 2}});  // without `gone`, which has ended
  agent.Lose("web-1", At(13), At(24), 12, v1::LOSS_CAUSE_SPOOL_FULL);
  agent.Ticks(25, 30, {{c, 2}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(50),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2",
                          "20: 2 spool_full coverage=0.2",
                          "30: 2 spool_full breaks=1 coverage=0.5",
                          // No later samples, for an unknown reason.
                          "40: gap no_samples coverage=0",
                          "50: gap no_samples coverage=0",
                          "web-1 \\Disk(gone)\\Transfers/sec", "10: 1"));
}

TEST_F(RangeQuery, ShowsAGapAtTheEndEvenIfSamplesFollow) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 10, {{c, 2}});
  agent.Ticks(40, 45, {{c, 2}});  // in the same batch
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(30),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2",
                          "20: gap no_samples coverage=0",
                          "30: gap no_samples coverage=0"));
}

TEST_F(RangeQuery, ShowsAGapWhereAQueryFails) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(0, 10, {{c, 2}});
  for (int t = 11; t <= 30; ++t) {
    agent.AddBlock(agent.query, ClocksAt(t), {{agent.query, {}, 1460}});
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(Ask({.paths = {"\\Disk(*)\\Transfers/sec"},
                   .start = At(0),
                   .end = At(30),
                   .step = absl::Seconds(10)}),
              ElementsAre("web-1 \\Disk(C:)\\Transfers/sec", "10: 2",
                          "20: gap no_samples coverage=0",
                          "30: gap no_samples coverage=0"));
}

}  // namespace
}  // namespace fleetperf::aggregator
