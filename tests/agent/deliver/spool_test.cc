#include "agent/deliver/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/gate.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

absl::Time At(uint64_t seconds) {
  return absl::FromUnixSeconds(1'800'000'000 + static_cast<int64_t>(seconds));
}

TickRange TicksAt(uint64_t first, uint64_t last) {
  return {.ticks = last - first + 1, .start = At(first), .end = At(last)};
}

// Ticks as a message that says which they are, and takes up some room.
v1::BatchContent ContentOf(uint64_t first, uint64_t last, size_t bytes) {
  v1::BatchContent content;
  for (uint64_t tick = first; tick <= last; ++tick) {
    content.add_retired_instances(static_cast<uint32_t>(tick));
  }
  if (bytes > 0) {
    uint64_t state = first;
    v1::BlockColumns* block = content.add_blocks();
    for (size_t size = 0; size < bytes; size += 10) {  // does not compress
      state = state * 6364136223846793005 + 1442695040888963407;
      block->add_perf_freq(static_cast<int64_t>(state));
    }
  }
  return content;
}

// "3: 7 8 9, lost 2 SPOOL_FULL": the batch's sequence, its ticks, its losses.
std::string TextOf(const SpooledBatch& batch) {
  const v1::BatchContent content = testing::ContentOf(*batch.batch);
  std::string text = absl::StrCat(batch.place.sequence, ":");
  for (const uint32_t tick : content.retired_instances()) {
    absl::StrAppend(&text, " ", tick);
  }
  for (const v1::Loss& loss : content.losses()) {
    absl::StrAppend(&text, ", lost ", loss.ticks(), " ",
                    v1::LossCause_Name(loss.cause()).substr(11));
  }
  return text;
}

class SpoolTest : public ::testing::Test {
 protected:
  void Open() {
    spool_.reset();
    auto opened = Spool::Open(Options());
    ASSERT_OK(opened.status());
    spool_ = *std::move(opened);
  }
  Spool::Options Options() {
    return {.epoch = ++epoch_,
            .directory = directory_,
            .max_bytes = max_bytes_,
            .max_age = max_age_,
            .clock = &clock_,
            .before_seal = [this] { seal_gate_.Pass(); },
            .before_file_use = [this] { file_gate_.Pass(); }};
  }
  // As if the process had been killed at this moment: what the next one finds.
  std::vector<std::string> HeldAfterAKillNow() {
    const std::string copy = temp_.File(absl::StrCat("now-", epoch_));
    std::filesystem::copy(directory_, copy);
    auto spool = Spool::Open({.epoch = ++epoch_, .directory = copy});
    EXPECT_OK(spool.status());
    return HeldBy(**spool);
  }
  // As if the process were killed, with all that it had written so far, and
  // started again. `between` may do something to the files.
  void Kill(const std::function<void(const std::string& path)>& between =
                [](const std::string&) {}) {
    ASSERT_OK(spool_->AwaitSaved());
    const std::string next = temp_.File(absl::StrCat("after-", epoch_));
    std::filesystem::copy(directory_, next);
    directory_ = next;
    between(ResolvePath(next, "spool.sqlite"));
    Open();
  }

  void AddTicks(uint64_t first, uint64_t last) {
    for (uint64_t tick = first; tick <= last; ++tick) {
      spool_->AddTick(ContentOf(tick, tick, 0), TicksAt(tick, tick));
    }
  }
  void Append(uint64_t first, uint64_t last, size_t bytes = 0) {
    spool_->Append(ContentOf(first, last, bytes), TicksAt(first, last));
  }
  void AppendSaved(uint64_t first, uint64_t last, size_t bytes = 0) {
    Append(first, last, bytes);
    ASSERT_OK(spool_->AwaitSaved());
  }
  static std::vector<std::string> HeldBy(Spool& spool) {
    std::vector<std::string> texts;
    for (const auto& batch : testing::SpooledBatchesOf(spool)) {
      texts.push_back(TextOf(batch));
    }
    return texts;
  }
  std::vector<std::string> Held() { return HeldBy(*spool_); }
  // The epochs that Hello would name: "1 from 3 to 5".
  std::vector<std::string> Epochs() {
    std::vector<std::string> texts;
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      texts.push_back(absl::StrCat(held.epoch.id, " from ", held.first_sequence,
                                   " to ", held.epoch.last_sequence));
    }
    return texts;
  }
  uint32_t NumberOf(uint64_t epoch) const {
    return spool_->NumberOf(epoch).value();
  }
  BatchPlace PlaceOf(uint64_t epoch, uint64_t sequence) const {
    return {.epoch = NumberOf(epoch), .sequence = sequence};
  }

  testing::TempDirectory temp_;
  testing::SimulatedClock clock_;
  testing::Gate seal_gate_;  // where batches are compressed
  testing::Gate file_gate_;  // where the file is used
  std::string directory_ = temp_.File("state");
  uint64_t max_bytes_ = uint64_t{256} << 20;
  absl::Duration max_age_ = absl::Hours(24);
  uint64_t epoch_ = 0;
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolTest, HandsOutBatchesInOrderUntilTheyAreAcknowledged) {
  for (const bool in_memory : {true, false}) {
    if (in_memory) {
      spool_ = std::make_unique<Spool>(Spool::Options{.epoch = ++epoch_});
    } else {
      Open();
    }
    EXPECT_THAT(Held(), IsEmpty());
    EXPECT_EQ(spool_->open_sequence(), 1);
    for (uint64_t tick = 1; tick <= 5; ++tick) Append(tick, tick);
    EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2", "3: 3", "4: 4", "5: 5"));
    testing::Acknowledge(*spool_, 2);
    testing::Acknowledge(*spool_, 1);  // late
    EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4", "5: 5"));
    spool_->Reject(PlaceOf(epoch_, 4));
    EXPECT_THAT(Held(), ElementsAre("3: 3", "5: 5"));
    EXPECT_THAT(Epochs(), Contains(absl::StrCat(epoch_, " from 3 to 5")));
    testing::Acknowledge(*spool_, 5);
    EXPECT_THAT(Held(), IsEmpty());
    EXPECT_THAT(Epochs(), Contains(absl::StrCat(epoch_, " from 6 to 5")));
    EXPECT_EQ(spool_->rejected().batches, 1);
    EXPECT_EQ(spool_->rejected().ticks, 1);
    EXPECT_TRUE(spool_->AwaitAtMost(0, absl::ZeroDuration()));
  }
}

