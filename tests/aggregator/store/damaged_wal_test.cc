// Missing parts of RocksDB's write-ahead log are reported with the loss, and
// all other data is retained. A power cut is not reported as damage.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
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
using ::testing::Pair;
using ::testing::SizeIs;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

TEST_F(DamagedWal, IntactLogReportsNoDamage) {
  EXPECT_THAT(DamageOf(store_.path()), IsEmpty());
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
  EXPECT_THAT(store_.ReadLosses("web-1"), IsEmpty());
  EXPECT_FALSE(store_.Epoch("web-1", 1).lacks_definitions);
}

TEST_F(DamagedWal, FlippedByteCostsOneCommitAndIsReported) {
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

  // The damage is reported once. The loss stays recorded.
  store_.Close();
  EXPECT_THAT(DamageOf(store_.path()), IsEmpty());
  EXPECT_THAT(Open(), IsEmpty());
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches - 1));
  EXPECT_THAT(store_.ReadLosses("web-1"),
              ElementsAre("store_damaged 149..151"));

  // The store continues to work.
  OneDiskAgent agent(&store_, "web-1", /*epoch=*/2);
  agent.Tick(1000, 1);
  ASSERT_OK(agent.Send(kStart + absl::Seconds(1000)));
  store_.Close();
  EXPECT_THAT(Open(), IsEmpty());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
}

// Returns the sum of N over all "N batches in".
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

TEST_F(DamagedWal, ReadAndLostBatchesAddUpWhereverAByteIsFlipped) {
  // Without the definitions in the first batch, nothing could be read.
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

// RocksDB silently skips pages of zeros, whatever its recovery mode.
TEST_F(DamagedWal, PageOfZerosIsDamage) {
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

// At some types, RocksDB's own recovery loops or drops all later commits.
TEST_F(DamagedWal, RecordOfAnotherTypeCostsOneCommit) {
  constexpr size_t kType = 6;  // behind the checksum and the size
  size_t record = 0;
  ASSERT_OK(ReadWalFile(
      path_,
      [&](uint64_t offset, absl::string_view) {
        if (offset < log_.size() / 2) record = offset;
        return absl::OkStatus();
      },
      [](const WalRange&, bool) {}));
  for (const char type : {0, 3, 5, 6, 9, 65}) {
    SCOPED_TRACE(static_cast<int>(type));
    const testing::TempDirectory copy;
    fs::copy(
        store_.path(), copy.path(),
        fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::string log = log_;
    log[record + kType] = type;
    WriteAll(copy.File(fs::path(path_).filename().string()), log);
    const auto told = HasSubstr("1 batches in 1 commits");
    EXPECT_THAT(DamageOf(copy.path()), ElementsAre(told));
    const testing::LogCapture lines;
    ASSERT_OK(OpenRocksDbStore(copy.path()));
    EXPECT_THAT(lines.Lines(), ElementsAre(told));
  }
}

TEST_F(DamagedWal, ReportsMissingLog) {
  fs::remove(path_);
  const auto told =
      AllOf(HasSubstr("the end of the write-ahead log is missing"),
            HasSubstr("300 batches in 300 commits"));
  EXPECT_THAT(DamageOf(store_.path()), ElementsAre(told));
  EXPECT_THAT(Open(), ElementsAre(told));
  EXPECT_EQ(Durable(), 0);  // tells the agent about the loss
}

TEST_F(DamagedWal, ReportsTruncatedLog) {
  // Once in the middle of a commit, and once right before one.
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

// The torn commit was never acknowledged.
TEST_F(DamagedWal, TornEndIsNotDamage) {
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

// Commits before the last one were synced, even without other evidence.
TEST_F(DamagedWal, DamageBeforeTheLastCommitIsNotATornEnd) {
  fs::remove(store_.path() + kSynced);
  const size_t place = PlaceOf(log_, kBatches - 1);
  log_[place] = static_cast<char>(log_[place] ^ 1);
  WriteAll(path_, log_);
  EXPECT_THAT(DamageOf(store_.path()),
              ElementsAre(HasSubstr("1 batches in 1 commits")));
  EXPECT_THAT(Open(), SizeIs(1));
  EXPECT_EQ(Durable(), kBatches);
}

TEST_F(DamagedWal, AttributesLossToEpochsWithLaterBatches) {
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
  // The epochs have numbers 2 and 3. One of them loses a batch in the middle,
  // the other one loses nothing.
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

// The agent may have begun the epoch with another aggregator.
TEST_F(DamagedWal, EpochCreatedAfterTheDamageLosesNothing) {
  store_.Open();
  {
    OneDiskAgent one(&store_, "db-1");
    for (int i = 1; i <= 3; ++i) {
      one.Tick(i, i);
      ASSERT_OK(one.Send(kStart + absl::Seconds(i)));
    }
    OneDiskAgent moved(&store_, "db-2");
    moved.next_sequence = 42;
    moved.Tick(4, 4);
    ASSERT_OK(moved.Send(kStart + absl::Seconds(4)));
  }
  store_.Close();
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(2, 2)));
  EXPECT_THAT(Open(), SizeIs(1));
  EXPECT_THAT(store_.ReadLosses("db-1"), ElementsAre("store_damaged 1..3"));
  EXPECT_THAT(store_.ReadLosses("db-2"), IsEmpty());
  EXPECT_THAT(store_.Read("db-2"), ElementsAre("4 C: 4"));
}

// A batch reported as lost would be replaced by the loss.
TEST_F(DamagedWal, BatchThatCannotBeLookedUpIsNotReportedLost) {
  store_.Open();
  ASSERT_OK(store_.Compact());
  store_.Close();
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store_.path()));
    ASSERT_OK(database->Get(Family::kDefault, FingerprintsKey(1, 1)).status());
    Changes changes(database.get());
    changes.Put(Family::kDefault, FingerprintsKey(1, 1), "abc");
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  }
  store_.Open();
  {
    OneDiskAgent one(&store_, "db-1");
    for (int i = 1; i <= 3; ++i) {
      one.Tick(i, i);
      ASSERT_OK(one.Send(kStart + absl::Seconds(i)));
    }
    OneDiskAgent web(&store_, "web-1");
    web.next_sequence = kBatches + 1;
    web.Tick(1000, 1);
    ASSERT_OK(web.Send(kStart + absl::Seconds(1000)));
  }
  store_.Close();
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(2, 2)));
  EXPECT_THAT(Open(), Contains(HasSubstr("skipped: ")));
  EXPECT_THAT(store_.ReadLosses("db-1"), ElementsAre("store_damaged 1..3"));
  EXPECT_THAT(store_.ReadLosses("web-1"), IsEmpty());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches + 1));
}

