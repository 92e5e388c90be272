// A store has the same contents after a restart.

#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using testing::kStart;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TestAgent;
using testing::TestStore;

TEST(ReopenedStore, KeepsIdAndEpochs) {
  TestStore store;
  const std::string id = store->id();
  EXPECT_THAT(id, SizeIs(16));
  const uint32_t first = store.Epoch("web-1", 5).number;
  const uint32_t second = store.Epoch("web-1", 3).number;
  EXPECT_LT(first, second);
  TestAgent agent(&store, "web-1", 5);
  for (int i = 0; i < 3; ++i) ASSERT_OK(agent.Send());
  store.Reopen();
  EXPECT_EQ(store->id(), id);
  EXPECT_EQ(store.Epoch("web-1", 5).number, first);
  EXPECT_EQ(store.Epoch("web-1", 5).durable_sequence, 3);
  EXPECT_EQ(store.Epoch("web-1", 3).number, second);
  EXPECT_EQ(store.Epoch("web-1", 3).durable_sequence, 0);
  // A new epoch is newer than all epochs before the restart. The same epoch id
  // of another agent is another epoch.
  EXPECT_GT(store.Epoch("db-1", 5).number, second);
  EXPECT_EQ(store.Epoch("db-1", 5).durable_sequence, 0);

  TestStore other;
  EXPECT_NE(other->id(), id);
}

TEST(ReopenedStore, ReadsDefinitionsFromDisk) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(1), {{testing::kTransfers}});
  const uint32_t c = agent.Instance(machine, disk, "C:", 1);
  agent.AddTick(query, ClocksAt(1), {{c, {10}}});
  ASSERT_OK(agent.Send());
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  // The agent continues without defining anything again.
  agent.AddTick(query, ClocksAt(2), {{c, {20}}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
}

TEST(ReopenedStore, KnowsRetiredInstances) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(1), {{testing::kTransfers}});
  const uint32_t usb = agent.Instance(machine, disk, "usb");
  agent.AddTick(query, ClocksAt(1), {{usb, {10}}});
  agent.Retire(usb);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 usb 10"));
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 usb 10"));
}

TEST(ReopenedStore, KeepsDefinitionsSentWithoutABatch) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(1), {{testing::kTransfers}});
  const uint32_t c = agent.Instance(machine, disk, "C:");
  agent.TakeContent();  // the batch that defined them was lost
  ASSERT_OK(store->KeepDefinitions(store.Epoch("web-1", 1).number,
                                   agent.definitions()));
  store.Reopen();
  agent.AddTick(query, ClocksAt(2), {{c, {20}}});
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("2 C: 20"));
}