TEST_F(SpoolTest, InMemoryDropsTheOldestWhenItIsFull) {
  spool_ = std::make_unique<Spool>(
      Spool::Options{.epoch = 1, .max_bytes = 3500, .clock = &clock_});
  for (uint64_t tick = 1; tick <= 5; ++tick) Append(tick, tick, 1000);
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4", "5: 5, lost 1 SPOOL_FULL"));
  // The newest stays, whatever its size. What one that goes has told of is not
  // forgotten.
  Append(6, 6, 10'000);
  Append(7, 7);
  EXPECT_THAT(Held(), ElementsAre("7: 7, lost 4 SPOOL_FULL"));
  spool_->Append({}, {});
  EXPECT_THAT(Held(),
              ElementsAre("7: 7, lost 4 SPOOL_FULL", "8:, lost 2 SPOOL_FULL"));
}

TEST_F(SpoolTest, AKilledProcessLosesNothing) {
  Open();
  Append(1, 3);
  Append(4, 6);
  AddTicks(7, 8);
  spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(9, 10));
  Kill();
  EXPECT_THAT(Held(),
              ElementsAre("1: 1 2 3", "2: 4 5 6", "3: 7 8, lost 2 OVERRUN"));
  EXPECT_THAT(Epochs(), ElementsAre("1 from 1 to 3", "2 from 1 to 0"));
  Append(11, 12);
  AddTicks(13, 13);
  Kill();
  EXPECT_THAT(Held(),
              ElementsAre("1: 1 2 3", "2: 4 5 6", "3: 7 8, lost 2 OVERRUN",
                          "1: 11 12", "2: 13"));
  EXPECT_THAT(Epochs(),
              ElementsAre("1 from 1 to 3", "2 from 1 to 2", "3 from 1 to 0"));
}

