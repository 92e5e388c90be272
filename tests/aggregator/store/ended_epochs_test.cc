// The data removed when an epoch ends, and the retention of the rest.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::ElementsAre;
using testing::IsOkAndHolds;
using testing::kStart;
using testing::OneDiskAgent;
using testing::TestStore;

// Counts the keys of one kind; see keys.h. Closes and reopens the store.
size_t CountKeys(TestStore& store, const std::string& prefix) {
  store.Close();
  size_t keys = 0;
  {
    const auto database = Database::Open(store.path());
    EXPECT_OK(database);
    EXPECT_OK((*database)->ForEach(
        Family::kDefault, prefix,
        [&](absl::string_view, absl::string_view) { ++keys; }));
  }
  store.Open();
  return keys;
}

// Removes the records of the agents of epochs, which may fail to be written.
void RemoveAgents(TestStore& store) {
  store.Close();
  const auto database = Database::Open(store.path());
  ASSERT_OK(database);
  Changes changes(database->get());
  ASSERT_OK((*database)->ForEach(Family::kDefault, DefinitionPrefix(5),
                                 [&](absl::string_view key, absl::string_view) {
                                   changes.Delete(Family::kDefault, key);
                                 }));
  ASSERT_OK((*database)->Write(&changes, Database::Durability::kPowerCut));
}

TEST(EndedEpochs, RetainSamplesAndRecord) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  store.CloseEpoch("web-1", 1);
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  EXPECT_EQ(CountKeys(store, "d"), 0);
  EXPECT_EQ(CountKeys(store, "a"), 1);
  EXPECT_EQ(CountKeys(store, "h"), 1);
  // Chunks are self-describing.
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  ASSERT_EQ(store->directory().Countersets("web-1").size(), 1);
  EXPECT_EQ(
      store->directory().Countersets("web-1")[0]->schema->registration.name,
      "Disk");
}

TEST(EndedEpochs, OpenEpochsAreNotEnded) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  ASSERT_OK(store.Compact());  // the agent has been idle
  ASSERT_OK(store.Compact());
  web.Tick(2, 20);  // without new definitions
  ASSERT_OK(web.Send());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
}

TEST(EndedEpochs, EpochsWithBatchesInLogAreNotEnded) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  store.CloseEpoch("web-1", 1);
  ASSERT_OK(store.Compact(/*idle_since=*/kStart));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  EXPECT_GT(CountKeys(store, "d"), 0);
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  ASSERT_OK(store.Compact());
  EXPECT_EQ(CountKeys(store, "d"), 0);
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
}

TEST(EndedEpochs, StayReadableForActiveReaders) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  const uint32_t d = web.Instance(web.machine_id, web.disk, "D:");
  web.AddTick(web.query, ClocksAt(1000), {{d, {20}}});
  ASSERT_OK(web.Send());
  store.CloseEpoch("web-1", 1);
  std::vector<std::string> ticks;
  ASSERT_OK(store->Read(
      {.machine = "web-1",
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {}},
      [&](const Frame& frame) {
        // Runs before the next frame is read.
        for (int i = 0; i < 3; ++i) EXPECT_OK(store.Compact());
        for (std::string& tick : testing::ToText(frame)) {
          ticks.push_back(std::move(tick));
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  EXPECT_THAT(ticks, ElementsAre("1 C: 10", "1000 D: 20"));
  ASSERT_OK(store.Compact());
  EXPECT_EQ(CountKeys(store, "d"), 0);
}

TEST(EndedEpochs, AreRecognizedWhenTheyReturn) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  const uint32_t number = store.Epoch("web-1", 1).number;
  web.Tick(1, 10);
  ASSERT_OK_AND_ASSIGN(const auto first, web.TakeBatch());
  ASSERT_OK(store->Commit({{.epoch_number = number,
                            .sequence = 1,
                            .agent = "web-1",
                            .fingerprint = 11,
                            .received = kStart,
                            .batch = &first->batch,
                            .definitions = first->definitions.get(),
                            .decoded = &first->decoded}}));
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    EXPECT_FALSE(store.Epoch("web-1", 1).lacks_definitions);
    store.CloseEpoch("web-1", 1);
    ASSERT_OK(store.Compact());
    if (restarts) store.Reopen();
    const StoredEpoch& back = store.Epoch("web-1", 1);
    EXPECT_EQ(back.number, number);
    EXPECT_EQ(back.durable_sequence, web.next_sequence - 1);
    EXPECT_TRUE(back.lacks_definitions);
    EXPECT_THAT(store->HasBatch(number, 1, 11), IsOkAndHolds(true));
    EXPECT_THAT(back.dictionary->FindQuery(web.query),
                testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                  ::testing::HasSubstr("is not defined")));
    // The agent sends its definitions again, and continues.
    ASSERT_OK(store->KeepDefinitions(number, web.definitions()));
    web.Tick(2 + restarts, 20);
    ASSERT_OK(web.Send());
    store.CloseEpoch("web-1", 1);
  }
  const auto all = ElementsAre("1 C: 10", "2 C: 20", "3 C: 20");
  EXPECT_THAT(store.Read("web-1"), all);
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), all);
  EXPECT_EQ(CountKeys(store, "a"), 1);
}

