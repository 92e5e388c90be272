#include "agent/collect/collection.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/conversions.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/samples_text.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::FakeSource;
using ::testing::IsEmpty;
using testing::kDiskGuid;
using testing::kSystemGuid;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using testing::Value32;
using testing::Value64;
using Script = FakeSource::Script;

const PlannedQuery kSystemQuery = {.counterset = "System"};
const PlannedQuery kDiskQuery = {.counterset = "Disk",
                                 .counters = {"Reads/sec"}};

// Each tick forms a separate batch. Time passes only when the test advances it.
class CollectionTest : public ::testing::Test {
 protected:
  CollectionTest() {
    delivery_.SetLive(true);
    source_.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
    source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
    collection_ =
        std::make_unique<Collection>(Collection::Options{.machine = "web-1",
                                                         .source = &source_,
                                                         .delivery = &delivery_,
                                                         .clock = &clock_});
  }

  // Returns the reports as "0 System: error".
  std::vector<std::string> Apply(const std::vector<PlannedQuery>& queries) {
    plan_ = {.queries = queries};
    return Reports();
  }
  // Those of the plan in force.
  std::vector<std::string> Reports() {
    std::vector<std::string> texts;
    for (const QueryReport& report : ApplyAndAwait()) {
      texts.push_back(absl::StrCat(report.query, " ", report.counterset, ": ",
                                   report.error));
    }
    return texts;
  }
  std::vector<QueryReport> ApplyAndAwait() {
    collection_->Apply(plan_);
    return collection_->Await(absl::InfiniteDuration());
  }
  // Waits until the due ticks were taken. A plan is applied between two ticks,
  // and applying an equal plan changes nothing.
  void Settle() {
    ApplyAndAwait();
    ApplyAndAwait();
  }

  // Takes the ticks of so many seconds, one at a time.
  void Advance(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(absl::Seconds(1));
      Settle();
    }
  }
  // Returns the number of blocks since the last call.
  int BlocksTaken() {
    Settle();
    int blocks = 0;
    for (const v1::Batch& batch : testing::BatchesOf(delivery_.spool())) {
      blocks += testing::ContentOf(batch).blocks_size();
      testing::Acknowledge(delivery_.spool(), batch.sequence());
    }
    return blocks;
  }

  // Returns the batches since the last call: their queries, such as "System 1s
  // 1/4 2/4", or their losses, such as "lost 3 ticks 6".
  std::vector<std::string> TakeBatches() {
    Settle();
    const v1::Definitions definitions =
        testing::AllDefinitions(delivery_.dictionary());
    std::vector<std::string> texts;
    for (const v1::Batch& batch : testing::BatchesOf(delivery_.spool())) {
      const v1::BatchContent content = testing::ContentOf(batch);
      for (const v1::BlockColumns& block : content.blocks()) {
        for (const v1::QueryColumns& query : block.queries()) {
          texts.push_back(testing::QueryText(definitions, query.query()));
          last_instances_ = {query.instances().begin(),
                             query.instances().end()};
        }
      }
      for (const v1::Loss& loss : content.losses()) {
        texts.push_back(absl::StrCat("lost ", loss.ticks(), " ticks of ",
                                     loss.machine(), ": ",
                                     v1::LossCause_Name(loss.cause())));
      }
      retired_ += content.retired_instances_size();
      testing::Acknowledge(delivery_.spool(), batch.sequence());
    }
    return texts;
  }

  testing::SimulatedClock clock_;
  FakeSource source_{testing::TestRegistrations()};
  Delivery delivery_{{.epoch = 1, .clock = &clock_}};
  std::unique_ptr<Collection> collection_;
  Plan plan_;
  std::vector<int32_t> last_instances_;  // of the last query in TakeBatches
  int retired_ = 0;
};

TEST_F(CollectionTest, ReportsTheResultOfAPlan) {
  EXPECT_THAT(Apply({kSystemQuery, {.counterset = "Disc"}}),
              ElementsAre("0 System: ",
                          "1 : there is no counterset \"Disc\"; did you mean "
                          "\"Disk\"?"));
  source_.Change([](Script& script) {
    script.add = [](const perflib::CounterIdentifier& identifier) {
      return identifier.counter_id == 3 ? perflib::kErrorAccessDenied : 0;
    };
  });
  EXPECT_THAT(
      Apply({{.counterset = "Disk", .counters = {"id:1", "id:3"}}}),
      ElementsAre("0 Disk: ", StartsWith("0 : the source refuses counter 3")));
  source_.Change(
      [](Script& script) { script.open = absl::UnavailableError("gone"); });
  EXPECT_THAT(Apply({kSystemQuery}), ElementsAre("0 System: ", "0 : gone"));
  EXPECT_THAT(Apply({}), IsEmpty());
}