// Batches that came back to the log could not be read without their
// definitions.
TEST_F(DamagedWal, RemovesDefinitionsAfterMovedBatchesAreFlushed) {
  store_.Open();
  ASSERT_OK(store_.Compact());
  store_.Close();
  FlipIn(store_.path(), FingerprintsKey(1, 1));
  Open();
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
}

TEST_F(DamagedWal, RemovesRetiredInstancesAfterMovedBatchesAreFlushed) {
  testing::SimulatedClock clock;
  {
    ASSERT_OK_AND_ASSIGN(const auto store,
                         OpenRocksDbStore(store_.path(), &clock));
    // Keeps the epoch in use.
    ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                         store->OpenEpoch("web-1", 1, {}));
    OneDiskAgent agent(&store_, "web-1");
    agent.Retire(agent.c);
    const v1::BatchContent content = agent.TakeContent();
    const v1::Batch batch =
        testing::MakeBatch(/*epoch=*/1, kBatches + 1, content);
    const DecodedBatch decoded;
    ASSERT_OK(store->Commit({{.epoch_number = epoch.number,
                              .sequence = kBatches + 1,
                              .agent = "web-1",
                              .received = kStart,
                              .batch = &batch,
                              .decoded = &decoded}}));
    for (int i = 0; i < 4; ++i) {
      ASSERT_OK(Compact(*store));
      clock.Advance(absl::Minutes(6));
    }
    std::vector<std::shared_ptr<const Instance>> instances;
    ASSERT_THAT(epoch.dictionary->FindInstances({agent.c}, &instances),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("is not defined")));
  }
  FlipIn(store_.path(), FingerprintsKey(1, 1));
  Open();
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.Read("web-1"), SizeIs(kBatches));
}