// The epoch may have reported losses since, for machines without samples.
TEST(EndedEpochs, ReturningEpochsRecordLossesOfAllMachines) {
  TestStore store;
  v1::Machine machine;
  machine.set_name("db-1");
  machine.set_agent("web-1");
  ASSERT_OK(store->PutMachine({machine}));
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  store.CloseEpoch("web-1", 1);
  ASSERT_OK(store.Compact());
  web.Lose("", kStart + absl::Seconds(3), kStart + absl::Seconds(5), 3,
           v1::LOSS_CAUSE_SPOOL_FULL);
  ASSERT_OK(web.Send());
  store.CloseEpoch("web-1", 1);
  const auto expect = [&] {
    EXPECT_THAT(store.ReadLosses("db-1"), ElementsAre("spool_full 3..5"));
  };
  expect();
  store.Reopen();
  expect();
  RemoveAgents(store);
  store.Open();
  expect();
  ASSERT_OK(store.Compact());
  expect();
}

TEST(EndedEpochs, AreForgottenWithTheirLastBatch) {
  TestStore store;
  for (const uint64_t epoch : {1, 2, 3}) {
    OneDiskAgent web(&store, "web-1", epoch);
    web.Tick(1, 10);
    ASSERT_OK(web.Send(kStart));
    if (epoch == 2) {
      web.Tick(2, 10);
      ASSERT_OK(web.Send(kStart + absl::Hours(5)));
    }
    if (epoch != 3) store.CloseEpoch("web-1", epoch);
  }
  const uint32_t first = store.Epoch("web-1", 1).number;
  const uint32_t second = store.Epoch("web-1", 2).number;
  const uint32_t third = store.Epoch("web-1", 3).number;
  store.CloseEpoch("web-1", 1);
  store.CloseEpoch("web-1", 2);
  // The last epoch created is open.
  const uint32_t last = store.Epoch("db-1", 1).number;
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
  EXPECT_EQ(store.Epoch("web-1", 2).number, second);
  EXPECT_EQ(store.Epoch("web-1", 2).durable_sequence, 2);
  store.CloseEpoch("web-1", 3);
  EXPECT_EQ(store.Epoch("web-1", 3).number, third);
  EXPECT_EQ(store.Epoch("web-1", 3).durable_sequence, 1);
  const StoredEpoch& forgotten = store.Epoch("web-1", 1);
  EXPECT_NE(forgotten.number, first);
  EXPECT_GT(forgotten.number, last);
  EXPECT_EQ(forgotten.durable_sequence, 0);
}

TEST(EndedEpochs, OpenEpochsWithoutBatchesAreForgottenAfterTheyEnd) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  store.Epoch("db-1", 1);
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
  store.CloseEpoch("web-1", 1);
  EXPECT_EQ(store.Epoch("web-1", 1).durable_sequence, 1);
  store.CloseEpoch("web-1", 1);
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
  EXPECT_EQ(store.Epoch("web-1", 1).durable_sequence, 0);
}

TEST(EndedEpochs, AreForgottenIfTheyNeverHadABatch) {
  TestStore store;
  for (uint64_t epoch = 1; epoch <= 50; ++epoch) {
    store.Epoch("web-1", epoch);
    // Its definitions arrived, but no batches.
    if (epoch == 7) {
      OneDiskAgent web(&store, "web-1", epoch);
      ASSERT_OK(store->KeepDefinitions(store.Epoch("web-1", epoch).number,
                                       web.definitions()));
    }
    store.CloseEpoch("web-1", epoch);
    if (epoch == 25) store.Reopen();
  }
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart));
  EXPECT_EQ(CountKeys(store, "d"), 0);
  EXPECT_EQ(CountKeys(store, "a"), 1);  // retains the last number
  EXPECT_EQ(CountKeys(store, "h"), 1);
}