TEST_F(SpoolTest, TicksOfABatchAreNotKeptBesideIt) {
  Open();
  AddTicks(1, 2);
  ASSERT_OK(spool_->AwaitSaved());
  AddTicks(3, 3);
  Append(1, 3);
  AddTicks(4, 4);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 1 2 3", "2: 4"));
}

TEST_F(SpoolTest, WhatIsAcknowledgedDoesNotComeBack) {
  Open();
  for (uint64_t tick = 1; tick <= 4; ++tick) AppendSaved(tick, tick);
  testing::Acknowledge(*spool_, 2);
  spool_->Reject(PlaceOf(1, 3));
  Kill();
  EXPECT_THAT(Held(), ElementsAre("4: 4"));
  EXPECT_THAT(Epochs(), ElementsAre("1 from 4 to 4", "2 from 1 to 0"));
  spool_->Acknowledge(PlaceOf(1, 4));
  EXPECT_THAT(Held(), IsEmpty());
  Append(5, 5);
  // The epoch of the process before stays, so that the aggregator knows that
  // that one is gone; the one before it does not.
  Kill();
  EXPECT_THAT(Epochs(), ElementsAre("2 from 1 to 1", "3 from 1 to 0"));
  Kill();
  Kill();
  EXPECT_THAT(Epochs(),
              ElementsAre("2 from 1 to 1", "4 from 1 to 0", "5 from 1 to 0"));
}

TEST_F(SpoolTest, KeepsTheDefinitionsThatHeldBatchesUse) {
  Open();
  Dictionary& dictionary = spool_->dictionary();
  const uint32_t machine = dictionary.DefineMachine("web-1");
  const uint32_t sda = dictionary.DefineInstance(machine, 1, "sda", 8, 0);
  const uint32_t sdb = dictionary.DefineInstance(machine, 1, "sdb", 9, 0);
  v1::BatchContent content;
  dictionary.TakePending(1, &content);
  AppendSaved(1, 1);
  dictionary.RetireInstance(sda);
  dictionary.TakePending(2, &content);
  AppendSaved(2, 2);
  const auto instances = [&](uint64_t epoch) {
    std::vector<uint32_t> ids;
    const auto parts = spool_->DefinitionsOf(NumberOf(epoch)).value();
    for (const auto& part : parts) {
      for (const auto& instance : part.instances())
        ids.push_back(instance.id());
    }
    return ids;
  };
  Kill();
  EXPECT_THAT(instances(1), ElementsAre(sda, sdb));
  EXPECT_THAT(instances(2), IsEmpty());
  EXPECT_EQ(spool_->DefinitionsOf(NumberOf(1)).value()[0].machines(0).name(),
            "web-1");
  spool_->Acknowledge(PlaceOf(1, 2));
  Append(3, 3);
  Kill();
  EXPECT_FALSE(spool_->NumberOf(1).has_value());
}

TEST_F(SpoolTest, ForgetsDefinitionsThatNoHeldBatchUses) {
  Open();
  Dictionary& dictionary = spool_->dictionary();
  const uint32_t sda = dictionary.DefineInstance(1, 1, "sda", 8, 0);
  v1::BatchContent content;
  dictionary.TakePending(1, &content);
  AppendSaved(1, 1);
  dictionary.RetireInstance(sda);
  dictionary.TakePending(2, &content);
  AppendSaved(2, 2);
  AppendSaved(3, 3);
  testing::Acknowledge(*spool_, 2);
  Kill();
  EXPECT_EQ(spool_->DefinitionsOf(NumberOf(1)).value()[0].instances_size(), 0);
}

// Each tick is in a batch that is held, or counted.
TEST_F(SpoolTest, DropsTheOldestOfTheFileWhenThatIsFullAndCountsThem) {
  constexpr uint64_t kBatches = 400;
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= kBatches; ++tick) {
    AppendSaved(tick, tick, 10'000);
    if (tick == 5) {
      spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(1, 7));
    }
  }
  spool_->Append({}, {});
  Kill();
  std::map<std::string, uint64_t> lost;
  const auto batches = testing::ContentsOf(*spool_);
  for (const auto& content : batches) {
    for (const auto& loss : content.losses()) {
      lost[v1::LossCause_Name(loss.cause())] += loss.ticks();
    }
  }
  EXPECT_GT(batches.size(), 80);
  EXPECT_LT(batches.size(), 125);
  EXPECT_EQ(batches.size() - 1 + lost["LOSS_CAUSE_SPOOL_FULL"], kBatches);
  EXPECT_EQ(lost["LOSS_CAUSE_OVERRUN"], 7);
  EXPECT_LT(std::filesystem::file_size(ResolvePath(directory_, "spool.sqlite")),
            (1 << 20) + 100'000);
}