TEST_F(CollectionTest, TakesTheFirstTickAtOnceAndLaterOnesWhenDue) {
  Apply({kSystemQuery});
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
  EXPECT_THAT(TakeBatches(), IsEmpty());
  clock_.Advance(absl::Milliseconds(999));
  EXPECT_THAT(TakeBatches(), IsEmpty());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
}

TEST_F(CollectionTest, CollectsEachIntervalSeparately) {
  const PlannedQuery seldom = {.counterset = "Disk",
                               .counters = {"Reads/sec"},
                               .interval = absl::Seconds(3)};
  Apply({kSystemQuery, seldom});
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4", "Disk 3s 1/8"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4", "Disk 3s 1/8"));
}

TEST_F(CollectionTest, CollectsAnIntervalsCountersetsInOneBlock) {
  Apply({kSystemQuery, kDiskQuery});
  Settle();
  const auto contents = testing::ContentsOf(delivery_.spool());
  ASSERT_EQ(contents.size(), 1);
  ASSERT_EQ(contents[0].blocks_size(), 1);
  EXPECT_EQ(contents[0].blocks(0).queries_size(), 2);
  // A counterset appears in a block once.
  Apply({{.counterset = "Disk", .counters = {"id:1"}, .instances = {"sda"}},
         {.counterset = "Disk", .counters = {"id:3"}, .instances = {"sdb"}}});
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  Settle();
  EXPECT_EQ(testing::ContentsOf(delivery_.spool()).size(), 2);
}

TEST_F(CollectionTest, CollectsAnInstanceByTheFirstQueryThatNamesIt) {
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(111)}}},
                                   {"sdb", 16, {{1, Value64(222)}}}});
  Apply({{.counterset = "Disk", .counters = {"id:1"}, .instances = {"sda"}},
         {.counterset = "Disk", .counters = {"id:1"}}});
  Settle();
  std::vector<uint64_t> values;
  for (const auto& content : testing::ContentsOf(delivery_.spool())) {
    for (const auto& block : content.blocks()) {
      for (const auto& query : block.queries()) {
        const auto& first = query.columns(0).first();
        values.insert(values.end(), first.begin(), first.end());
      }
    }
  }
  EXPECT_THAT(values, UnorderedElementsAre(111, 222));
}

TEST_F(CollectionTest, CollectsInstancesOfSeveralQueriesInOneTick) {
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(111)}}},
                                   {"sdb", 16, {{1, Value64(222)}}},
                                   {"sdc", 24, {{1, Value64(333)}}}});
  Apply({{.counterset = "Disk", .counters = {"id:1"}, .instances = {"sda"}},
         {.counterset = "Disk", .counters = {"id:1"}, .instances = {"sdc"}}});
  Settle();
  const auto contents = testing::ContentsOf(delivery_.spool());
  ASSERT_EQ(contents.size(), 1);
  ASSERT_EQ(contents[0].blocks_size(), 1);
  ASSERT_EQ(contents[0].blocks(0).queries_size(), 1);
  EXPECT_THAT(contents[0].blocks(0).queries(0).columns(0).first(),
              ElementsAre(111, 333));
}

// Queries in both plans are collected on time, whatever else changes.
TEST_F(CollectionTest, LosesNoTickOfQueriesInBothPlans) {
  Apply({kSystemQuery});
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
  const std::vector<int32_t> lives = last_instances_;
  clock_.Advance(absl::Milliseconds(999));
  Apply({kDiskQuery, kSystemQuery});
  EXPECT_THAT(TakeBatches(), IsEmpty());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(TakeBatches(),
              UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
  // With one counter less, the remaining query is a different one.
  Apply({{.counterset = "System", .counters = {"id:1"}}});
  EXPECT_THAT(TakeBatches(), IsEmpty());
  for (int tick = 0; tick < 3; ++tick) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4"));
    EXPECT_EQ(last_instances_, lives);
  }
  EXPECT_EQ(retired_, 0);
}