// The agent still has the definitions, and is asked for them, also by later
// processes.
TEST_F(DamagedWal, BatchesWaitForLostDefinitions) {
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(1, 1)));
  Open();
  ASSERT_OK(store_.Compact());
  store_.Reopen();
  ASSERT_OK(store_.Compact());
  const StoredEpoch& epoch = store_.Epoch("web-1", 1);
  EXPECT_EQ(epoch.durable_sequence, kBatches);
  EXPECT_TRUE(epoch.lacks_definitions);
  OneDiskAgent agent(&store_, "web-1");
  ASSERT_OK(store_->KeepDefinitions(epoch.number, agent.definitions()));
  for (const bool is_moved : {false, true}) {
    SCOPED_TRACE(is_moved);
    if (is_moved) {
      ASSERT_OK(store_.Compact());
    }
    const std::vector<std::string> ticks = store_.Read("web-1");
    EXPECT_THAT(ticks, SizeIs(kBatches - 1));
    EXPECT_THAT(ticks, Contains("2 C: 2"));
    EXPECT_THAT(ticks, Contains("300 C: 300"));
    EXPECT_THAT(store_.ReadLosses("web-1"), ElementsAre("store_damaged 2..2"));
  }
}

class TickCounter : public UnexportedSink {
 public:
  void Begin(absl::Time, uint64_t) override {}
  absl::Status BeginFrame(const Frame&, uint32_t) override {
    return absl::OkStatus();
  }
  absl::Status AddTicks(uint32_t begin, uint32_t end) override {
    ticks += end - begin;
    return absl::OkStatus();
  }
  void Advance(ExportProgress to) override {
    progress.push_back(std::move(to));
  }

  uint32_t ticks = 0;
  std::vector<ExportProgress> progress;
};

TEST_F(DamagedWal, TheExportWaitsForLostDefinitions) {
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(1, 1)));
  Open();
  ASSERT_OK(store_->KeepExportCursors(true));
  TickCounter before;
  ASSERT_OK(store_->ReadUnexported({.machine = "web-1"}, &before));
  EXPECT_EQ(before.ticks, 0);
  ASSERT_OK(store_->SetExported(before.progress));
  const StoredEpoch& epoch = store_.Epoch("web-1", 1);
  OneDiskAgent agent(&store_, "web-1");
  ASSERT_OK(store_->KeepDefinitions(epoch.number, agent.definitions()));
  TickCounter after;
  ASSERT_OK(store_->ReadUnexported({.machine = "web-1"}, &after));
  EXPECT_EQ(after.ticks, kBatches - 1);
}

// Machines of some epochs are known despite the loss.
TEST_F(DamagedWal, LaterProcessesAlsoAskForLostDefinitions) {
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(1, 150)));
  Open();
  store_.Reopen();
  const StoredEpoch& epoch = store_.Epoch("web-1", 1);
  EXPECT_TRUE(epoch.lacks_definitions);
  const OneDiskAgent agent(&store_, "web-1");
  ASSERT_OK(store_->KeepDefinitions(epoch.number, agent.definitions()));
  store_.CloseEpoch("web-1", 1);
  EXPECT_FALSE(store_.Epoch("web-1", 1).lacks_definitions);
}

TEST_F(DamagedWal, BatchesDoNotWaitForeverForLostDefinitions) {
  ASSERT_TRUE(FlipIn(store_.path(), LogKey(1, 1)));
  const auto removed = Contains(HasSubstr("removed for good: batch 2 of"));
  testing::SimulatedClock clock;
  {
    const testing::LogCapture log;
    ASSERT_OK_AND_ASSIGN(const auto store,
                         OpenRocksDbStore(store_.path(), &clock));
    ASSERT_OK(Compact(*store));
    clock.Advance(absl::Hours(23));
    ASSERT_OK(Compact(*store));
    EXPECT_THAT(log.Lines(), Not(removed));
    clock.Advance(absl::Hours(2));
    ASSERT_OK(Compact(*store));
    EXPECT_THAT(log.Lines(), removed);
  }
  store_.Open();
  EXPECT_FALSE(store_.Epoch("db-1", 1).lacks_definitions);
}

// The written bytes are the same as RocksDB's.
TEST_F(DamagedWal, FramesWritesLikeRocksDb) {
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