TEST_F(SpoolTest, DropsWhatIsTooOldWhateverTheTimeOfDaySays) {
  max_age_ = absl::Hours(1);
  Open();
  AppendSaved(1, 1);
  clock_.Step(absl::Hours(100));
  AppendSaved(2, 2);
  clock_.Step(absl::Hours(-100));
  clock_.Advance(absl::Minutes(50));
  AppendSaved(3, 3);
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2", "3: 3"));
  clock_.Advance(absl::Minutes(11));
  AppendSaved(4, 4);
  Append(5, 5);
  EXPECT_THAT(Held(),
              ElementsAre("3: 3", "4: 4", "5: 5, lost 2 SPOOL_EXPIRED"));
  // But not while no agent runs.
  Kill([&](const std::string&) { clock_.Advance(absl::Hours(50)); });
  AppendSaved(0, 0);
  EXPECT_THAT(Held()[0], "3: 3");
  clock_.Advance(absl::Minutes(50));
  AppendSaved(6, 6);
  EXPECT_EQ(spool_->Resume(NumberOf(1), 2, 0).value(), true);
  Append(7, 7);
  EXPECT_THAT(Held(), ElementsAre("4: 4", "5: 5, lost 2 SPOOL_EXPIRED", "1: 0",
                                  "2: 6", "3: 7, lost 1 SPOOL_EXPIRED"));
}

