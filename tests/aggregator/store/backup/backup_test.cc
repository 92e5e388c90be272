// A backup has everything committed before it, opens like a store, and can be
// restored.

#include "aggregator/store/backup/backup.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "base/os/directory_lock.h"
#include "tests/aggregator/store/wal_damage.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using testing::StatusIs;
using testing::TempDirectory;
using testing::TestStore;

absl::Status Unwatched(uint64_t, uint64_t) { return absl::OkStatus(); }

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

class BackupTest : public ::testing::Test {
 protected:
  // A store with one tick in a chunk and one in the log.
  void SetUp() override {
    agent_.Tick(1, 10);
    ASSERT_OK(agent_.Send());
    ASSERT_OK(store_.Compact());
    agent_.Tick(2, 20);
    ASSERT_OK(agent_.Send());
  }

  absl::Status Backup() { return store_->Backup(backup_, Unwatched); }
  absl::Status Restore() { return RestoreStore(backup_, restored_, Unwatched); }

  std::vector<std::string> ReadRestored() {
    auto store = OpenRocksDbStore(restored_);
    EXPECT_OK(store);
    std::vector<std::string> ticks;
    if (!store.ok()) return ticks;
    EXPECT_OK((*store)->Read(
        {.machine = "web-1",
         .from = absl::InfinitePast(),
         .to = absl::InfiniteFuture(),
         .filter = {}},
        [&](const Frame& frame) {
          for (std::string& tick : testing::ToText(frame)) {
            ticks.push_back(std::move(tick));
          }
          return absl::OkStatus();
        },
        [](const Loss&) {}));
    return ticks;
  }

  TempDirectory directory_;
  const std::string backup_ = directory_.File("monday");
  const std::string restored_ = directory_.File("restored");
  TestStore store_;
  OneDiskAgent agent_{&store_, "web-1"};
};

TEST_F(BackupTest, ContainsEarlierCommits) {
  uint64_t bytes = 0;
  uint64_t total = 0;
  ASSERT_OK(store_->Backup(backup_, [&](uint64_t copied, uint64_t of) {
    EXPECT_GT(copied, bytes);
    EXPECT_LE(copied, of);
    bytes = copied;
    total = of;
    return absl::OkStatus();
  }));
  EXPECT_EQ(bytes, total);
  EXPECT_THAT(NamesIn(directory_.path()), ElementsAre("monday"));
  uint64_t size = 0;
  for (const auto& file : fs::directory_iterator(backup_)) {
    size += file.file_size();
  }
  EXPECT_EQ(size, total);

  // The store continues to change its files. The backup is not affected.
  agent_.Tick(3, 30);
  ASSERT_OK(agent_.Send());
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_->DropBefore(kStart + absl::Hours(10)));
  store_.Reopen();
  EXPECT_THAT(store_.Read("web-1"), IsEmpty());

  ASSERT_OK_AND_ASSIGN(const StoreReport report,
                       VerifyStore(backup_, [](double) {}));
  EXPECT_THAT(report.damage, IsEmpty());
  EXPECT_EQ(report.chunks, 1);
  EXPECT_EQ(report.batches, 1);

  // The restored store does not affect the backup either.
  ASSERT_OK(Restore());
  EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
  fs::remove_all(restored_);
  ASSERT_OK(Restore());
  EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
}

// Files cannot be shared across file systems.
TEST_F(BackupTest, WorksAcrossFileSystems) {
  const std::string other = "/dev/shm";
  if (!fs::is_directory(other)) GTEST_SKIP() << "there is no " << other;
  const std::string name = fs::path(directory_.path()).filename();
  const std::string backup = absl::StrCat(other, "/", name);
  ASSERT_OK(store_->Backup(backup, Unwatched));
  EXPECT_OK(RestoreStore(backup, restored_, Unwatched));
  fs::remove_all(backup);
  EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
}

TEST_F(BackupTest, RejectsExistingTarget) {
  EXPECT_THAT(
      store_->Backup("monday", Unwatched),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"monday\"")));
  EXPECT_THAT(store_->Backup("", Unwatched),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(store_->Backup(directory_.File("no/monday"), Unwatched),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(directory_.File("no") + " ")));
  EXPECT_THAT(store_->Backup(directory_.path(), Unwatched),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("exists")));
  EXPECT_THAT(NamesIn(directory_.path()), IsEmpty());
  ASSERT_OK(store_->Backup(backup_ + "/", Unwatched));
  EXPECT_THAT(Backup(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(backup_)));
}

TEST_F(BackupTest, IsCompleteOrAbsent) {
  absl::Status second;
  const absl::Status ended = store_->Backup(backup_, [&](uint64_t, uint64_t) {
    EXPECT_THAT(NamesIn(directory_.path()),
                ElementsAre("monday.fleetperf-partial"));
    second = store_->Backup(directory_.File("tuesday"), Unwatched);
    return absl::CancelledError("enough");
  });
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("another backup")));
  EXPECT_THAT(NamesIn(directory_.path()), IsEmpty());
  // Leftovers of a killed aggregator are not in the way.
  const std::string partial = backup_ + ".fleetperf-partial";
  fs::create_directory(partial);
  std::ofstream(partial + "/000007.sst") << "not all of it";
  ASSERT_OK(Backup());
  EXPECT_THAT(NamesIn(directory_.path()), ElementsAre("monday"));
  ASSERT_OK(Restore());
  EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
}