// Includes queries that add nothing to earlier ones.
TEST_F(CollectionTest, ReportsEachQuery) {
  EXPECT_THAT(
      Apply({kSystemQuery,
             {.counterset = "Sys*", .counters = {"id:1"}, .meanwhile = true}}),
      ElementsAre("0 System: ", "1 Sys*: "));
}

TEST_F(CollectionTest, KeepsPhaseAndLivesOverAChangeOfPlan) {
  Apply({kDiskQuery});
  TakeBatches();
  const std::vector<int32_t> lives = last_instances_;
  clock_.Advance(absl::Milliseconds(600));
  Apply({{.counterset = "Disk", .counters = {"Writes/sec"}}});
  EXPECT_THAT(TakeBatches(), IsEmpty());  // the tick is due in 400 ms
  clock_.Advance(absl::Milliseconds(400));
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 3/8"));
  EXPECT_EQ(last_instances_, lives);
  // A different interval starts at once. No query is collected between two
  // plans.
  Apply({});
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(TakeBatches(), IsEmpty());
  Apply({{.counterset = "Disk",
          .counters = {"Writes/sec"},
          .interval = absl::Seconds(5)}});
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 5s 3/8"));
  EXPECT_EQ(last_instances_, lives);
  EXPECT_EQ(retired_, 0);
}

TEST_F(CollectionTest, KeepsTicksAndLivesIfAnotherQueryAddsInstances) {
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}},
                                   {"sdb", 16, {{1, Value64(2)}}}});
  const PlannedQuery sda = {
      .counterset = "Disk", .counters = {"id:1"}, .instances = {"sda"}};
  const PlannedQuery sdb = {.counterset = "Disk",
                            .counters = {"id:1"},
                            .instances = {"sdb"},
                            .meanwhile = true};
  Apply({sda});
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 1/8"));
  ASSERT_THAT(last_instances_, SizeIs(1));
  const int32_t life = last_instances_[0];
  Apply({sda, sdb});
  EXPECT_THAT(TakeBatches(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 1/8"));
  ASSERT_THAT(last_instances_, SizeIs(2));
  EXPECT_EQ(last_instances_[0], life);
  Apply({sda});
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 1/8"));
  EXPECT_THAT(last_instances_, ElementsAre(life));
}

TEST_F(CollectionTest, BeginsANewLifeAfterAnAbsence) {
  Apply({kDiskQuery});
  TakeBatches();
  const std::vector<int32_t> lives = last_instances_;
  source_.SetInstances(kDiskGuid, {});
  clock_.Advance(absl::Seconds(1));
  TakeBatches();
  EXPECT_EQ(retired_, 1);
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  clock_.Advance(absl::Seconds(1));
  TakeBatches();
  EXPECT_NE(last_instances_, lives);
}

TEST_F(CollectionTest, CountsTicksWithoutAnAnswer) {
  source_.Change([](Script& script) {
    script.end_block = [](std::string*) {
      return absl::UnavailableError("gone");
    };
  });
  Apply({kSystemQuery});
  const std::string lost = "lost 1 ticks of web-1: LOSS_CAUSE_SOURCE_FAILED";
  EXPECT_THAT(TakeBatches(), ElementsAre(lost));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre(lost));
  source_.Change([](Script& script) { script.end_block = nullptr; });
  clock_.Advance(absl::Seconds(1));
  TakeBatches();  // the handle is queried again after a backoff
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
}

// The others lose no tick, not even the one of the crash.
TEST_F(CollectionTest, ACountersetThatFailsItsWholeHandleFailsAlone) {
  Apply({kSystemQuery, kDiskQuery});
  EXPECT_THAT(TakeBatches(),
              UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
  source_.Change([](Script& script) { script.crashing = {kDiskGuid}; });
  const std::string lost = "lost 1 ticks of web-1: LOSS_CAUSE_SOURCE_FAILED";
  for (int tick = 0; tick < 5; ++tick) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_THAT(TakeBatches(), UnorderedElementsAre("System 1s 1/4 2/4", lost));
  }
  EXPECT_THAT(Apply({kSystemQuery, kDiskQuery}),
              UnorderedElementsAre("0 System: ", "1 Disk: ",
                                   "1 : counterset \"Disk\": crashed"));
  source_.Change([](Script& script) { script.crashing.clear(); });
  Advance(60);
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(),
              UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
}