// The aggregator has it, but its acknowledgement did not come in time.
TEST_F(SpoolTest, ADroppedBatchThatHadArrivedIsNotLost) {
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= 10; ++tick) AppendSaved(tick, tick, 100'000);
  spool_->Take(PlaceOf(1, 3)).value();
  for (uint64_t tick = 11; tick <= 16; ++tick) AppendSaved(tick, tick, 100'000);
  const std::string first = Held().front();
  const uint64_t kept = std::stoull(first);
  ASSERT_GT(kept, 5);
  // Batches that were not sent are lost for certain, and told of at once.
  const auto lost = [&] {
    uint64_t ticks = 0;
    for (const auto& content : testing::ContentsOf(*spool_)) {
      for (const auto& loss : content.losses()) ticks += loss.ticks();
    }
    return ticks;
  };
  spool_->Append({}, {});
  EXPECT_EQ(lost(), kept - 5);
  Kill();  // and what was dropped is remembered
  EXPECT_EQ(spool_->Resume(NumberOf(1), 3, 0).value(), true);
  spool_->Append({}, {});
  EXPECT_EQ(lost(), kept - 5 + 1);
}

// Each tick is held, acknowledged or told of, whenever its batch was dropped.
TEST_F(SpoolTest, CountsWhatItDropsWhileAStreamSendsTheRest) {
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= 10; ++tick) AppendSaved(tick, tick, 100'000);
  Kill();
  EXPECT_EQ(spool_->Resume(NumberOf(1), 0, 0).value(), true);
  EXPECT_EQ(spool_->Resume(kThisProcess, 0, 0).value(), true);
  // One is under way; then there is no room for it, nor for some others.
  const auto first = spool_->Take({}).value();
  ASSERT_EQ(first->place, PlaceOf(1, 1));
  for (uint64_t tick = 11; tick <= 14; ++tick) AppendSaved(tick, tick, 100'000);
  const auto next = spool_->Take(first->place).value();
  ASSERT_GT(next->place.sequence, 3);
  spool_->Acknowledge(next->place);
  spool_->Append({}, {});
  std::set<uint64_t> held = {1, next->place.sequence};
  uint64_t lost = 0;
  for (const auto& content : testing::ContentsOf(*spool_)) {
    held.insert(content.retired_instances().begin(),
                content.retired_instances().end());
    for (const auto& loss : content.losses()) lost += loss.ticks();
  }
  EXPECT_EQ(held.size() + lost, 14);
}

TEST_F(SpoolTest, SetsAFileAsideThatTurnsOutToBeDamaged) {
  const testing::LogCapture log;
  Open();
  for (uint64_t tick = 1; tick <= 30; ++tick) AppendSaved(tick, tick, 100'000);
  AddTicks(31, 31);
  ASSERT_OK(spool_->AwaitSaved());
  // Everything but the first page, in the file and in its log.
  for (const std::string ending : {"", "-wal"}) {
    const std::string path = ResolvePath(directory_, "spool.sqlite") + ending;
    const auto size =
        static_cast<std::streamoff>(std::filesystem::file_size(path));
    if (size <= 8192) continue;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(static_cast<size_t>(size - 4096), '\x5a');
  }
  // Found by who reads or by who writes; then all that memory has is kept.
  for (uint64_t tick = 32; tick <= 200; ++tick) {
    spool_->Next({}).status().IgnoreError();
    Append(tick, tick);
    spool_->AwaitSaved().IgnoreError();
    if (std::filesystem::exists(
            ResolvePath(directory_, "spool.sqlite.damaged"))) {
      break;
    }
  }
  ASSERT_OK(spool_->AwaitSaved());
  Append(201, 201);
  Kill();
  const auto held = Held();
  EXPECT_THAT(held, Contains(HasSubstr("201")));
  EXPECT_THAT(held, Contains(HasSubstr("SPOOL_DAMAGED")));
  EXPECT_THAT(held, Contains(HasSubstr("30: 30")));
}

TEST_F(SpoolTest, GivesTheDiskBackWhatItNeedsNoMore) {
  Open();
  for (uint64_t tick = 1; tick <= 80; ++tick) AppendSaved(tick, tick, 200'000);
  const std::string path = ResolvePath(directory_, "spool.sqlite");
  testing::Acknowledge(*spool_, 80);
  for (uint64_t tick = 81; tick <= 180; ++tick) AppendSaved(tick, tick);
  spool_.reset();
  EXPECT_LT(std::filesystem::file_size(path), 6'000'000);
  Open();
  EXPECT_EQ(Held().size(), 100);
}

TEST_F(SpoolTest, SetsADamagedFileAsideAndCountsWhatItHeld) {
  const testing::LogCapture log;
  Open();
  AppendSaved(1, 3, 100'000);
  AppendSaved(4, 5, 100'000);
  testing::Acknowledge(*spool_, 1);
  AddTicks(6, 6);
  spool_.reset();  // into one file
  Open();
  Kill([](const std::string& path) {
    std::filesystem::remove(path + "-wal");
    // The pages after the first ones, in which payloads are.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path)) -
               40'000);
    file << std::string(40'000, '\x5a');
  });
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("the spool is damaged")));
  EXPECT_TRUE(
      std::filesystem::exists(ResolvePath(directory_, "spool.sqlite.damaged")));
  AppendSaved(7, 7);
  ASSERT_EQ(Held().size(), 1);
  EXPECT_THAT(Held()[0], HasSubstr("SPOOL_DAMAGED"));
  // One that is no database at all.
  Kill([](const std::string& path) {
    std::filesystem::remove(path + "-wal");
    std::ofstream(path) << std::string(10'000, 'x');
  });
  Append(8, 8);
  EXPECT_THAT(Held(), ElementsAre("1: 8, lost 0 SPOOL_DAMAGED"));
}

TEST_F(SpoolTest, LeavesAFileOfALaterVersionAside) {
  Open();
  AppendSaved(1, 1);
  Kill([](const std::string& path) {
    auto database = SqliteDatabase::Open(path);
    ASSERT_OK(database.status());
    ASSERT_OK((*database)->Execute("PRAGMA user_version = 2"));
  });
  Append(2, 2);
  EXPECT_THAT(Held(), ElementsAre("1: 2, lost 1 SPOOL_DAMAGED"));
}

// Whoever had the disk may have written what SQLite takes and no agent wrote.
TEST_F(SpoolTest, SetsAFileAsideThatNoAgentWrote) {
  const testing::LogCapture log;
  for (const std::string sql :
       {"INSERT INTO epochs VALUES (1 << 23, 5, 0, 0, 1)",
        "UPDATE batches SET key = (9 << 40) + 1", "DROP TABLE ticks",
        "DELETE FROM process"}) {
    Open();
    AppendSaved(1, 1);
    Kill([&](const std::string& path) {
      auto database = SqliteDatabase::Open(path);
      ASSERT_OK(database.status());
      ASSERT_OK((*database)->Execute(sql));
    });
    EXPECT_TRUE(std::filesystem::exists(
        ResolvePath(directory_, "spool.sqlite.damaged")))
        << sql;
    AppendSaved(2, 2);
    EXPECT_EQ(Held().size(), 1) << sql;
    spool_.reset();
    directory_ = temp_.File(absl::StrCat("next-", epoch_));
  }
}

// A trigger could keep the first write busy for ever.
TEST_F(SpoolTest, RunsNoTriggersOfAFile) {
  Open();
  AppendSaved(1, 1);
  Kill([](const std::string& path) {
    auto database = SqliteDatabase::Open(path);
    ASSERT_OK(database.status());
    ASSERT_OK(
        (*database)->Execute("CREATE TRIGGER t AFTER INSERT ON batches BEGIN "
                             "DELETE FROM batches; END"));
  });
  AppendSaved(2, 2);
  EXPECT_THAT(Held(), ElementsAre("1: 1", "1: 2"));
}

TEST_F(SpoolTest, TakesAnyAcknowledgement) {
  Open();
  AppendSaved(1, 1);
  Kill();
  spool_->Acknowledge(PlaceOf(1, UINT64_MAX));
  AppendSaved(2, 2);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 2"));
}

TEST_F(SpoolTest, IsUsedByOneProcess) {
  Open();
  EXPECT_THAT(Spool::Open(Options()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is in use by another process")));
}

TEST_F(SpoolTest, NamesADirectoryThatCannotBeUsed) {
  std::ofstream(temp_.File("file")) << "no directory";
  directory_ = temp_.File("file");
  EXPECT_THAT(Spool::Open(Options()).status().message(), HasSubstr(directory_));
}

// A full disk shows itself in the same way.
TEST_F(SpoolTest, KeepsInMemoryWhatCannotBeWritten) {
  std::signal(SIGXFSZ, SIG_IGN);
  max_bytes_ = 4 << 20;
  Open();
  AppendSaved(1, 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full = {.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  // Collecting goes on, and what there is can be sent.
  Append(2, 2);
  AddTicks(3, 3);
  EXPECT_FALSE(spool_->AwaitSaved().ok());
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2"));
  // Memory is bounded.
  for (uint64_t tick = 3; tick <= 20; ++tick) Append(tick, tick, 100'000);
  const auto held = Held();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_LT(held.size(), 14);
  spool_->Append({}, {});
  ASSERT_OK(spool_->AwaitSaved());
  Kill();
  uint64_t ticks = 0;
  for (const auto& content : testing::ContentsOf(*spool_)) {
    ticks += static_cast<uint64_t>(content.retired_instances_size());
    for (const auto& loss : content.losses()) {
      EXPECT_EQ(loss.cause(), v1::LOSS_CAUSE_DISK_FULL);
      ticks += loss.ticks();
    }
  }
  EXPECT_EQ(ticks, 20);
}

TEST_F(SpoolTest, GoesOnUnderANewEpochIfSomebodyElseUsesItsOwn) {
  Open();
  for (uint64_t tick = 1; tick <= 3; ++tick) AppendSaved(tick, tick);
  const auto fingerprint_of = [&](uint64_t sequence) {
    const auto batch =
        spool_->Next({.epoch = kThisProcess, .sequence = sequence - 1}).value();
    return Fingerprint(batch->batch->payload());
  };
  const uint64_t second = fingerprint_of(2);
  EXPECT_EQ(spool_->Resume(kThisProcess, 2, second + 1).value(), false);
  EXPECT_EQ(spool_->Resume(kThisProcess, 4, 0).value(), false);
  EXPECT_EQ(spool_->Resume(kThisProcess, 2, second).value(), true);
  EXPECT_THAT(Held(), ElementsAre("3: 3"));
  // The last acknowledged one is known, too.
  EXPECT_EQ(spool_->Resume(kThisProcess, 2, second + 1).value(), false);
  // A store that was set back has fewer.
  EXPECT_EQ(spool_->Resume(kThisProcess, 1, 77).value(), true);

  EXPECT_EQ(spool_->Resume(kThisProcess, 3, 77).value(), false);
  spool_->Fork();
  const uint64_t forked = spool_->epoch();
  EXPECT_NE(forked, 1);
  EXPECT_EQ(spool_->HeldEpochs().back().epoch.forked_from, 1);
  Append(4, 4);
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4"));
  Kill();
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4"));
  EXPECT_EQ(spool_->HeldEpochs().front().epoch.id, forked);
  EXPECT_EQ(spool_->HeldEpochs().front().epoch.forked_from, 1);
  // What a former process made is not made any more: the aggregator may have
  // more of it than this file.
  EXPECT_EQ(spool_->Resume(NumberOf(forked), 9, 77).value(), true);
}

TEST_F(SpoolTest, TellsOfAPowerCut) {
  const std::string path = temp_.File("spool.sqlite");
  const auto open = [&](const std::string& boot_id) {
    auto file =
        SpoolFile::Open({.path = path, .clock = &clock_, .boot_id = boot_id});
    EXPECT_OK(file.status());
    return *std::move(file);
  };
  const auto told = [](const SpoolFile& file) {
    v1::BatchContent content;
    file.power_cut().AppendTo(&content);
    return content;
  };
  auto file = open("first");
  SpoolFile::Changes changes;
  changes.epoch.id = 5;
  changes.last_tick = At(7);
  changes.definitions.added = std::make_shared<v1::Definitions>();
  ASSERT_OK(file->Write(changes));
  const auto killed_and_opened = [&](const std::string& boot_id) {
    const std::string copy = temp_.File(absl::StrCat("copy-", boot_id));
    std::filesystem::copy(path, copy);
    std::filesystem::copy(path + "-wal", copy + "-wal");
    auto opened =
        SpoolFile::Open({.path = copy, .clock = &clock_, .boot_id = boot_id});
    EXPECT_OK(opened.status());
    return told(**opened);
  };
  EXPECT_EQ(killed_and_opened("first").losses_size(), 0);
  const v1::BatchContent cut = killed_and_opened("second");
  ASSERT_EQ(cut.losses_size(), 1);
  EXPECT_EQ(cut.losses(0).cause(), v1::LOSS_CAUSE_POWER_CUT);
  EXPECT_EQ(cut.losses(0).ticks(), 0);
  EXPECT_EQ(FromProto(cut.losses(0).start()), At(7));
  EXPECT_EQ(FromProto(cut.losses(0).end()), clock_.Now());
  file.reset();  // it ends in order
  EXPECT_EQ(told(*open("third")).losses_size(), 0);
}

TEST_F(SpoolTest, NeedsNoLockToCompressABatch) {
  Open();
  AppendSaved(1, 1);
  testing::ThreadAtGate sealer(&seal_gate_, [&] { Append(2, 3); });
  ASSERT_TRUE(sealer.has_stopped());
  EXPECT_TRUE(sealer.LetsRun([&] {
    AddTicks(4, 4);
    spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(5, 6));
    EXPECT_EQ(spool_->open_sequence(), 3);
    bool must_read = true;
    const auto taken = spool_->TakeFromMemory({}, &must_read);
    EXPECT_FALSE(must_read);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(TextOf(*taken), "1: 1");
    // Neither the batch nor its number is known yet.
    EXPECT_THAT(Held(), ElementsAre("1: 1"));
    EXPECT_THAT(Epochs(), ElementsAre("1 from 1 to 1"));
    EXPECT_TRUE(spool_->MayHoldAfter(taken->place));
    testing::Acknowledge(*spool_, 1);
    EXPECT_THAT(Held(), IsEmpty());
  }));
  sealer.Finish();
  EXPECT_THAT(Held(), ElementsAre("2: 2 3"));
  Append(4, 4);
  EXPECT_THAT(Held(), ElementsAre("2: 2 3", "3: 4, lost 2 OVERRUN"));
}

// Ticks of the next batch in the file without this one would come under this
// one's number: if the aggregator has that already, they are taken for known.
TEST_F(SpoolTest, TheFileDoesNotFollowWhileABatchIsCompressed) {
  Open();
  AppendSaved(1, 1);
  AddTicks(2, 3);
  spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(8, 9));
  ASSERT_OK(spool_->AwaitSaved());
  {
    testing::ThreadAtGate sealer(&seal_gate_, [&] { Append(2, 3); });
    ASSERT_TRUE(sealer.has_stopped());
    AddTicks(4, 4);
    spool_->AddLoss("web-1", LossCause::kSourceFailed, TicksAt(5, 6));
    EXPECT_THAT(HeldAfterAKillNow(),
                ElementsAre("1: 1", "2: 2 3, lost 2 OVERRUN"));
  }
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2 3, lost 2 OVERRUN",
                                  "3: 4, lost 2 SOURCE_FAILED"));
}

TEST_F(SpoolTest, BatchesComeInTheOrderInWhichTheyWereClosed) {
  Open();
  const SpooledBatch first = spool_->Close(TicksAt(1, 1));
  spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(8, 9));
  const SpooledBatch second = spool_->Close(TicksAt(2, 2));
  std::thread sealer([&] { spool_->Seal(second, ContentOf(2, 2, 0)); });
  EXPECT_THAT(Held(), IsEmpty());
  spool_->Seal(first, ContentOf(1, 1, 0));
  sealer.join();
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2, lost 2 OVERRUN"));
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2, lost 2 OVERRUN"));
}

// Each batch comes once and in its order, whoever makes it, and the next
// process has all of them.
TEST_F(SpoolTest, ManyThreadsAppend) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kBatches = 50;  // of each thread
  Open();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 1; i <= kBatches; ++i) {
        const uint64_t tick = thread * kBatches + i;
        Append(tick, tick, 100);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Kill();
  std::set<uint64_t> ticks;
  uint64_t sequence = 0;
  for (const SpooledBatch& batch : testing::SpooledBatchesOf(*spool_)) {
    EXPECT_EQ(batch.place.sequence, ++sequence);
    const v1::BatchContent content = testing::ContentOf(*batch.batch);
    for (const uint32_t tick : content.retired_instances()) {
      EXPECT_TRUE(ticks.insert(tick).second);
    }
  }
  EXPECT_EQ(sequence, kThreads * kBatches);
  EXPECT_EQ(ticks.size(), kThreads * kBatches);
}

TEST_F(SpoolTest, WhatMemoryHoldsDoesNotWaitForTheFile) {
  Open();
  AppendSaved(1, 1);
  Kill();  // a former process's batch is in the file alone
  AppendSaved(2, 2);
  testing::ThreadAtGate reader(
      &file_gate_, [&] { spool_->Take({}).status().IgnoreError(); });
  ASSERT_TRUE(reader.has_stopped());
  EXPECT_TRUE(reader.LetsRun([&] {
    AddTicks(3, 3);
    Append(3, 3);
    bool must_read = false;
    EXPECT_FALSE(spool_->TakeFromMemory({}, &must_read).has_value());
    EXPECT_TRUE(must_read);
    EXPECT_TRUE(spool_->MayHoldAfter({}));
    const BatchPlace former = PlaceOf(1, 1);
    const auto taken = spool_->TakeFromMemory(former, &must_read);
    EXPECT_FALSE(must_read);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(TextOf(*taken), "1: 2");
    spool_->Acknowledge(former);
    spool_->Acknowledge(taken->place);
    EXPECT_TRUE(spool_->MayHoldAfter(taken->place));
    testing::Acknowledge(*spool_, 2);
    EXPECT_FALSE(spool_->MayHoldAfter(former));
  }));
}

TEST(TickRange, CoversWhatItIsExtendedBy) {
  TickRange range;
  range.Extend({.ticks = 2, .start = At(10), .end = At(20)});
  range.Extend({});
  range.Extend({.ticks = 1, .start = At(5), .end = At(5)});
  range.Extend({.ticks = 3, .start = At(15), .end = At(30)});
  EXPECT_EQ(range.ticks, 6);
  EXPECT_EQ(range.start, At(5));
  EXPECT_EQ(range.end, At(30));
}

}  // namespace
}  // namespace fleetperf::agent