// Many definitions of a kind are deleted as a range.
TEST(EndedEpochs, LeaveNoneOfManyDefinitionsBehind) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  v1::Definitions definitions = web.definitions();
  const v1::InstanceDefinition instance = definitions.instances(0);
  for (uint32_t id = 100; id < 3100; ++id) {
    v1::InstanceDefinition& another = *definitions.add_instances();
    another = instance;
    another.set_id(id);
    another.set_name(absl::StrCat("disk", id));
  }
  for (const uint64_t epoch : {1, 2}) {
    ASSERT_OK(store->KeepDefinitions(store.Epoch("web-1", epoch).number,
                                     definitions));
  }
  const size_t both = CountKeys(store, "d");
  EXPECT_GT(both, 6000);
  EXPECT_EQ(store.Epoch("web-1", 2).number, 2);  // is in use
  store.CloseEpoch("web-1", 1);
  ASSERT_OK(store.Compact());
  EXPECT_EQ(CountKeys(store, "d"), both / 2);
}

// The epoch's own record was lost.
TEST(EndedEpochs, LeaveNoDurableRecordBehind) {
  TestStore store;
  store.Close();
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store.path()));
    Changes changes(database.get());
    changes.Put(Family::kDefault, DurableKey(7), std::string(16, '\0'));
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  }
  store.Open();
  EXPECT_EQ(store.Epoch("web-1", 1).number, 8);
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart));
  EXPECT_EQ(CountKeys(store, "h"), 1);
}

TEST(EndedEpochs, NumbersAreNeverReused) {
  TestStore store;
  uint32_t last = 0;
  for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
    OneDiskAgent web(&store, "web-1", epoch);
    web.Tick(1, epoch);
    ASSERT_OK(web.Send());
    EXPECT_GT(store.Epoch("web-1", epoch).number, last);
    last = store.Epoch("web-1", epoch).number;
    store.CloseEpoch("web-1", epoch);
    ASSERT_OK(store.Compact());
    ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
    store.Reopen();
  }
}

// Epochs without their agents, and epochs that were open when the process
// ended.
TEST(EndedEpochs, AreFoundAfterARestart) {
  constexpr uint64_t kEpochs = 2500;  // more than are handled at a time
  TestStore store;
  for (uint64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    OneDiskAgent web(&store, "web-1", epoch);
    ASSERT_OK(store->KeepDefinitions(store.Epoch("web-1", epoch).number,
                                     web.definitions()));
  }
  OneDiskAgent web(&store, "web-1", kEpochs + 1);
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  RemoveAgents(store);
  store.Open();
  OneDiskAgent going_on(&store, "web-1", kEpochs + 2);
  going_on.Tick(2, 20);
  ASSERT_OK(going_on.Send());
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
  going_on.Tick(3, 30);
  ASSERT_OK(going_on.Send());
  EXPECT_THAT(store.Read("web-1"),
              ElementsAre("1 C: 10", "2 C: 20", "3 C: 30"));
  // A machine, a counterset, a query, an instance and the agent.
  EXPECT_EQ(CountKeys(store, "d"), 5);
}

TEST(EndedEpochs, AreRemovedWhileAgentsReconnect) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  std::vector<std::string> expected = {"1 C: 10"};
  std::atomic<bool> done = false;
  std::atomic<int> rounds = 0;
  std::thread compactor([&] {
    while (!done) {
      EXPECT_OK(store.Compact());
      ++rounds;
      rounds.notify_all();
    }
  });
  // Waits for a complete run of Compact.
  const auto await_round = [&] {
    const int before = rounds;
    for (int now = before; now < before + 2; now = rounds) rounds.wait(now);
  };
  int lacking = 0;
  for (int t = 2; t < 100; ++t) {
    store.CloseEpoch("web-1", 1);
    if (t % 10 == 0) await_round();
    if (store.Epoch("web-1", 1).lacks_definitions) {
      ++lacking;
      EXPECT_OK(store->KeepDefinitions(store.Epoch("web-1", 1).number,
                                       web.definitions()));
    }
    web.Tick(t, 10);
    EXPECT_OK(web.Send());
    expected.push_back(absl::StrCat(t, " C: 10"));
  }
  done = true;
  compactor.join();
  EXPECT_GE(lacking, 9);
  EXPECT_THAT(store.Read("web-1"), ::testing::ElementsAreArray(expected));
}

}  // namespace
}  // namespace fleetperf::aggregator
