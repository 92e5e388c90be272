// The embedded store in a real directory.

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "base/os/directory_lock.h"
#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestAgent;
using testing::TestStore;

TEST(RocksDbStore, ReturnsCommittedSamples) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  agent.Tick(2, 20);
  ASSERT_OK(agent.Send());
  agent.Tick(3, 30);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("web-1"),
              ElementsAre("1 C: 10", "2 C: 20", "3 C: 30"));
  EXPECT_THAT(store.Read("web-2"), IsEmpty());
}

TEST(RocksDbStore, ReadsBatchesThatOverlapTheRange) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  for (int batch = 0; batch < 200;
       ++batch) {  // of ten ticks; over half an hour
    for (int i = 0; i < 10; ++i) agent.Tick(10 * batch + i, 1);
    ASSERT_OK(agent.Send());
  }
  const auto read = [&](double from, double to) {
    return store.Read("web-1", kStart + absl::Seconds(from),
                      kStart + absl::Seconds(to));
  };
  EXPECT_THAT(read(-5, -1), IsEmpty());
  EXPECT_THAT(read(2000, 9000), IsEmpty());
  // Whole batches are read. Both ends of the range are inclusive.
  std::vector<std::string> ticks;
  for (int t = 1000; t < 1020; ++t) ticks.push_back(absl::StrCat(t, " C: 1"));
  EXPECT_THAT(read(1009, 1010), ElementsAreArray(ticks));
  EXPECT_THAT(read(0, 1999), SizeIs(2000));
}

TEST(RocksDbStore, OrdersByEpochAndSequenceNotByTime) {
  TestStore store;
  OneDiskAgent first(&store, "web-1", 70);
  OneDiskAgent second(&store, "web-1", 3);  // epochs are random numbers
  first.Tick(100, 1);
  ASSERT_OK(first.Send());
  second.Tick(50, 3);
  ASSERT_OK(second.Send());
  first.Tick(20, 2);  // the clock stepped back
  ASSERT_OK(first.Send());
  EXPECT_THAT(store.Read("web-1"),
              ElementsAre("100 C: 1", "20 C: 2", "50 C: 3"));
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"),
              ElementsAre("100 C: 1", "20 C: 2", "50 C: 3"));
}

TEST(RocksDbStore, ReadsOnlyFilteredQueries) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  const uint32_t memory = agent.Counterset(testing::MemoryRegistration());
  const uint32_t other = agent.Query(agent.machine_id, memory, absl::Seconds(1),
                                     {{testing::kPageFaults}});
  const uint32_t single = agent.Instance(agent.machine_id, memory);
  agent.Tick(1, 10);
  agent.AddTick(other, ClocksAt(1), {{single, {5}}});
  ASSERT_OK(agent.Send());
  std::vector<std::string> names;
  ASSERT_OK(store->Read(
      {.machine = "web-1",
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter =
           [](const CollectedQuery& query) {
             return query.schema->registration.name == "Memory";
           }},
      [&](const Frame& frame) {
        names.push_back(frame.query->schema->registration.name);
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  EXPECT_THAT(names, ElementsAre("Memory"));
}

TEST(RocksDbStore, StopsReadingOnReaderError) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  for (int t = 0; t < 3; ++t) {
    agent.Tick(t, 1);
    ASSERT_OK(agent.Send());
  }
  int frames = 0;
  EXPECT_THAT(store->Read(
                  {.machine = "web-1",
                   .from = absl::InfinitePast(),
                   .to = absl::InfiniteFuture(),
                   .filter = {}},
                  [&](const Frame&) {
                    ++frames;
                    return absl::ResourceExhaustedError("enough");
                  },
                  [](const Loss&) {}),
              StatusIs(absl::StatusCode::kResourceExhausted, "enough"));
  EXPECT_EQ(frames, 1);
}

TEST(RocksDbStore, SeparatesMachinesOfOneAgent) {
  TestStore store;
  TestAgent agent(&store, "probe");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  for (const std::string name : {"db-1", "db-2"}) {
    const uint32_t machine = agent.Machine(name);
    const uint32_t query =
        agent.Query(machine, disk, absl::Seconds(1), {{testing::kTransfers}});
    const uint32_t c = agent.Instance(machine, disk, name);
    agent.AddTick(query, ClocksAt(1), {{c, {machine}}});
  }
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("db-1"), ElementsAre("1 db-1 2"));
  EXPECT_THAT(store.Read("db-2"), ElementsAre("1 db-2 5"));
}

