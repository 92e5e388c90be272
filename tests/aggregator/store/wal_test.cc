// The numbers of commits in the write-ahead log, and the detection of missing
// commits and logs.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/manifest.h"
#include "aggregator/store/tables/wal_check.h"
#include "aggregator/store/tables/wal_file.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/aggregator/store/wal_damage.h"
#include "tests/support/batch_writer.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::Not;
using testing::OneDiskAgent;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;

// All other records of the numbers are lost with the log.
TEST(Wal, DoesNotReassignNumbersUsedInChunks) {
  TestStore store;
  // An earlier agent's batch, which is in files of the log.
  std::mt19937_64 random(46);
  OneDiskAgent other(&store, "other");
  for (int i = 1; i <= 5000; ++i) other.Tick(i / 2.0, random());
  ASSERT_OK(other.Send(kStart - absl::Hours(1)));
  store.Reopen();
  const uint64_t size = store->size();
  OneDiskAgent web(&store, "web-1");
  for (int i = 1; i <= 5000; ++i) web.Tick(i / 2.0, random());
  ASSERT_OK(web.Send(kStart));
  web.Tick(7200, 20);
  ASSERT_OK(web.Send(kStart + absl::Hours(2)));
  ASSERT_OK(store.Compact());
  // When chunks are dropped, only the families of samples are written to files.
  ASSERT_OK(store->DropTo(size - 65'000));
  ASSERT_THAT(store.Read("web-1"), ElementsAre("7200 C: 20"));
  const uint32_t number = store.Epoch("web-1", 1).number;
  store.Close();
  for (const std::string& path : LogsIn(store.path())) fs::remove(path);
  {
    const testing::LogCapture log;
    store.Open();
    EXPECT_THAT(log.Lines(), Not(IsEmpty()));
  }
  store.Reopen();
  OneDiskAgent db(&store, "db-1");
  db.Tick(7300, 30);
  ASSERT_OK(db.Send(kStart + absl::Hours(2)));
  EXPECT_GT(store.Epoch("db-1", 1).number, number);
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("db-1"), ElementsAre("7300 C: 30"));
}

TEST(Wal, DoesNotReassignNumbersUsedInTheLog) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  const uint32_t number = store.Epoch("web-1", 1).number;
  store.Close();
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store.path()));
    Changes changes(database.get());
    for (const char* prefix : {"a", "h", "d"}) {
      ASSERT_OK(
          database->ForEach(Family::kDefault, prefix,
                            [&](absl::string_view key, absl::string_view) {
                              changes.Delete(Family::kDefault, key);
                            }));
    }
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  }
  store.Open();
  EXPECT_GT(store.Epoch("db-1", 1).number, number);
}

// A store has no mark before its first commit.
TEST(Wal, GapBetweenWritesWithoutMarksIsDamage) {
  const testing::TempDirectory directory;
  const auto put = [&](Database* database, int i) {
    Changes changes(database);
    changes.Put(Family::kDefault, absl::StrFormat("z%03d", i),
                std::string(500, 'x'));
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  };
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    for (int i = 0; i < 200; ++i) put(database.get(), i);
  }
  const std::vector<std::string> logs = LogsIn(directory.path());
  ASSERT_THAT(logs, SizeIs(1));
  std::string log = ReadAll(logs[0]);
  log[log.find("z100")] = 'y';
  WriteAll(logs[0], log);
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  ASSERT_THAT(database->wal().damage, SizeIs(1));
  EXPECT_EQ(database->wal().damage[0].commits, std::nullopt);
  int kept = 0;
  ASSERT_OK(
      database->ForEach(Family::kDefault, "z",
                        [&](absl::string_view, absl::string_view) { ++kept; }));
  EXPECT_EQ(kept, 199);
}

void PutCommit(Database* database, uint64_t number) {
  Changes changes(database);
  changes.Put(Family::kDefault, CommitMarkKey(),
              EncodeCommitMark(
                  {.commits = number, .batches = number, .received = kStart}));
  changes.Put(Family::kLog, absl::StrFormat("z%03d", number), "value");
  ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
}