// Each query of a crashing provider starts a process.
TEST_F(CollectionTest, ACountersetThatFailsItsHandleIsTriedSeldom) {
  Apply({kDiskQuery});
  TakeBatches();
  source_.Change([](Script& script) { script.crashing = {kDiskGuid}; });
  const int asked = source_.blocks_asked_of(kDiskGuid);
  Advance(600);
  EXPECT_GT(source_.blocks_asked_of(kDiskGuid), asked + 5);
  EXPECT_LT(source_.blocks_asked_of(kDiskGuid), asked + 40);
  // The other ticks are lost, too.
  const auto batches = TakeBatches();
  EXPECT_EQ(batches.size(), 600);
  EXPECT_THAT(batches, ::testing::Each(
                           "lost 1 ticks of web-1: LOSS_CAUSE_SOURCE_FAILED"));
}

// As when a user ends the process of V1 providers in Task Manager.
TEST_F(CollectionTest, AHandleThatFailsOnceStaysWholeAndLosesNothing) {
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  const int opened = source_.handles_opened();
  source_.Change([](Script& script) {
    const auto has_failed = std::make_shared<bool>(false);
    script.end_block = [has_failed](std::string*) {
      return std::exchange(*has_failed, true) ? absl::OkStatus()
                                              : absl::AbortedError("ended");
    };
  });
  for (int tick = 0; tick < 3; ++tick) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_THAT(TakeBatches(),
                UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
  }
  EXPECT_EQ(source_.handles_opened(), opened);
}

// No query is the reason if the machine does not answer.
TEST_F(CollectionTest, AHandleOfAMachineThatIsGoneStaysWhole) {
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  source_.Change(
      [](Script& script) { script.machine = absl::UnavailableError("gone"); });
  const int opened = source_.handles_opened();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(),
              ElementsAre("lost 1 ticks of web-1: LOSS_CAUSE_SOURCE_FAILED"));
  EXPECT_EQ(source_.handles_opened(), opened);
  EXPECT_THAT(Reports(), UnorderedElementsAre(
                             "0 System: ", "0 : counterset \"System\": gone",
                             "1 Disk: ", "1 : counterset \"Disk\": gone"));
  source_.Change([](Script& script) { script.machine = absl::OkStatus(); });
  Advance(60);
  TakeBatches();
  EXPECT_THAT(Reports(), UnorderedElementsAre("0 System: ", "1 Disk: "));
  EXPECT_LE(source_.handles_opened(), opened + 1);
}

// Both queries failed once, which may have been the machine's fault.
TEST_F(CollectionTest, SplitHandlesAreMergedAgain) {
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  source_.Change([](Script& script) {
    script.crashing = {kDiskGuid, kSystemGuid};
  });
  Advance(2);
  source_.Change([](Script& script) { script.crashing.clear(); });
  Advance(60);
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(BlocksTaken(), 2);
  Advance(300);
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(BlocksTaken(), 1);
}

// The agent remembers the culprit for its next handles, too.
TEST_F(CollectionTest, ACountersetThatFailedAloneIsNotMerged) {
  const perflib::Guid disk = kDiskGuid;
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  source_.Change([&](Script& script) { script.crashing = {disk}; });
  Advance(2);
  source_.Change([](Script& script) { script.crashing.clear(); });
  Advance(600);
  TakeBatches();
  const auto lost = [&] {
    const auto batches = TakeBatches();
    return std::count_if(batches.begin(), batches.end(), [](const auto& text) {
      return text.starts_with("lost");
    });
  };
  // Another plan makes other handles.
  Apply({{.counterset = "System", .counters = {"id:1"}},
         {.counterset = "Disk", .counters = {"Writes/sec"}}});
  TakeBatches();
  source_.Change([&](Script& script) { script.crashing = {disk}; });
  const int asked = source_.blocks_asked_of(kSystemGuid);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(lost(), 1);
  EXPECT_EQ(source_.blocks_asked_of(kSystemGuid), asked + 1);
}

TEST_F(CollectionTest, CountsTicksMissedDuringASlowTick) {
  source_.Change([this](Script& script) {
    script.end_block = [this](std::string*) {
      clock_.Advance(absl::Milliseconds(3500));
      return absl::OkStatus();
    };
  });
  Apply({kSystemQuery});
  // The ticks of 1, 2 and 3 s.
  EXPECT_THAT(TakeBatches(),
              ElementsAre("System 1s 1/4 2/4",
                          "lost 3 ticks of web-1: LOSS_CAUSE_OVERRUN"));
  source_.Change([](Script& script) { script.end_block = nullptr; });
  clock_.Advance(absl::Milliseconds(499));
  EXPECT_THAT(TakeBatches(), IsEmpty());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
}

