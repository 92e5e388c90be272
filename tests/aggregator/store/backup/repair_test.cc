// A damaged store that cannot be opened can be repaired: what is sound is kept,
// and what is not is reported.

#include "aggregator/store/backup/repair.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/store/backup/salvage.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/manifest.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using ::testing::Not;
using testing::OneDiskAgent;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;

constexpr int kAgents = 3;

std::string AgentName(int agent) { return absl::StrCat("web-", agent); }

// A store whose machines each have a tick in a chunk of the first hour, one in
// a chunk of the third, and one in the log.
class RepairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int part : {0, 1, 2}) {
      for (int i = 0; i < kAgents; ++i) {
        OneDiskAgent agent(&store_, AgentName(i), part + 1);
        agent.Tick(part * 7200, part);
        ASSERT_OK(agent.Send(testing::kStart + absl::Hours(2 * part)));
      }
      if (part == 2) break;
      ASSERT_OK(store_.Compact());
      store_.Reopen();  // moves RocksDB's log to files
    }
    for (int i = 0; i < kAgents; ++i) {
      ASSERT_THAT(store_.Read(AgentName(i)),
                  ElementsAre("0 C: 0", "7200 C: 1", "14400 C: 2"));
    }
    store_.Close();
  }

  RepairReport Repair() {
    const auto report =
        RepairStore(store_.path(), &Clock::Real(), [](uint64_t) {});
    EXPECT_OK(report);
    return report.ok() ? *report : RepairReport{};
  }
  absl::Status OpenStatus() { return OpenRocksDbStore(store_.path()).status(); }
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(store_.path(), "/", name);
  }
  std::string ManifestPath() const {
    return FindManifest(store_.path()).value();
  }
  // The files of a family, oldest first.
  std::vector<std::string> FilesOf(Family family) const {
    const std::string name = FamilyOptions()[static_cast<size_t>(family)].name;
    std::vector<std::string> names;
    const auto listing = ListFiles(store_.path());
    for (const auto& file : listing.value().files) {
      if (file.column_family_name == name)
        names.push_back(file.relative_filename);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void ExpectWhole() {
    ASSERT_OK(OpenStatus());
    store_.Open();
    for (int i = 0; i < kAgents; ++i) {
      EXPECT_THAT(store_.Read(AgentName(i)),
                  ElementsAre("0 C: 0", "7200 C: 1", "14400 C: 2"));
    }
  }
  // The store takes and keeps new samples.
  void ExpectContinues() {
    OneDiskAgent agent(&store_, "new");
    agent.Tick(1, 1);
    ASSERT_OK(agent.Send());
    ASSERT_OK(store_.Compact());
    store_.Reopen();
    EXPECT_THAT(store_.Read("new"), ElementsAre("1 C: 1"));
    store_.Close();
    const auto report = VerifyStore(store_.path(), [](double) {});
    ASSERT_OK(report);
    EXPECT_THAT(report->damage, IsEmpty());
    EXPECT_THAT(Repair().lost, IsEmpty());
  }

  const testing::LogCapture log_;
  TestStore store_;
};

TEST_F(RepairTest, ChangesNothingInASoundStore) {
  const RepairReport report = Repair();
  EXPECT_THAT(report.done, IsEmpty());
  EXPECT_THAT(report.lost, IsEmpty());
  EXPECT_EQ(report.aside, "");
  ExpectWhole();
}

TEST_F(RepairTest, RefusesAStoreInUse) {
  store_.Open();
  EXPECT_THAT(RepairStore(store_.path(), &Clock::Real(), [](uint64_t) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another process has it open")));
  const testing::TempDirectory empty;
  EXPECT_THAT(RepairStore(empty.path(), &Clock::Real(), [](uint64_t) {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(empty.path())));
  EXPECT_TRUE(fs::is_empty(empty.path()));
}

TEST_F(RepairTest, WritesCurrentAgain) {
  for (const char* contents : {"", "MANIFEST-999999\n", "MANIFEST-000"}) {
    ASSERT_OK(WriteFile(PathOf("CURRENT"), contents));
    if (*contents == '\0') fs::remove(PathOf("CURRENT"));
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("aggregator repair")));
    const RepairReport report = Repair();
    EXPECT_THAT(report.done, ElementsAre(HasSubstr("CURRENT")));
    EXPECT_THAT(report.lost, IsEmpty());
    ExpectWhole();
    store_.Close();
  }
}

TEST_F(RepairTest, RebuildsTheManifest) {
  for (const bool is_missing : {true, false}) {
    const std::string path = ManifestPath();
    std::string bytes = ReadFile(path).value();
    bytes[bytes.size() / 2] ^= 1;
    fs::remove(path);
    if (!is_missing) {
      ASSERT_OK(WriteFile(path, bytes));
    }
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("aggregator repair")));
    const RepairReport report = Repair();
    EXPECT_THAT(report.done, Contains(HasSubstr("MANIFEST")));
    EXPECT_THAT(report.lost, IsEmpty());
    ExpectWhole();
    store_.Close();
  }
  store_.Open();
  ExpectContinues();
}