TEST_F(BackupTest, RejectsRestoreIntoUsedDirectory) {
  EXPECT_THAT(Restore(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no backup of a store in " + backup_)));
  ASSERT_OK(Backup());
  for (const char* name : {"CURRENT", "000004.log", "notes"}) {
    fs::create_directory(restored_);
    std::ofstream(restored_ + "/" + name) << "something";
    EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr(restored_ + " is not empty")));
    EXPECT_THAT(NamesIn(restored_), ElementsAre(name));
    fs::remove_all(restored_);
  }
  // The directory may exist, with leftovers of an earlier attempt.
  const std::string partial = restored_ + "/.fleetperf-partial";
  fs::create_directories(partial);
  std::ofstream(partial + "/CURRENT") << "not all of it";
  ASSERT_OK(Restore());
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("is not empty")));
  EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
}

TEST_F(BackupTest, RejectsIncompleteBackup) {
  ASSERT_OK(Backup());
  for (const auto& file : fs::directory_iterator(backup_)) {
    if (file.path().extension() != ".sst") continue;
    fs::remove(file.path());
    break;
  }
  EXPECT_THAT(
      Restore(),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("cannot restore a store from " + backup_),
                     HasSubstr("restore another one, or copy its files to " +
                               restored_ +
                               " and run fleetperf-aggregator repair"))));
  EXPECT_THAT(NamesIn(restored_), IsEmpty());
}

// Restores in a child process that is killed after `pieces` pieces of files.
void RestoreAndKill(const std::string& backup, const std::string& directory,
                    int pieces) {
  const pid_t child = fork();
  if (child == 0) {
    RestoreStore(backup, directory, [&](uint64_t, uint64_t) {
      if (--pieces == 0) raise(SIGKILL);
      return absl::OkStatus();
    }).IgnoreError();
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
}

// The aggregator would start empty and take new samples, so that the backup
// could not be restored any more.
TEST_F(BackupTest, KilledRestoreIsNoEmptyStore) {
  ASSERT_OK(Backup());
  store_.Close();  // ends RocksDB's writes before the fork
  int pieces = 0;
  ASSERT_OK(RestoreStore(backup_, restored_, [&](uint64_t, uint64_t) {
    ++pieces;
    return absl::OkStatus();
  }));
  ASSERT_GT(pieces, 4);
  fs::remove_all(restored_);
  for (int killed = 1; killed <= pieces; ++killed) {
    SCOPED_TRACE(killed);
    RestoreAndKill(backup_, restored_, killed);
    for (const absl::Status& refused :
         {OpenRocksDbStore(restored_).status(),
          VerifyStore(restored_, [](double) {}).status(),
          RepairStore(restored_, &Clock::Real(), [](uint64_t) {}).status()}) {
      EXPECT_THAT(refused,
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           AllOf(HasSubstr("a restore to " + restored_),
                                 HasSubstr("aggregator restore BACKUP"))));
    }
    if (killed % 2 == 0) continue;  // repeated over the leftovers
    ASSERT_OK(Restore());
    EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
    fs::remove_all(restored_);
  }
}

// The state of a restore that was killed when it had moved some files.
TEST_F(BackupTest, RestoreKilledWhileItMovesFilesIsRepeated) {
  ASSERT_OK(Backup());
  const std::string restored = restored_ + "/.fleetperf-restored";
  bool is_complete = false;
  for (size_t moved = 0; !is_complete; ++moved) {
    SCOPED_TRACE(moved);
    fs::remove_all(restored_);
    ASSERT_OK(Restore());
    std::vector<std::string> names = NamesIn(restored_);
    std::partition(names.begin(), names.end(),
                   [](const std::string& name) { return name != "CURRENT"; });
    fs::create_directory(restored);
    is_complete = moved == names.size();
    for (size_t i = moved; i < names.size(); ++i) {
      fs::rename(restored_ + "/" + names[i], restored + "/" + names[i]);
    }
    if (!is_complete) {
      EXPECT_THAT(OpenRocksDbStore(restored_),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("was interrupted")));
      std::ofstream(restored_ + "/notes") << "something";
      EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("is not empty")));
      fs::remove(restored_ + "/notes");
      ASSERT_OK(Restore());
    }
    EXPECT_THAT(ReadRestored(), ElementsAre("1 C: 10", "2 C: 20"));
  }
}

TEST_F(BackupTest, RefusesRestoreIntoADirectoryInUse) {
  ASSERT_OK(Backup());
  fs::create_directory(restored_);
  const auto lock = DirectoryLock::Acquire(restored_);
  ASSERT_OK(lock);
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("in use by another process")));
}

// A store made of it would lack a batch, and nothing would report that later.
TEST_F(BackupTest, RejectsBackupWithDamagedLog) {
  agent_.Tick(3, 30);
  ASSERT_OK(agent_.Send());
  store_.Close();
  fs::copy(store_.path(), backup_);
  ASSERT_TRUE(FlipIn(backup_, LogKey(1, 2)));
  EXPECT_THAT(Restore(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(backup_), HasSubstr("write-ahead log"),
                             HasSubstr("restore another one"))));
  EXPECT_THAT(NamesIn(restored_), IsEmpty());
}

// The restored store has a new id, because it lacks what was acknowledged
// later.
TEST_F(BackupTest, RestoredStoreHasNewIdAndContinues) {
  const std::string id = store_->id();
  ASSERT_OK(Backup());
  agent_.Tick(3, 30);
  ASSERT_OK(agent_.Send());
  ASSERT_OK(Restore());
  ASSERT_OK_AND_ASSIGN(const auto restored, OpenRocksDbStore(restored_));
  EXPECT_NE(restored->id(), id);
  EXPECT_EQ(store_->id(), id);
  ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                       restored->OpenEpoch("web-1", 1, {}));
  EXPECT_EQ(epoch.durable_sequence, 2);
  EXPECT_EQ(restored->directory().NewestSample("web-1"),
            kStart + absl::Seconds(2));
}

}  // namespace
}  // namespace fleetperf::aggregator