TEST(RocksDbStore, StoresLossesOfOneMachineAndOfAllMachines) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  agent.Lose("web-1", kStart + absl::Seconds(2), kStart + absl::Seconds(4), 2,
             v1::LOSS_CAUSE_OVERRUN);
  agent.Lose("", kStart + absl::Seconds(5), kStart + absl::Seconds(6), 1,
             v1::LOSS_CAUSE_SPOOL_FULL);
  agent.Lose("web-9", kStart + absl::Seconds(7), kStart + absl::Seconds(8), 1,
             v1::LOSS_CAUSE_SPOOL_FULL);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.ReadLosses("web-1"),
              ElementsAre("overrun 2..4", "spool_full 5..6"));
}

TEST(RocksDbStore, StoresRejectedBatchAsLoss) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  ASSERT_OK(agent.Send());
  const DecodedBatch lost{.losses = {{.start = kStart + absl::Seconds(2),
                                      .end = kStart + absl::Seconds(2.5),
                                      .ticks = 2,
                                      .cause = LossCause::kRejected}}};
  const BatchToCommit rejected{.epoch_number = store.Epoch("web-1", 1).number,
                               .sequence = 2,
                               .received = kStart + absl::Seconds(9),
                               .decoded = &lost};
  ASSERT_OK(store->Commit({rejected}));
  agent.next_sequence = 3;
  agent.Tick(3, 30);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "3 C: 30"));
  EXPECT_THAT(store.ReadLosses("web-1"), ElementsAre("rejected 2..2.5"));
  // The batch counts as received: it must not be sent again.
  ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                       store->OpenEpoch("web-1", 1, {}));
  EXPECT_EQ(epoch.durable_sequence, 3);
}

TEST(RocksDbStore, CommitsBatchesOfSeveralAgentsTogether) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  OneDiskAgent db(&store, "db-1", 9);
  std::vector<std::shared_ptr<const ReceivedBatch>> batches;
  std::vector<BatchToCommit> to_commit;
  for (int t = 1; t <= 2; ++t) {
    for (OneDiskAgent* agent : {&web, &db}) {
      agent->Tick(t, static_cast<uint64_t>(t));
      ASSERT_OK_AND_ASSIGN(auto batch, agent->TakeBatch());
      batches.push_back(batch);
      to_commit.push_back({.epoch_number = agent == &web
                                               ? store.Epoch("web-1", 1).number
                                               : store.Epoch("db-1", 9).number,
                           .sequence = batch->sequence,
                           .received = batch->received,
                           .batch = &batch->batch,
                           .definitions = batch->definitions.get(),
                           .decoded = &batch->decoded});
    }
  }
  ASSERT_OK(store->Commit(to_commit));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 1", "2 C: 2"));
  EXPECT_THAT(store.Read("db-1"), ElementsAre("1 C: 1", "2 C: 2"));
}

TEST(RocksDbStore, RemovesByTimeOfReceiptNotSampleTime) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  // Each batch is received an hour after the previous one.
  for (int i = 0; i < 6; ++i) {
    agent.Tick(3600 * i, static_cast<uint64_t>(i));
    ASSERT_OK(agent.Send(kStart + absl::Hours(i)));
  }
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(2)));
  const auto kept =
      ElementsAre("7200 C: 2", "10800 C: 3", "14400 C: 4", "18000 C: 5");
  EXPECT_THAT(store.Read("web-1"), kept);
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"), kept);
  store.Epoch("web-1", 1);  // the agent is connected
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(100)));
  EXPECT_THAT(store.Read("web-1"), IsEmpty());

  // Removed batches must not be accepted again.
  EXPECT_EQ(store.Epoch("web-1", 1).durable_sequence, 6);
  agent.Tick(6000, 6);
  ASSERT_OK(agent.Send(kStart + absl::Hours(101)));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("6000 C: 6"));
}