TEST(Wal, FindsDamageInTheFirstOfTwoLogs) {
  const testing::TempDirectory directory;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    for (uint64_t i = 1; i <= 5; ++i) PutCommit(database.get(), i);
    // Begins another log. The family "log" still needs the first.
    ASSERT_OK(database->Compact(Family::kDefault));
    for (uint64_t i = 6; i <= 10; ++i) PutCommit(database.get(), i);
  }
  const std::vector<std::string> logs = LogsIn(directory.path());
  ASSERT_THAT(logs, SizeIs(2));
  ASSERT_TRUE(FlipIn(directory.path(), "z003"));
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  const std::vector<WalDamage>& damage = database->wal().damage;
  ASSERT_THAT(damage, SizeIs(1));
  EXPECT_EQ(damage[0].path, logs[0]);
  EXPECT_EQ(damage[0].commits, 1);
  EXPECT_THAT(database->Get(Family::kLog, "z003").status(),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  for (const int i : {1, 2, 4, 5, 6, 10}) {
    EXPECT_OK(
        database->Get(Family::kLog, absl::StrFormat("z%03d", i)).status());
  }
}

// The first log ends with a whole write, but not with its last one.
TEST(Wal, CountsCommitsThatAreMissingBetweenLogs) {
  for (const uint64_t lost : {1, 2}) {
    const testing::TempDirectory directory;
    {
      ASSERT_OK_AND_ASSIGN(const auto database,
                           Database::Open(directory.path()));
      for (uint64_t i = 1; i <= 5; ++i) PutCommit(database.get(), i);
      ASSERT_OK(database->Compact(Family::kDefault));
      for (uint64_t i = 6; i <= 10; ++i) PutCommit(database.get(), i);
    }
    const std::vector<std::string> logs = LogsIn(directory.path());
    ASSERT_THAT(logs, SizeIs(2));
    uint64_t end = 0;
    ASSERT_OK(ReadWalFile(
        logs[0],
        [&](uint64_t offset, absl::string_view write) {
          if (absl::StrContains(write, absl::StrCat("z00", 6 - lost))) {
            end = offset;
          }
          return absl::OkStatus();
        },
        [](const WalRange&, bool) {}));
    ASSERT_GT(end, 0);
    fs::resize_file(logs[0], end);
    ASSERT_OK_AND_ASSIGN(const WalCheck check,
                         CheckWal(directory.path(), CommitMark()));
    ASSERT_THAT(check.damage, SizeIs(1));
    EXPECT_EQ(check.damage[0].path, logs[1]);
    EXPECT_EQ(check.damage[0].commits, lost);
  }
}

TEST(Wal, RemainsOfAFailedWriteHideNoLoss) {
  const testing::TempDirectory directory;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    for (uint64_t i = 1; i <= 3; ++i) PutCommit(database.get(), i);
    ASSERT_OK(database->Compact(Family::kDefault));  // begins another log
    Changes changes(database.get());
    changes.Put(Family::kLog, "other", "value");
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
    for (uint64_t i = 4; i <= 6; ++i) PutCommit(database.get(), i);
  }
  const std::vector<std::string> logs = LogsIn(directory.path());
  ASSERT_THAT(logs, SizeIs(2));
  WriteAll(logs[0], absl::StrCat(ReadAll(logs[0]), "failed"));
  ASSERT_TRUE(FlipIn(directory.path(), "z004"));
  ASSERT_OK_AND_ASSIGN(const WalCheck check,
                       CheckWal(directory.path(), CommitMark()));
  ASSERT_THAT(check.damage, SizeIs(1));
  EXPECT_EQ(check.damage[0].path, logs[1]);
  EXPECT_EQ(check.damage[0].commits, 1);
}

// RocksDB would end there. The writes behind it are numbered as if nothing were
// missing.
TEST(Wal, DamageWithoutALossIsRepaired) {
  const testing::TempDirectory directory;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    for (uint64_t i = 1; i <= 4; ++i) PutCommit(database.get(), i);
  }
  const std::vector<std::string> logs = LogsIn(directory.path());
  ASSERT_THAT(logs, SizeIs(1));
  std::string contents;
  ASSERT_OK(ReadWalFile(
      logs[0],
      [&](uint64_t, absl::string_view write) {
        if (absl::StrContains(write, "z003")) {
          AppendWalRecord("damaged", &contents);
          contents.back() ^= 1;
        }
        AppendWalRecord(write, &contents);
        return absl::OkStatus();
      },
      [](const WalRange&, bool) {}));
  WriteAll(logs[0], contents);
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  ASSERT_THAT(database->wal().damage, SizeIs(1));
  EXPECT_EQ(database->wal().damage[0].commits, 0);
  ASSERT_OK_AND_ASSIGN(const CommitMark last, ReadCommitMark(*database));
  EXPECT_EQ(last.commits, 4);
}