// RocksDB puts only files into a new MANIFEST of which it can read all.
TEST_F(RepairTest, ReportsDamagedFilesOfARebuiltManifest) {
  const std::vector<std::string> files = FilesOf(Family::kChunks);
  ASSERT_THAT(files, Not(IsEmpty()));
  for (const std::string& file : files) {
    std::string bytes = ReadFile(PathOf(file)).value();
    bytes[10] ^= 1;
    ASSERT_OK(WriteFile(PathOf(file), bytes));
  }
  fs::remove(ManifestPath());
  const RepairReport report = Repair();
  for (const std::string& file : files) {
    EXPECT_THAT(report.lost,
                Contains(AllOf(HasSubstr(file), HasSubstr("cannot be read"))));
    EXPECT_TRUE(FileExists(absl::StrCat(report.aside, "/", file)));
  }
  ASSERT_OK(OpenStatus());
  store_.Open();
  for (int i = 0; i < kAgents; ++i) {
    EXPECT_THAT(store_.Read(AgentName(i)), ElementsAre("14400 C: 2"));
  }
  ExpectContinues();
}

TEST(SalvageTest, CopiesWhatIsBetweenDamagedBlocks) {
  const testing::TempDirectory directory;
  constexpr int kKeys = 3000;
  std::mt19937_64 random(46);
  std::string file;
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
    Changes changes(database.get());
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      while (value.size() < 64) value += BigEndian(random());
      changes.Put(Family::kDefault, absl::StrFormat("z%d", i), value);
    }
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
    ASSERT_OK(database->Flush());
    ASSERT_THAT(database->Files(), SizeIs(1));
    file = database->Files()[0];
  }
  std::string bytes = ReadFile(file).value();
  bytes[bytes.size() / 4] ^= 1;
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_OK(WriteFile(file, bytes));
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  ASSERT_OK_AND_ASSIGN(
      const Salvage salvage,
      SalvageFamily(*database, Family::kDefault, directory.File("copy")));
  EXPECT_THAT(salvage.lost, ElementsAre(HasSubstr(" and before \"z"),
                                        HasSubstr(" and before \"z")));
  // A block has 4 KiB, so at most 64 values of 64 bytes.
  EXPECT_LT(salvage.keys, kKeys);
  EXPECT_GE(salvage.keys, kKeys - 2 * 64);
}

TEST_F(RepairTest, KeepsAllButAMissingFileOfChunks) {
  const std::vector<std::string> files = FilesOf(Family::kChunks);
  ASSERT_THAT(files, Not(IsEmpty()));
  const std::string lost = files.front();
  fs::remove(PathOf(lost));
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                     HasSubstr("aggregator repair")));
  const RepairReport report = Repair();
  EXPECT_THAT(report.lost,
              Contains(AllOf(HasSubstr(lost), HasSubstr("it is missing"))));
  ASSERT_OK(OpenStatus());
  store_.Open();
  for (int i = 0; i < kAgents; ++i) {
    const std::vector<std::string> samples = store_.Read(AgentName(i));
    EXPECT_THAT(samples, Contains("14400 C: 2"));
    EXPECT_LT(samples.size(), 3);
  }
  ExpectContinues();
}

// Without their file, the log's batches are lost, and known by their index.
TEST_F(RepairTest, RecordsLostBatchesAsLosses) {
  store_.Open();
  store_.Close();  // moves the log's batches to files
  const std::vector<std::string> files = FilesOf(Family::kLog);
  ASSERT_THAT(files, Not(IsEmpty()));
  for (const std::string& file : files) {
    std::ofstream(PathOf(file), std::ios::trunc) << "damaged";
  }
  const RepairReport report = Repair();
  EXPECT_THAT(report.lost, Contains(HasSubstr("of web-1, received")));
  for (const std::string& file : files) {
    EXPECT_TRUE(FileExists(absl::StrCat(report.aside, "/", file)));
  }
  ASSERT_OK(OpenStatus());
  store_.Open();
  for (int i = 0; i < kAgents; ++i) {
    EXPECT_THAT(store_.Read(AgentName(i)), ElementsAre("0 C: 0", "7200 C: 1"));
    EXPECT_THAT(store_.ReadLosses(AgentName(i)),
                ElementsAre("store_damaged 14400..14400"));
  }
  ExpectContinues();
}

// Without their index, the log's batches are indexed again.
TEST_F(RepairTest, IndexesBatchesAgain) {
  store_.Open();
  store_.Close();
  for (const std::string& file : FilesOf(Family::kTimes)) {
    fs::remove(PathOf(file));
  }
  EXPECT_THAT(Repair().lost, SizeIs(::testing::Ge(1)));
  ExpectWhole();
  // Copies of the batches are recognized.
  const StoredEpoch& epoch = store_.Epoch(AgentName(0), 3);
  EXPECT_THAT(store_->HasBatch(epoch.number, 1, epoch.durable_fingerprint),
              IsOkAndHolds(true));
}