TEST(RocksDbStore, StoresCataloguesByHash) {
  TestStore store;
  const std::string hash(32, 'h');
  EXPECT_FALSE(store->HasCatalogue(hash));
  EXPECT_THAT(store->GetCatalogue(hash),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("catalogue")));
  const std::string content("content\0with a NUL", 18);
  v1::Machine machine;
  machine.set_name("web-1");
  ASSERT_OK(store->PutMachine({machine, hash}));
  ASSERT_OK(store->PutCatalogue(hash, content));
  store.Reopen();
  EXPECT_TRUE(store->HasCatalogue(hash));
  ASSERT_OK_AND_ASSIGN(const std::string stored, store->GetCatalogue(hash));
  EXPECT_EQ(stored, content);
  EXPECT_FALSE(store->HasCatalogue(std::string(32, 'g')));
}

TEST(RocksDbStore, RemovesUnusedCatalogues) {
  TestStore store;
  const std::string a(32, 'a'), b(32, 'b'), c(32, 'c');
  const auto put = [&](const std::string& name, const std::string& hash) {
    v1::Machine machine;
    machine.set_name(name);
    ASSERT_OK(store->PutMachine({machine, hash}));
    ASSERT_OK(store->PutCatalogue(hash, "content"));
  };
  put("web-1", a);
  put("web-2", a);
  put("web-1", b);
  EXPECT_TRUE(store->HasCatalogue(a));  // still used by web-2
  put("web-2", b);
  EXPECT_FALSE(store->HasCatalogue(a));
  EXPECT_TRUE(store->HasCatalogue(b));
  // An unused catalogue, as a crash may leave it.
  ASSERT_OK(store->PutCatalogue(c, "content"));
  store.Reopen();
  EXPECT_FALSE(store->HasCatalogue(c));
  EXPECT_TRUE(store->HasCatalogue(b));
  put("web-1", c);
  EXPECT_TRUE(store->HasCatalogue(b));
  put("web-2", c);
  EXPECT_FALSE(store->HasCatalogue(b));
}

TEST(RocksDbStore, CountsLoggedBatchesNotTheirSequences) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  for (const uint64_t sequence : {1U, 2U, 1000U}) {  // dropped: 3 to 999
    agent.next_sequence = sequence;
    agent.Tick(static_cast<double>(sequence) / 10, 1);
    ASSERT_OK(agent.Send());
  }
  EXPECT_EQ(store->counts().logged_batches, 3);
  store.Reopen();
  EXPECT_EQ(store->counts().logged_batches, 3);
  ASSERT_OK(store.Compact());
  EXPECT_EQ(store->counts().logged_batches, 0);
}

TEST(RocksDbStore, ForgetsMachinesButKeepsTheirSamples) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  ASSERT_OK(agent.Connect());
  v1::Machine other;
  other.set_name("web-2");
  const std::string catalogue(32, 'c');
  ASSERT_OK(store->PutMachine({other, catalogue}));
  ASSERT_OK(store->PutCatalogue(catalogue, "content"));
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());

  EXPECT_EQ(store->counts().logged_batches, 1);
  EXPECT_GT(store->counts().free_bytes.value_or(0), 0);

  // All or none.
  EXPECT_THAT(store->ForgetMachines({"web-1", "web-9"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"web-9\"")));
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1", "web-2"));
  ASSERT_OK(store->ForgetMachines({"web-1", "web-2"}));
  EXPECT_FALSE(store->HasCatalogue(catalogue));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(store->directory().Machines(), IsEmpty());
    EXPECT_FALSE(store->directory().HasMachines());
    EXPECT_THAT(store->GetMachines(), IsEmpty());
    EXPECT_FALSE(store->FindMachine("web-1").has_value());
    EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 1"));
    store.Reopen();
  }

  ASSERT_OK(agent.Connect());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
    EXPECT_TRUE(store->FindMachine("web-1").has_value());
    EXPECT_FALSE(store->directory().Countersets("web-1").empty());
    store.Reopen();
  }
}