// A power cut may leave the last commit and not an earlier write of the same
// sync.
TEST(Wal, DamageBetweenTheLastTwoCommitsMayBeATornEnd) {
  const testing::TempDirectory directory;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    PutCommit(database.get(), 1);
    PutCommit(database.get(), 2);
    Changes changes(database.get());
    changes.Put(Family::kLog, "other", "value");
    ASSERT_OK(database->Write(&changes, Database::Durability::kProcess));
    PutCommit(database.get(), 3);
  }
  ASSERT_TRUE(FlipIn(directory.path(), "other"));
  const auto damage_if_synced = [&](uint64_t commits) {
    const auto check = CheckWal(directory.path(), {.commits = commits});
    EXPECT_OK(check);
    return check.ok() ? check->damage.size() : 0;
  };
  EXPECT_EQ(damage_if_synced(2), 0);
  EXPECT_EQ(damage_if_synced(3), 1);
}

// What is behind a torn end goes with it, in its file and in the next one.
TEST(Wal, EndsAtATornEnd) {
  for (const bool is_in_next_log : {false, true}) {
    const testing::TempDirectory directory;
    {
      ASSERT_OK_AND_ASSIGN(const auto database,
                           Database::Open(directory.path()));
      PutCommit(database.get(), 1);
      PutCommit(database.get(), 2);
      Changes changes(database.get());
      changes.Put(Family::kLog, "other", "value");
      ASSERT_OK(database->Write(&changes, Database::Durability::kProcess));
      if (is_in_next_log) {
        ASSERT_OK(database->Compact(Family::kDefault));
      }
      PutCommit(database.get(), 3);
    }
    ASSERT_TRUE(FlipIn(directory.path(), "other"));
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    EXPECT_THAT(database->wal().damage, IsEmpty());
    ASSERT_OK_AND_ASSIGN(const CommitMark last, ReadCommitMark(*database));
    EXPECT_EQ(last.commits, 2) << is_in_next_log;
  }
}

TEST(Wal, MarkWithoutCommitsDoesNotProveASyncedEnd) {
  const testing::TempDirectory directory;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    PutCommit(database.get(), 0);
    PutCommit(database.get(), 1);
  }
  ASSERT_TRUE(FlipIn(directory.path(), "z001"));
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  EXPECT_THAT(database->wal().damage, IsEmpty());
}

TEST(Wal, ReportsMissingClosedLog) {
  const testing::TempDirectory directory;
  const auto put = [&](Database* database, const std::string& key) {
    Changes changes(database);
    changes.Put(Family::kDefault, key, "value");
    changes.Put(Family::kLog, key, "value");
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  };
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    put(database.get(), "before");
    // Begins another log. The family "log" still needs the first.
    ASSERT_OK(database->Compact(Family::kDefault));
    put(database.get(), "after");
    put(database.get(), "later");
  }
  const std::vector<std::string> logs = LogsIn(directory.path());
  ASSERT_THAT(logs, SizeIs(2));
  EXPECT_OK(Database::OpenForReading(directory.path()).status());
  fs::remove(logs[0]);
  EXPECT_THAT(Database::OpenForReading(directory.path()).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("missing")));
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    EXPECT_THAT(database->missing(), StatusIs(absl::StatusCode::kDataLoss,
                                              HasSubstr("Missing WAL")));
    EXPECT_OK(database->Get(Family::kLog, "later").status());
  }
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  EXPECT_OK(database->missing());
}