TEST(ReopenedStore, SumsLossesByAgentMachineAndCause) {
  TestStore store;
  TestAgent web(&store, "web-1");
  TestAgent probe(&store, "probe");
  const auto lose = [](TestAgent& agent, const std::string& machine,
                       uint64_t ticks, v1::LossCause cause) {
    agent.Lose(machine, At(1), At(2), ticks, cause);
  };
  lose(web, "web-1", 2, v1::LOSS_CAUSE_OVERRUN);
  lose(web, "web-1", 3, v1::LOSS_CAUSE_OVERRUN);
  lose(web, "web-1", 10, v1::LOSS_CAUSE_REJECTED);
  lose(web, "db-1", 100, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(web.Send());
  lose(probe, "db-1", 1000, v1::LOSS_CAUSE_POWER_CUT);
  ASSERT_OK(probe.Send());
  const auto expect = [&](uint64_t spool_full) {
    // Losses of all of an agent's machines count for each of them.
    EXPECT_THAT(store->LostTicks("web-1", "web-1"),
                ElementsAre(Pair(LossCause::kSpoolFull, spool_full),
                            Pair(LossCause::kRejected, 10),
                            Pair(LossCause::kOverrun, 5)));
    EXPECT_THAT(store->LostTicks("web-1", "db-1"),
                ElementsAre(Pair(LossCause::kSpoolFull, spool_full),
                            Pair(LossCause::kOverrun, 100)));
    EXPECT_THAT(store->LostTicks("probe", "db-1"),
                ElementsAre(Pair(LossCause::kPowerCut, 1000)));
    EXPECT_THAT(store->LostTicks("probe", "web-1"), IsEmpty());
  };
  lose(web, "", 7, v1::LOSS_CAUSE_SPOOL_FULL);
  ASSERT_OK(web.Send());
  expect(7);
  store.Reopen();
  expect(7);
  lose(web, "", 1, v1::LOSS_CAUSE_SPOOL_FULL);
  ASSERT_OK(web.Send());
  expect(8);
  store.Reopen();
  expect(8);
}

// A process may have lost all samples of a machine.
TEST(ReopenedStore, AttributesLossesToMachinesWithoutSamples) {
  TestStore store;
  for (const char* name : {"probe", "db-1"}) {
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent("probe");
    ASSERT_OK(store->PutMachine({machine}));
  }
  v1::Machine other;
  other.set_name("web-1");
  other.set_agent("web-1");
  ASSERT_OK(store->PutMachine({other}));
  TestAgent agent(&store, "probe", 2);
  agent.Lose("", At(3), At(5), 3, v1::LOSS_CAUSE_SPOOL_FULL);
  ASSERT_OK(agent.Send());
  v1::Machine late;
  late.set_name("db-2");
  late.set_agent("probe");
  ASSERT_OK(store->PutMachine({late}));
  agent.Lose("db-2", At(7), At(8), 1, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(agent.Send());
  const auto expect = [&] {
    EXPECT_THAT(store.ReadLosses("db-2"), ::testing::Contains("overrun 7..8"));
    EXPECT_THAT(store.ReadLosses("probe"), ElementsAre("spool_full 3..5"));
    EXPECT_THAT(store.ReadLosses("db-1"), ElementsAre("spool_full 3..5"));
    EXPECT_THAT(store.ReadLosses("web-1"), IsEmpty());
  };
  expect();
  store.Reopen();
  expect();
  ASSERT_OK(store.Compact());
  expect();
  store.Reopen();
  expect();
}

// Removing old samples does not change the number of lost ticks.
TEST(ReopenedStore, CountsLossesOfRemovedHistory) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  agent.Lose("web-1", At(1), At(2), 2, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(10)));
  EXPECT_THAT(store.ReadLosses("web-1"), IsEmpty());
  store.Reopen();
  EXPECT_THAT(store->LostTicks("web-1", "web-1"),
              ElementsAre(Pair(LossCause::kOverrun, 2)));
}

TEST(ReopenedStore, RecognizesBatchesByFingerprint) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t epoch = store.Epoch("web-1", 1).number;
  const uint32_t other = store.Epoch("web-1", 2).number;
  for (const uint64_t fingerprint : {uint64_t{11}, ~uint64_t{0}}) {
    ASSERT_OK_AND_ASSIGN(const auto batch, agent.TakeBatch());
    const BatchToCommit to_commit{.epoch_number = epoch,
                                  .sequence = batch->sequence,
                                  .agent = "web-1",
                                  .fingerprint = fingerprint,
                                  .received = kStart,
                                  .batch = &batch->batch,
                                  .decoded = &batch->decoded};
    ASSERT_OK(store->Commit({to_commit}));
  }
  // A batch that was rejected, or is a copy.
  const DecodedBatch nothing;
  const BatchToCommit without_samples{.epoch_number = epoch,
                                      .sequence = 3,
                                      .agent = "web-1",
                                      .fingerprint = 33,
                                      .received = kStart,
                                      .decoded = &nothing};
  ASSERT_OK(store->Commit({without_samples}));
  const auto expect_all = [&] {
    EXPECT_THAT(store->HasBatch(epoch, 1, 11), IsOkAndHolds(true));
    EXPECT_THAT(store->HasBatch(epoch, 2, ~uint64_t{0}), IsOkAndHolds(true));
    EXPECT_THAT(store->HasBatch(epoch, 3, 33), IsOkAndHolds(true));
    EXPECT_THAT(store->HasBatch(epoch, 1, 33), IsOkAndHolds(false));
    EXPECT_THAT(store->HasBatch(epoch, 2, 11), IsOkAndHolds(false));
    EXPECT_THAT(store->HasBatch(epoch, 4, 33), IsOkAndHolds(false));
    EXPECT_THAT(store->HasBatch(other, 1, 11), IsOkAndHolds(false));
  };
  expect_all();
  EXPECT_THAT(store->HasBatch(other + 1, 1, 11), IsOkAndHolds(false));
  store.Reopen();
  expect_all();
  EXPECT_EQ(store.Epoch("web-1", 1).durable_sequence, 3);
  EXPECT_EQ(store.Epoch("web-1", 1).durable_fingerprint, 33);
  EXPECT_EQ(store.Epoch("web-1", 2).durable_fingerprint, 0);

  // Fingerprints are removed with the data received at that time.
  ASSERT_OK(store.Compact());
  expect_all();
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
  EXPECT_THAT(store->HasBatch(epoch, 1, 11), IsOkAndHolds(false));
  EXPECT_THAT(store->HasBatch(epoch, 3, 33), IsOkAndHolds(false));
}