TEST_F(CollectionTest, RetriesAFailedListOfCountersets) {
  const auto gone = absl::UnavailableError("gone");
  FakeSource source{testing::TestRegistrations()};
  source.Change([&](Script& script) { script.enumerate = gone; });
  source.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  collection_ =
      std::make_unique<Collection>(Collection::Options{.machine = "db1",
                                                       .source = &source,
                                                       .delivery = &delivery_,
                                                       .clock = &clock_});
  EXPECT_THAT(Apply({kSystemQuery}), ElementsAre("0 : gone"));
  const std::string lost = "lost 1 ticks of db1: LOSS_CAUSE_SOURCE_FAILED";
  EXPECT_THAT(TakeBatches(), ElementsAre(lost));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre(lost));
  source.Change([](Script& script) { script.enumerate = absl::OkStatus(); });
  // At the latest a minute after the last attempt, with the same phase.
  clock_.Advance(absl::Minutes(1));
  Settle();
  EXPECT_THAT(Apply({kSystemQuery}), ElementsAre("0 System: "));
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
}

// As with a list of PerfLib V1 that a provider prevents.
TEST_F(CollectionTest, ReadsCountersetsThatOnlyThePlanNames) {
  FakeSource source{testing::TestRegistrations()};
  source.Change([](Script& script) {
    script.hidden_unless_wanted = {"System", "Disk"};
  });
  source.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  source.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  collection_ =
      std::make_unique<Collection>(Collection::Options{.machine = "web-1",
                                                       .source = &source,
                                                       .delivery = &delivery_,
                                                       .clock = &clock_});
  EXPECT_THAT(Apply({kSystemQuery}), ElementsAre("0 System: "));
  EXPECT_THAT(Apply({kSystemQuery, kDiskQuery}),
              UnorderedElementsAre("0 System: ", "1 Disk: "));
}

TEST_F(CollectionTest, CollectsNewCountersetsWithoutDisturbingOthers) {
  FakeSource source{testing::TestRegistrations()};
  source.Change([](Script& script) { script.hidden = {kDiskGuid}; });
  source.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  source.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  collection_ =
      std::make_unique<Collection>(Collection::Options{.machine = "web-1",
                                                       .source = &source,
                                                       .delivery = &delivery_,
                                                       .clock = &clock_});
  EXPECT_THAT(Apply({kSystemQuery, kDiskQuery}),
              ElementsAre("0 System: ", "1 : there is no counterset \"Disk\""));
  TakeBatches();
  const int opened = source.handles_opened();
  source.Change([](Script& script) { script.hidden.clear(); });
  clock_.Advance(absl::Minutes(1));
  Settle();
  TakeBatches();
  EXPECT_EQ(source.handles_opened(), opened + 1);
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
  EXPECT_EQ(collection_->registrations(), testing::TestRegistrations());
}

// As when PerfLib V2 answers again, and has a counterset that V1 served.
TEST_F(CollectionTest, ReadsACountersetOnceIfAnotherReplacesIt) {
  perflib::CountersetRegistration other = testing::DiskRegistration();
  other.guid = {.data1 = 0xd15c};
  other.name = "disk";
  FakeSource source{{other, testing::DiskRegistration()}};
  source.Change([](Script& script) { script.hidden = {kDiskGuid}; });
  source.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  source.SetInstances(other.guid, {{"sda", 8, {{1, Value64(1)}}}});
  collection_ =
      std::make_unique<Collection>(Collection::Options{.machine = "web-1",
                                                       .source = &source,
                                                       .delivery = &delivery_,
                                                       .clock = &clock_});
  EXPECT_THAT(Apply({kDiskQuery}), ElementsAre("0 disk: "));
  TakeBatches();
  source.Change([&](Script& script) {
    script.hidden = {other.guid};
    script.refused_countersets = {{other.guid, absl::NotFoundError("gone")}};
  });
  clock_.Advance(absl::Minutes(1));
  TakeBatches();
  EXPECT_THAT(Reports(), ElementsAre("0 Disk: "));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 1/8"));
}

