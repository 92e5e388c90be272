// What is missing of RocksDB's write-ahead log is told with what it cost, and
// all else is there; but for what a power cut leaves behind.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/store/database.h"
#include "aggregator/store/keys.h"
#include "aggregator/store/store.h"
#include "aggregator/store/verify.h"
#include "aggregator/store/wal_file.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
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
using ::testing::Pair;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;
using ::testing::UnorderedElementsAre;

constexpr int kBatches = 300;
constexpr char kSynced[] = "/fleetperf-synced";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// The logs of the store in `directory` that have something in them.
std::vector<std::string> LogsIn(const std::string& directory) {
  std::vector<std::string> logs;
  const auto files = FindWalFiles(directory);
  EXPECT_OK(files);
  if (!files.ok()) return logs;
  for (const WalFile& file : *files) {
    if (fs::file_size(file.path) > 0) logs.push_back(file.path);
  }
  return logs;
}

std::vector<std::string> DamageOf(const std::string& directory) {
  const auto report = VerifyStore(directory, [](double) {});
  EXPECT_OK(report);
  return report.ok() ? report->damage : std::vector<std::string>();
}

// Where the key of a batch of the first epoch is in the log.
size_t PlaceOf(const std::string& log, uint64_t sequence) {
  const size_t place = log.find(LogKey(1, sequence));
  EXPECT_NE(place, log.npos);
  return place;
}

// A store with batches 1 to 300 of web-1, the n-th with the tick at n s, each
// in a commit of its own; closed.
class DamagedWal : public ::testing::Test {
 protected:
  DamagedWal() {
    OneDiskAgent agent(&store_, "web-1");
    for (int i = 1; i <= kBatches; ++i) {
      agent.Tick(i, i);
      EXPECT_OK(agent.Send(kStart + absl::Seconds(i)));
    }
    store_.Close();
    const std::vector<std::string> logs = LogsIn(store_.path());
    EXPECT_THAT(logs, SizeIs(1));
    path_ = logs.at(0);
    log_ = ReadAll(path_);
  }

  // Opens the store and returns what that logs.
  std::vector<std::string> Open() {
    const testing::LogCapture log;
    store_.Open();
    return log.Lines();
  }

  uint64_t Durable() { return store_.Epoch("web-1", 1).durable_sequence; }

  TestStore store_;
  std::string path_;
  std::string log_;
};

TEST_F(DamagedWal, AWholeOneHasNothingToTell) {
  EXPECT_THAT(DamageOf(store_.path()), IsEmpty());
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
  EXPECT_THAT(store_.ReadLosses("web-1"), IsEmpty());
  EXPECT_FALSE(store_.Epoch("web-1", 1).lacks_definitions);
}

TEST_F(DamagedWal, AFlippedByteCostsItsCommitAndIsToldWithWhatItCost) {
  const size_t place = PlaceOf(log_, 150);
  log_[place] = static_cast<char>(log_[place] ^ 1);
  WriteAll(path_, log_);

  const auto told =
      AllOf(HasSubstr(path_), HasSubstr("from byte "),
            HasSubstr("1 batches in 1 commits"),
            HasSubstr(absl::FormatTime("%H:%M:%S", kStart + absl::Seconds(149),
                                       absl::UTCTimeZone())));
  EXPECT_THAT(DamageOf(store_.path()), ElementsAre(told));
  EXPECT_EQ(ReadAll(path_), log_);  // verifying changes nothing

  EXPECT_THAT(Open(), ElementsAre(AllOf(HasSubstr("error"), told)));
  EXPECT_EQ(ReadAll(absl::StrCat(store_.path(), "/damaged/",
                                 fs::path(path_).filename().string())),
            log_);
  const std::vector<std::string> ticks = store_.Read("web-1");
  EXPECT_THAT(ticks, SizeIs(kBatches - 1));
  EXPECT_THAT(ticks, Not(Contains("150 C: 150")));
  EXPECT_THAT(store_.ReadLosses("web-1"),
              ElementsAre("store_damaged 149..151"));
  EXPECT_THAT(store_->LostTicks("web-1", "web-1"),
              UnorderedElementsAre(Pair(LossCause::kStoreDamaged, 0)));
  EXPECT_EQ(Durable(), kBatches);
  EXPECT_TRUE(store_.Epoch("web-1", 1).lacks_definitions);

  // It is told once, and stays told.
  store_.Close();
  EXPECT_THAT(DamageOf(store_.path()), IsEmpty());
  EXPECT_THAT(Open(), IsEmpty());
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches - 1));
  EXPECT_THAT(store_.ReadLosses("web-1"),
              ElementsAre("store_damaged 149..151"));

  // It goes on.
  OneDiskAgent agent(&store_, "web-1", /*epoch=*/2);
  agent.Tick(1000, 1);
  ASSERT_OK(agent.Send(kStart + absl::Seconds(1000)));
  store_.Close();
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
}