TEST(ReopenedStore, KeepsDirectory) {
  TestStore store;
  TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t memory = agent.Counterset(testing::MemoryRegistration());
  const uint32_t disks = agent.Query(
      machine, disk, absl::Seconds(10),
      {{testing::kBytesPerRead}, {testing::kReads, 4, /*only_linked=*/true}});
  const uint32_t memories = agent.Query(machine, memory, absl::Seconds(1),
                                        {{testing::kAvailableBytes}});
  agent.AddTick(disks, ClocksAt(1), {});
  agent.AddTick(memories, ClocksAt(1), {});
  ASSERT_OK(agent.Send());
  const auto describe = [&] {
    std::vector<std::string> texts;
    for (const auto& counterset : store->directory().Countersets("web-1")) {
      for (const auto& [id, interval] : counterset->counters) {
        texts.push_back(absl::StrCat(counterset->schema->registration.name, " ",
                                     id, " ", absl::FormatDuration(interval)));
      }
    }
    return texts;
  };
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
  EXPECT_THAT(describe(), ElementsAre("Disk 3 10s", "Memory 1 1s"));
  store.Reopen();
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
  EXPECT_THAT(describe(), ElementsAre("Disk 3 10s", "Memory 1 1s"));
}

// The newest sample of a machine defines "now", and where history begins.
class NewestSample : public ::testing::Test {
 protected:
  void Tick(uint32_t query, double seconds) {
    agent_.AddTick(query, ClocksAt(seconds), {{c_, {1}}});
  }
  // Returns the newest sample before and after a restart.
  std::vector<std::optional<absl::Time>> Newest(
      const std::string& machine = "web-1") {
    const auto before = store_->directory().NewestSample(machine);
    store_.Reopen();
    return {before, store_->directory().NewestSample(machine)};
  }

  TestStore store_;
  TestAgent agent_{&store_, "web-1"};
  const uint32_t machine_ = agent_.Machine("web-1");
  const uint32_t disk_ = agent_.Counterset(testing::DiskRegistration());
  const uint32_t often_ =
      agent_.Query(machine_, disk_, absl::Seconds(1), {{testing::kTransfers}});
  const uint32_t seldom_ = agent_.Query(machine_, disk_, absl::Seconds(60),
                                        {{testing::kQueueLength}});
  const uint32_t c_ = agent_.Instance(machine_, disk_, "C:");
};

TEST_F(NewestSample, IsTheLastSample) {
  EXPECT_THAT(Newest(), ElementsAre(std::nullopt, std::nullopt));
  for (const double t : {1, 2, 3}) Tick(often_, t);
  ASSERT_OK(agent_.Send());
  Tick(often_, 4);
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Newest(), ElementsAre(At(4), At(4)));
}

TEST_F(NewestSample, IgnoresOlderSampleOfAnotherQuery) {
  for (const double t : {1, 2, 3, 4, 5}) Tick(often_, t);
  Tick(seldom_, 2);
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Newest(), ElementsAre(At(5), At(5)));
}

TEST_F(NewestSample, FollowsOrderOfArrivalAfterAStepBack) {
  Tick(often_, 5000);
  ASSERT_OK(agent_.Send());
  Tick(often_, 100);  // many minutes before
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Newest(), ElementsAre(At(100), At(100)));
}

TEST_F(NewestSample, IgnoresBatchesWithoutSamples) {
  Tick(often_, 5);
  ASSERT_OK(agent_.Send());
  agent_.Lose("web-1", At(6), At(9), 3, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(agent_.Send());
  agent_.Lose("web-1", At(1000), At(2000), 3, v1::LOSS_CAUSE_OVERRUN);
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Newest(), ElementsAre(At(5), At(5)));
}

TEST_F(NewestSample, IsTrackedPerMachine) {
  const uint32_t other_machine = agent_.Machine("db-1");
  const uint32_t other = agent_.Query(other_machine, disk_, absl::Seconds(1),
                                      {{testing::kTransfers}});
  Tick(often_, 5);
  Tick(other, 3);
  ASSERT_OK(agent_.Send());
  Tick(often_, 6);
  ASSERT_OK(agent_.Send());
  EXPECT_THAT(Newest("db-1"), ElementsAre(At(3), At(3)));
  EXPECT_THAT(Newest(), ElementsAre(At(6), At(6)));
}

}  // namespace
}  // namespace fleetperf::aggregator