TEST_F(CollectionTest, ReopensAHandleWithoutSamples) {
  Apply({kDiskQuery});
  TakeBatches();
  const int opened = source_.handles_opened();
  source_.Change([](Script& script) {
    script.spoil = [](const perflib::CounterIdentifier&, std::string) {
      return testing::Result(0, "", perflib::kErrorNoData);
    };
  });
  // Retries become rare: a failing handle must not load the machine.
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(absl::Seconds(1));
    Settle();
  }
  EXPECT_GT(source_.handles_opened(), opened + 5);
  EXPECT_LT(source_.handles_opened(), opened + 40);
  source_.Change([](Script& script) { script.spoil = nullptr; });
  clock_.Advance(absl::Seconds(1));
  TakeBatches();
  const int before = source_.handles_opened();
  clock_.Advance(absl::Minutes(5));
  EXPECT_THAT(TakeBatches().front(), "Disk 1s 1/8");
  EXPECT_EQ(source_.handles_opened(), before);
}

TEST_F(CollectionTest, AFailingCountersetDoesNotDisturbOthers) {
  source_.Change([](Script& script) {
    script.spoil = [](const perflib::CounterIdentifier& identifier,
                      std::string result) {
      return identifier.counterset == kDiskGuid
                 ? testing::Result(0, "", perflib::kErrorNoData)
                 : result;
    };
  });
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  const auto system_added = [&] {
    size_t added = 0;
    for (const auto& identifier : source_.added()) {
      added += identifier.counterset == kSystemGuid;
    }
    return added;
  };
  const size_t once = system_added();
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(absl::Seconds(1));
    Settle();
  }
  EXPECT_EQ(system_added(),
            once * 2);  // when the other query got its own handle
  // No tick was lost or taken twice.
  std::map<std::string, int> ticks;
  for (const std::string& text : TakeBatches()) ++ticks[text];
  EXPECT_EQ(ticks, (std::map<std::string, int>{{"System 1s 1/4 2/4", 600},
                                               {"Disk 1s 1/8", 600}}));
}

// As when PerfLib answers too late while the handles of the parts are opened.
TEST_F(CollectionTest, AHandleThatCannotBeSplitStaysWhole) {
  const std::string failure =
      "counterset \"Disk\" returns no samples: ERROR_NO_DATA (232)";
  for (const std::set<perflib::Guid>& not_added :
       {std::set{kSystemGuid}, std::set{kDiskGuid}}) {
    for (const size_t disk : {0, 1}) {
      SCOPED_TRACE(absl::StrCat("Disk is query ", disk, ", ",
                                not_added.begin()->ToString(), " times out"));
      std::vector<PlannedQuery> queries = {kSystemQuery};
      queries.insert(queries.begin() + disk, kDiskQuery);
      Apply(queries);
      Advance(1);
      TakeBatches();
      source_.Change([&](Script& script) {
        script.not_added = not_added;
        script.spoil = [](const perflib::CounterIdentifier& identifier,
                          std::string result) {
          return identifier.counterset == kDiskGuid
                     ? testing::Result(0, "", perflib::kErrorNoData)
                     : result;
        };
      });
      for (int tick = 0; tick < 10; ++tick) {
        clock_.Advance(absl::Seconds(1));
        EXPECT_THAT(TakeBatches(),
                    UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
      }
      EXPECT_THAT(Reports(),
                  UnorderedElementsAre(absl::StrCat(disk, " Disk: "),
                                       absl::StrCat(1 - disk, " System: "),
                                       absl::StrCat(disk, " : ", failure)));
      source_.Change([](Script& script) {
        script.not_added.clear();
        script.spoil = nullptr;
      });
      Advance(60);
      TakeBatches();
      clock_.Advance(absl::Seconds(1));
      EXPECT_THAT(TakeBatches(),
                  UnorderedElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
      EXPECT_THAT(Reports(),
                  UnorderedElementsAre(absl::StrCat(disk, " Disk: "),
                                       absl::StrCat(1 - disk, " System: ")));
    }
  }
}

TEST_F(CollectionTest, WithdrawsTheErrorOfAHandleThatIsOpenedLater) {
  source_.Change([](Script& script) { script.not_added = {kDiskGuid}; });
  EXPECT_THAT(Apply({kDiskQuery}),
              UnorderedElementsAre("0 Disk: ", ::testing::Ne("0 Disk: ")));
  source_.Change([](Script& script) { script.not_added.clear(); });
  Advance(60);
  EXPECT_THAT(Reports(), ElementsAre("0 Disk: "));
}

TEST_F(CollectionTest, AdoptsAChangedRegistration) {
  Apply({kDiskQuery});
  TakeBatches();
  perflib::CountersetRegistration changed = testing::DiskRegistration();
  changed.counters[0].type = perflib::kPerfCounterRawcount;
  source_.Register(changed);
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value32(1)}}}});
  source_.Change([](Script& script) {
    script.end_block = [](std::string*) {
      return absl::UnavailableError("updating");
    };
  });
  clock_.Advance(absl::Seconds(1));
  TakeBatches();
  source_.Change([](Script& script) { script.end_block = nullptr; });
  clock_.Advance(absl::Seconds(2));
  TakeBatches();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("Disk 1s 1/4"));
  EXPECT_THAT(collection_->registrations(), ::testing::Contains(changed));
}