// The repair of a damaged store may bring back the record that hides a machine.
TEST(RocksDbStore, ListsDescribedMachineThatAlsoHasTheRecordOfAForgottenOne) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  ASSERT_OK(agent.Connect());
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store->ForgetMachines({"web-1"}));
  store.Close();
  {
    v1::Machine machine;
    machine.set_name("web-1");
    machine.set_agent("web-1");
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store.path()));
    Changes changes(database.get());
    changes.Put(
        Family::kDefault, MachineKey("web-1"),
        absl::StrCat(std::string(32, '\0'), machine.SerializeAsString()));
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  }
  store.Open();
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
  // The record is gone: it would hide the machine from now on.
  ASSERT_OK(agent.Connect());
  store.Reopen();
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
  EXPECT_TRUE(store->FindMachine("web-1").has_value());
  EXPECT_FALSE(store->directory().Countersets("web-1").empty());
}

TEST(RocksDbStore, StoresMachineDescriptions) {
  TestStore store;
  v1::Machine machine;
  for (const std::string name : {"web-2", "web-1"}) {
    machine.set_name(name);
    machine.set_operating_system("Linux 6.1");
    ASSERT_OK(store->PutMachine({machine, std::string(32, 'a')}));
  }
  machine.set_operating_system("Linux 6.18");
  ASSERT_OK(store->PutMachine({machine, std::string(32, 'b')}));
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1", "web-2"));
  store.Reopen();
  EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1", "web-2"));
  const auto machines = store->GetMachines();
  ASSERT_THAT(machines, SizeIs(2));
  EXPECT_EQ(machines[0].machine.name(), "web-1");
  EXPECT_EQ(machines[0].machine.operating_system(), "Linux 6.18");
  EXPECT_EQ(machines[0].catalogue_hash, std::string(32, 'b'));
  EXPECT_EQ(machines[1].machine.operating_system(), "Linux 6.1");
  EXPECT_EQ(machines[1].catalogue_hash, std::string(32, 'a'));
}

TEST(OpenRocksDbStore, RejectsDirectoryOpenedTwice) {
  TestStore store;
  EXPECT_THAT(OpenRocksDbStore(store.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(store.path()),
                             HasSubstr("another process has it open"))));
}

// A cleanup script may remove the file, which RocksDB alone locks. The lock of
// the directory does not depend on the process.
TEST(OpenRocksDbStore, IsLockedWithoutItsLockFile) {
  TestStore store;
  std::filesystem::remove(store.path() + "/LOCK");
  EXPECT_THAT(DirectoryLock::Acquire(store.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("in use by another process")));
  store.Close();
  std::filesystem::remove(store.path() + "/LOCK");
  {
    const auto lock = DirectoryLock::Acquire(store.path());
    ASSERT_OK(lock);
    for (const absl::Status& refused :
         {OpenRocksDbStore(store.path()).status(),
          VerifyStore(store.path(), [](double) {}).status()}) {
      EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("another process has it open")));
    }
  }
  store.Open();
}

TEST(OpenRocksDbStore, CreatesDirectory) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("a/b/store");
  EXPECT_OK(OpenRocksDbStore(path));
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

TEST(OpenRocksDbStore, NamesUnusableDirectory) {
  const auto store = OpenRocksDbStore("/dev/null/store");
  EXPECT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("/dev/null/store"));
}

}  // namespace
}  // namespace fleetperf::aggregator