// The start reads names and definitions as a whole.
TEST_F(RepairTest, KeepsReadableRecordsBesideADamagedBlock) {
  for (const std::string& file : FilesOf(Family::kDefault)) {
    // The first block of data begins with the file.
    std::string bytes = ReadFile(PathOf(file)).value();
    bytes[10] ^= 1;
    ASSERT_OK(WriteFile(PathOf(file), bytes));
  }
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                     HasSubstr("aggregator repair")));
  const RepairReport report = Repair();
  EXPECT_THAT(report.lost, Contains(HasSubstr("family \"default\"")));
  EXPECT_THAT(report.done, Contains(HasSubstr("readable records")));
  ASSERT_OK(OpenStatus());
  store_.Open();
  OneDiskAgent agent(&store_, "new");
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store_.Compact());
  store_.Reopen();
  EXPECT_THAT(store_.Read("new"), ElementsAre("1 C: 1"));
}

TEST_F(RepairTest, DoesNotReadRocksDbsOptions) {
  for (const auto& entry : fs::directory_iterator(store_.path())) {
    if (absl::StartsWith(entry.path().filename().string(), "OPTIONS-")) {
      ASSERT_OK(WriteFile(entry.path(), "damaged"));
    }
  }
  const std::string lost = FilesOf(Family::kChunks).front();
  fs::remove(absl::StrCat(store_.path(), "/", lost));
  EXPECT_THAT(Repair().lost, ElementsAre(HasSubstr(lost)));
  ASSERT_OK(OpenStatus());
}

// RocksDB opens a store whose MANIFEST lost its last records, and deletes the
// files of which these records are.
TEST(LostRecordsOfTheManifest, LeaveTheirFiles) {
  const testing::LogCapture log;
  TestStore store;
  const std::string manifest = FindManifest(store.path()).value();
  const std::string before = ReadFile(manifest).value();
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  const testing::TempDirectory temp;
  // Moves the log's batches to files.
  ASSERT_OK(store->Backup(temp.File("backup"),
                          [](uint64_t, uint64_t) { return absl::OkStatus(); }));
  agent.Tick(2, 2);
  ASSERT_OK(agent.Send());
  store.Close();
  std::map<std::string, std::string> unlisted;  // contents by name
  const auto with_files = ListFiles(store.path());
  for (const auto& file : with_files.value().files) {
    unlisted[file.relative_filename] =
        ReadFile(absl::StrCat(store.path(), "/", file.relative_filename))
            .value();
  }
  ASSERT_OK(WriteFile(manifest, before));
  const auto without_files = ListFiles(store.path());
  for (const auto& file : without_files.value().files) {
    unlisted.erase(file.relative_filename);
  }
  ASSERT_THAT(unlisted, Not(IsEmpty()));

  store.Open();
  const std::string kept = absl::StrCat(store.path(), "/damaged/");
  EXPECT_THAT(log.Lines(), Contains(AllOf(HasSubstr("are neither in"),
                                          HasSubstr("/damaged"))));
  EXPECT_THAT(store.Read("web-1"), Not(Contains("1 C: 1")));
  store.Close();
  for (const auto& [name, contents] : unlisted) {
    EXPECT_EQ(ReadFile(kept + name).value(), contents);
  }
  EXPECT_EQ(ReadFile(kept + fs::path(manifest).filename().string()).value(),
            before);

  // As docs/reference/store.md says.
  for (const auto& entry : unlisted) {
    ASSERT_OK(RenameFile(kept + entry.first,
                         absl::StrCat(store.path(), "/9", entry.first)));
  }
  fs::remove(FindManifest(store.path()).value());
  const auto report =
      RepairStore(store.path(), &Clock::Real(), [](uint64_t) {});
  ASSERT_OK(report);
  EXPECT_THAT(report->lost, IsEmpty());
  store.Open();
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 1", "2 C: 2"));
}

// RocksDB makes a family again that the MANIFEST lost, without its files.
TEST(LostRecordsOfTheManifest, OfAFamilyLeaveTheFiles) {
  const testing::LogCapture log;
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store.Compact());
  const testing::TempDirectory temp;
  ASSERT_OK(store->Backup(temp.File("backup"),
                          [](uint64_t, uint64_t) { return absl::OkStatus(); }));
  store.Close();
  const std::string manifest = FindManifest(store.path()).value();
  const std::string contents = ReadFile(manifest).value();
  const auto files = ListFiles(store.path());
  ASSERT_THAT(files.value().files, Not(IsEmpty()));
  const size_t family =
      contents.find(FamilyOptions()[static_cast<size_t>(Family::kChunks)].name);
  ASSERT_NE(family, contents.npos);
  ASSERT_OK(WriteFile(manifest, contents.substr(0, family)));

  store.Open();
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("cannot be read from byte")));
  for (const auto& file : files.value().files) {
    EXPECT_TRUE(FileExists(
        absl::StrCat(store.path(), "/damaged/", file.relative_filename)));
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