// A provider may be replaced while its handles go on to answer.
TEST_F(CollectionTest, AdoptsAChangedTypeWhileSamplesArrive) {
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  perflib::CountersetRegistration changed = testing::DiskRegistration();
  changed.counters[0].type = perflib::kPerfCounterLargeRawcount;
  source_.Register(changed);
  clock_.Advance(absl::Minutes(1));
  TakeBatches();
  EXPECT_THAT(collection_->registrations(), ::testing::Contains(changed));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4", "Disk 1s 1/8"));
}

TEST_F(CollectionTest, AdoptsAChangeBesideACountersetWithoutRegistration) {
  Apply({kSystemQuery, kDiskQuery});
  TakeBatches();
  source_.Change([](Script& script) {
    script.refused_countersets = {
        {kSystemGuid, absl::UnavailableError("updating")}};
  });
  perflib::CountersetRegistration changed = testing::DiskRegistration();
  changed.counters[0].type = perflib::kPerfCounterLargeRawcount;
  source_.Register(changed);
  clock_.Advance(absl::Minutes(1));
  TakeBatches();
  EXPECT_THAT(collection_->registrations(), ::testing::Contains(changed));
}

TEST_F(CollectionTest, ReportsTheStatusOfQueriesWithoutSamples) {
  source_.Change([](Script& script) {
    script.spoil = [](const perflib::CounterIdentifier& identifier,
                      std::string result) {
      return identifier.counterset == kDiskGuid
                 ? testing::Result(0, "", perflib::kErrorNoData)
                 : result;
    };
  });
  EXPECT_THAT(
      Apply({kSystemQuery, kDiskQuery}),
      UnorderedElementsAre("0 System: ", "1 Disk: ",
                           "1 : counterset \"Disk\" returns no samples: "
                           "ERROR_NO_DATA (232)"));
}

TEST_F(CollectionTest, ReportsAFailureOfEachQueryThatIsCollectedWithIt) {
  source_.Change([](Script& script) {
    script.end_block = [](std::string*) {
      return absl::UnavailableError("gone");
    };
  });
  Apply({{.counterset = "Disk", .counters = {"id:1"}, .instances = {"sda"}},
         {.counterset = "Disk", .counters = {"id:1"}, .instances = {"sdb"}}});
  Settle();
  EXPECT_THAT(Reports(), UnorderedElementsAre("0 Disk: ", "1 Disk: ",
                                              "0 : counterset \"Disk\": gone",
                                              "1 : counterset \"Disk\": gone"));
}

TEST_F(CollectionTest, CollectsTheOthersIfACountersetIsRefused) {
  FakeSource source{testing::TestRegistrations()};
  source.Change([](Script& script) {
    script.refused_countersets = {
        {kDiskGuid, absl::PermissionDeniedError("denied")}};
  });
  source.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  collection_ =
      std::make_unique<Collection>(Collection::Options{.machine = "web-1",
                                                       .source = &source,
                                                       .delivery = &delivery_,
                                                       .clock = &clock_});
  EXPECT_THAT(Apply({kSystemQuery}), ElementsAre("0 System: "));
  EXPECT_THAT(TakeBatches(), ElementsAre("System 1s 1/4 2/4"));
}

TEST_F(CollectionTest, StopsAtOnceWithoutAPlan) { collection_.reset(); }

}  // namespace
}  // namespace fleetperf::agent