// RocksDB continues to write where its log ended. What it writes to the same
// block of 32 KiB is lost, too.
TEST(RunningWal, ReportsLogEmptiedWhileInUse) {
  testing::TestStore store;
  testing::OneDiskAgent agent(&store, "web-1");
  const auto send = [&](int tick) {
    agent.Tick(tick, tick);
    ASSERT_OK(agent.Send(testing::kStart + absl::Seconds(tick)));
  };
  for (int tick = 1; tick <= 10; ++tick) send(tick);
  store.Reopen();  // moves the first batches to files
  for (int tick = 11; tick <= 20; ++tick) send(tick);
  const std::vector<std::string> logs = LogsIn(store.path());
  ASSERT_THAT(logs, SizeIs(1));
  std::filesystem::resize_file(logs[0], 0);
  for (int tick = 21; tick <= 30; ++tick) send(tick);
  store.Close();
  const auto told = AllOf(HasSubstr("the end of the write-ahead log"),
                          HasSubstr("20 batches in 20 commits"));
  EXPECT_THAT(DamageOf(store.path()), Contains(told));
  const testing::LogCapture log;
  store.Open();
  EXPECT_THAT(log.Lines(), Contains(told));
  EXPECT_THAT(store.Read("web-1"), SizeIs(10));
  EXPECT_EQ(store.Epoch("web-1", 1).durable_sequence, 10);  // tells the agent
}

TEST(RunningWal, ReportsChangesThatTheManifestLost) {
  const testing::TempDirectory directory;
  std::string manifest;
  {
    auto database = Database::Open(directory.path());
    ASSERT_OK(database);
    const auto put = [&](absl::string_view key) {
      Changes changes(database->get());
      changes.Put(Family::kTimes, key, "value");
      return (*database)->Write(&changes, Database::Durability::kPowerCut);
    };
    manifest = ReadAll(*FindManifest(directory.path()));
    ASSERT_OK(put("a"));
    ASSERT_OK((*database)->Flush());
    ASSERT_OK(put("b"));
  }
  const std::string path = *FindManifest(directory.path());
  const std::string whole = ReadAll(path);
  ASSERT_GT(whole.size(), manifest.size());
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::OpenForReading(directory.path()));
    EXPECT_OK(database->missing());
  }
  WriteAll(path, manifest);
  ASSERT_OK_AND_ASSIGN(const auto database,
                       Database::OpenForReading(directory.path()));
  EXPECT_THAT(database->missing(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("neither")));
}

TEST(ManifestTest, MayHaveAnEmptyChange) {
  const testing::TempDirectory directory;
  ASSERT_OK(Database::Open(directory.path()));
  const std::string path = *FindManifest(directory.path());
  // The checksum, the size and the type, as RocksDB 9.10 writes them.
  const std::string empty_change("\x05\x2b\x28\x43\x00\x00\x01", 7);
  WriteAll(path, absl::StrCat(ReadAll(path), empty_change));
  ASSERT_OK_AND_ASSIGN(const Listing listing, ListFiles(directory.path()));
  EXPECT_EQ(listing.damage, std::nullopt);
}

// RocksDB goes on with a new log after a write that did not fit on the disk.
TEST(RunningWal, FailedWriteIsNotDamage) {
  const testing::TempDirectory directory;
  std::string first_log;
  std::string contents;
  {
    auto database = Database::Open(directory.path());
    ASSERT_OK(database);
    const auto put = [&](absl::string_view key) {
      Changes changes(database->get());
      changes.Put(Family::kTimes, key, "value");
      return (*database)->Write(&changes, Database::Durability::kPowerCut);
    };
    ASSERT_OK(put("a"));
    first_log = LogsIn(directory.path()).at(0);
    contents = ReadAll(first_log);
    ASSERT_OK((*database)->Flush());
    ASSERT_OK(put("b"));
    ASSERT_OK(put("c"));
  }
  ASSERT_FALSE(fs::exists(first_log));
  // The length and the sum of a record, without the record.
  WriteAll(first_log, absl::StrCat(contents, contents.substr(0, 5)));

  const auto check = CheckWal(directory.path(), CommitMark());
  ASSERT_OK(check);
  EXPECT_THAT(check->damage, IsEmpty());

  // The first log lacks its last write, which the next log does not repeat.
  WriteAll(first_log, contents.substr(0, contents.size() - 1));
  const auto cut = CheckWal(directory.path(), CommitMark());
  ASSERT_OK(cut);
  EXPECT_THAT(cut->damage, SizeIs(1));
}

}  // namespace
}  // namespace fleetperf::aggregator