// The sum of N in "N batches in".
int BatchesIn(const std::vector<std::string>& damage) {
  int sum = 0;
  for (const std::string& text : damage) {
    const size_t end = text.find(" batches in ");
    if (end == text.npos) continue;
    const size_t begin = text.rfind(' ', end - 1) + 1;
    sum += std::stoi(text.substr(begin, end - begin));
  }
  return sum;
}

TEST_F(DamagedWal, WhereverAByteIsFlippedWhatIsLeftAndWhatIsLostAreAll) {
  // Without the definitions of the first one, nothing could be read.
  const size_t first = PlaceOf(log_, 2);
  for (size_t place = first; place < log_.size(); place += 4999) {
    SCOPED_TRACE(place);
    const testing::TempDirectory copy;
    fs::copy(
        store_.path(), copy.path(),
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::string log = log_;
    log[place] = static_cast<char>(log[place] ^ 0x10);
    WriteAll(copy.File(fs::path(path_).filename().string()), log);
    const int verified = BatchesIn(DamageOf(copy.path()));
    EXPECT_GT(verified, 0);
    const testing::LogCapture lines;
    auto store = OpenRocksDbStore(copy.path());
    ASSERT_OK(store.status());
    EXPECT_EQ(BatchesIn(lines.Lines()), verified);
    int ticks = 0;
    ASSERT_OK((*store)->Read(
        {.machine = "web-1",
         .from = absl::InfinitePast(),
         .to = absl::InfiniteFuture(),
         .filter = {}},
        [&](const Frame& frame) {
          ticks += static_cast<int>(testing::ToText(frame).size());
          return absl::OkStatus();
        },
        [](const Loss&) {}));
    EXPECT_EQ(ticks + verified, kBatches);
    EXPECT_GT(ticks, kBatches / 2);
  }
}

// RocksDB passes over these in silence, whatever it is told to do.
TEST_F(DamagedWal, APageOfZerosIsDamage) {
  constexpr size_t kPage = 4096;
  log_.replace(5 * kPage, kPage, std::string(kPage, '\0'));
  WriteAll(path_, log_);
  const std::vector<std::string> damage = DamageOf(store_.path());
  EXPECT_THAT(damage, ElementsAre(HasSubstr(path_)));
  EXPECT_EQ(Open().size(), 1);
  EXPECT_EQ(static_cast<int>(store_.Read("web-1").size()) + BatchesIn(damage),
            kBatches);
  EXPECT_THAT(store_.ReadLosses("web-1"), SizeIs(1));
}

TEST_F(DamagedWal, ALogThatIsGoneIsMissed) {
  fs::remove(path_);
  const auto told =
      AllOf(HasSubstr("the end of the write-ahead log is missing"),
            HasSubstr("300 batches in 300 commits"));
  EXPECT_THAT(DamageOf(store_.path()), ElementsAre(told));
  EXPECT_THAT(Open(), ElementsAre(told));
  EXPECT_EQ(Durable(), 0);  // by which its agent knows
}

TEST_F(DamagedWal, ALogThatWasCutOffIsMissed) {
  // In the middle of a commit, and right before one.
  size_t record = 0;
  ASSERT_OK(ReadWalFile(
      path_,
      [&](uint64_t offset, absl::string_view) {
        if (offset < log_.size() / 2) record = offset;
        return absl::OkStatus();
      },
      [](const WalRange&, bool) {}));
  for (const size_t end : {record + 20, record}) {
    SCOPED_TRACE(end);
    const testing::TempDirectory copy;
    fs::copy(
        store_.path(), copy.path(),
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::resize_file(copy.File(fs::path(path_).filename().string()), end);
    const int lost = BatchesIn(DamageOf(copy.path()));
    EXPECT_GT(lost, kBatches / 4);
    const testing::LogCapture lines;
    auto store = OpenRocksDbStore(copy.path());
    ASSERT_OK(store.status());
    EXPECT_EQ(BatchesIn(lines.Lines()), lost);
    ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                         (*store)->OpenEpoch("web-1", 1, {}));
    EXPECT_EQ(static_cast<int>(epoch.durable_sequence) + lost, kBatches);
  }
}

// The last commit was not acknowledged, then.
TEST_F(DamagedWal, ATornEndIsInOrder) {
  fs::remove(store_.path() + kSynced);
  std::string cut = log_;
  cut.resize(cut.size() - 30);
  std::string blank = log_;
  blank.replace(blank.size() - 30, 30, std::string(30, '\0'));
  std::string garbage = cut + std::string(5000, '\xA5');
  const size_t last = PlaceOf(log_, kBatches);
  std::string flipped = log_;
  flipped[last] = static_cast<char>(flipped[last] ^ 1);
  for (const std::string& torn :
       {cut, blank, garbage, flipped, cut + std::string(5000, '\0')}) {
    const testing::TempDirectory copy;
    fs::copy(
        store_.path(), copy.path(),
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    WriteAll(copy.File(fs::path(path_).filename().string()), torn);
    EXPECT_THAT(DamageOf(copy.path()), IsEmpty());
    const testing::LogCapture lines;
    auto store = OpenRocksDbStore(copy.path());
    ASSERT_OK(store.status());
    EXPECT_THAT(lines.Lines(), IsEmpty());
    ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                         (*store)->OpenEpoch("web-1", 1, {}));
    EXPECT_EQ(epoch.durable_sequence, kBatches - 1);
    EXPECT_FALSE(epoch.lacks_definitions);
  }
}

// Commits before the last one were synced, even if nothing else says so.
TEST_F(DamagedWal, WhatIsBeforeTheLastCommitIsNotTorn) {
  fs::remove(store_.path() + kSynced);
  const size_t place = PlaceOf(log_, kBatches - 1);
  log_[place] = static_cast<char>(log_[place] ^ 1);
  WriteAll(path_, log_);
  EXPECT_THAT(DamageOf(store_.path()),
              ElementsAre(HasSubstr("1 batches in 1 commits")));
  EXPECT_THAT(Open(), SizeIs(1));
  EXPECT_EQ(Durable(), kBatches);
}

TEST_F(DamagedWal, WhoseBatchesAreLostDependsOnWhatIsBehindThem) {
  store_.Open();
  {
    OneDiskAgent one(&store_, "db-1");
    OneDiskAgent two(&store_, "db-2");
    for (int i = 1; i <= 20; ++i) {
      one.Tick(i, i);
      two.Tick(i, i);
      ASSERT_OK(one.Send(kStart + absl::Seconds(i)));
      ASSERT_OK(two.Send(kStart + absl::Seconds(i)));
    }
  }
  store_.Close();
  const std::vector<std::string> logs = LogsIn(store_.path());
  ASSERT_THAT(logs, SizeIs(1));
  // Epochs have the numbers 2 and 3: one loses a batch of its middle, the other
  // one nothing.
  std::string log = ReadAll(logs[0]);
  const size_t place = log.find(LogKey(2, 10));
  ASSERT_NE(place, log.npos);
  log[place] = static_cast<char>(log[place] ^ 1);
  WriteAll(logs[0], log);
  EXPECT_THAT(Open(), SizeIs(1));
  EXPECT_THAT(store_.ReadLosses("db-1"), ElementsAre("store_damaged 9..11"));
  EXPECT_THAT(store_.ReadLosses("db-2"), IsEmpty());
  EXPECT_THAT(store_.ReadLosses("web-1"), IsEmpty());
  EXPECT_THAT(store_.Read("db-2"), SizeIs(20));
}

// Versions before had no numbers of commits.
TEST(Wal, WithoutMarksWhatIsBetweenWritesIsDamage) {
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

TEST(Wal, AClosedLogThatIsGoneIsMissed) {
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
    // Begins another log; the family "log" still needs the first.
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
    EXPECT_THAT(database->missing_wal(), StatusIs(absl::StatusCode::kDataLoss,
                                                  HasSubstr("Missing WAL")));
    EXPECT_OK(database->Get(Family::kLog, "later").status());
  }
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(directory.path()));
  EXPECT_OK(database->missing_wal());
}

// What is written is what RocksDB writes.
TEST_F(DamagedWal, WritesAreFramedAsRocksDbDoes) {
  std::string again;
  ASSERT_OK(ReadWalFile(
      path_,
      [&](uint64_t offset, absl::string_view write) {
        EXPECT_LE(again.size(), offset);
        AppendWalRecord(write, &again);
        return absl::OkStatus();
      },
      [](const WalRange& gap, bool) { ADD_FAILURE() << gap.offset; }));
  EXPECT_EQ(again, log_);
}

}  // namespace
}  // namespace fleetperf::aggregator
