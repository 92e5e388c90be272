// Recovery of spool files that are cut off, damaged, or not written by an
// agent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/deliver/spool/record_log.h"
#include "agent/deliver/spool/recovered_spool.h"
#include "fleetperf/v1/spool.pb.h"
#include "tests/agent/deliver/spool_fixture.h"
#include "tests/support/log_capture.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes writes beyond a size fail, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) {
    std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit = {.rlim_cur = size, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

class SpoolDamageTest : public SpoolTest {
 protected:
  // What a spool holds and reports.
  struct Account {
    std::vector<uint32_t> held;  // ticks, in order
    uint64_t damaged = 0;        // ticks reported as lost by damage
    uint64_t others = 0;         // ticks reported as lost by other causes
    bool is_told = false;        // damage is reported, perhaps without ticks

    uint64_t total() const { return held.size() + damaged + others; }
  };

  // Copies the files, as a kill now would leave them.
  std::string Snapshot(const std::string& name) {
    EXPECT_OK(spool_->AwaitSaved());
    const std::string copy = temp_.File(name);
    std::filesystem::copy(directory_, copy);
    return copy;
  }
  // Returns what the next process finds in `files`.
  Account AccountOf(const std::string& files) {
    auto opened = Spool::Open(
        {.epoch = ++epoch_, .directory = files, .boot_id = boot_id_});
    EXPECT_OK(opened.status());
    if (!opened.ok()) return {};
    (*opened)->Append({}, {});  // reports losses
    Account account;
    for (const v1::BatchContent& content : testing::ContentsOf(**opened)) {
      account.held.insert(account.held.end(),
                          content.retired_instances().begin(),
                          content.retired_instances().end());
      for (const v1::Loss& loss : content.losses()) {
        const bool by_damage = loss.cause() == v1::LOSS_CAUSE_SPOOL_DAMAGED;
        (by_damage ? account.damaged : account.others) += loss.ticks();
        account.is_told = account.is_told || by_damage;
      }
    }
    return account;
  }
  // Returns what the next process finds in a copy of `original` in which the
  // file `name` holds `bytes`, or is missing.
  Account AccountWith(const std::string& original, const std::string& name,
                      const std::optional<std::string>& bytes) {
    const std::string files = temp_.File("changed");
    std::filesystem::remove_all(files);
    std::filesystem::copy(original, files);
    const std::string path = ResolvePath(files, name);
    std::filesystem::remove(path);
    if (bytes.has_value()) {
      std::ofstream(path, std::ios::binary) << *bytes;
    }
    return AccountOf(files);
  }
};

// Files of every kind: the log of a former process with two batches, of which
// the first is acknowledged, and its definitions; the log of this process, with
// a batch and a reported loss; two open ticks; and the counts.
class EveryFileTest : public SpoolDamageTest {
 protected:
  void SetUp() override {
    Open();
    spool_->dictionary().DefineMachine("web-1");
    v1::BatchContent content;
    spool_->dictionary().TakePending(1, &content);
    AppendSaved(1, 3);
    spool_->AddLoss("", LossCause::kOverrun, TicksAt(4, 5));
    AppendSaved(6, 7);
    AddTicks(8, 8);
    Kill();
    spool_->Acknowledge(PlaceOf(1, 1));
    AppendSaved(9, 11);
    AddTicks(12, 12);
    ASSERT_OK(spool_->AwaitSaved());
    AddTicks(13, 13);
    original_ = Snapshot("original");
    spool_.reset();
    for (const auto& file : std::filesystem::directory_iterator(original_)) {
      if (file.file_size() > 0) names_.push_back(file.path().filename());
    }
    std::sort(names_.begin(), names_.end());
  }
  std::string ReadOriginal(const std::string& name) {
    return ReadFile(ResolvePath(original_, name)).value();
  }
  // Whether each tick is held once or reported as lost, and no other is.
  static bool IsExact(const Account& account) {
    std::vector<uint32_t> all = {6, 7, 8, 9, 10, 11, 12, 13};
    return account.total() == all.size() + 2 &&
           std::includes(all.begin(), all.end(), account.held.begin(),
                         account.held.end()) &&
           std::adjacent_find(account.held.begin(), account.held.end()) ==
               account.held.end();
  }
  void ExpectExact(const std::string& name,
                   const std::optional<std::string>& bytes,
                   const std::string& change) {
    const Account account = AccountWith(original_, name, bytes);
    EXPECT_TRUE(IsExact(account))
        << name << " " << change << ": held "
        << ::testing::PrintToString(account.held) << ", damaged "
        << account.damaged << ", others " << account.others;
  }

  const testing::LogCapture log_lines_;
  std::string original_;
  std::vector<std::string> names_;
};

TEST_F(EveryFileTest, IsReadWhole) {
  EXPECT_THAT(names_,
              ElementsAre("spool.000001.definitions", "spool.000001.log",
                          "spool.000002.log", "spool.held", "spool.ticks"));
  const Account account = AccountOf(original_);
  EXPECT_THAT(account.held, ElementsAre(6, 7, 8, 9, 10, 11, 12, 13));
  EXPECT_EQ(account.others, 2);
  EXPECT_FALSE(account.is_told);
}

TEST_F(EveryFileTest, CountsEachChangedByte) {
  for (const std::string& name : names_) {
    const std::string bytes = ReadOriginal(name);
    for (size_t offset = 0; offset < bytes.size(); ++offset) {
      std::string damaged = bytes;
      damaged[offset] = static_cast<char>(damaged[offset] ^ (1 << offset % 8));
      ExpectExact(name, damaged, absl::StrCat("changed at ", offset));
    }
  }
}

TEST_F(EveryFileTest, CountsEachCut) {
  for (const std::string& name : names_) {
    const std::string bytes = ReadOriginal(name);
    for (size_t size = 0; size < bytes.size(); ++size) {
      ExpectExact(name, bytes.substr(0, size), absl::StrCat("cut to ", size));
    }
    ExpectExact(name, std::nullopt, "removed");
    ExpectExact(name, std::string(bytes.size(), '\0'), "zeroed");
  }
}

// The counts are written last. A kill before that must not look like damage.
TEST_F(SpoolDamageTest, OlderCountsReportNoLoss) {
  Open();
  int snapshots = 0;
  std::vector<std::string> saves;
  const auto save = [&] {
    saves.push_back(Snapshot(absl::StrCat("save-", ++snapshots)));
  };
  save();
  AddTicks(1, 1);
  save();
  AddTicks(2, 2);
  save();
  Append(1, 2);
  save();
  Append(3, 4);
  save();
  testing::Acknowledge(*spool_, 1);
  AddTicks(5, 5);
  save();
  spool_->Reject(PlaceOf(epoch_, 2));
  spool_->AddLoss("", LossCause::kOverrun, TicksAt(1, 1));
  save();
  spool_.reset();
  for (size_t i = 1; i < saves.size(); ++i) {
    const auto with_counts_of = [&](const std::string& older) {
      return AccountWith(saves[i], "spool.held",
                         ReadFile(ResolvePath(older, "spool.held")).value());
    };
    const Account now = with_counts_of(saves[i]);
    const Account account = with_counts_of(saves[i - 1]);
    EXPECT_EQ(account.held, now.held) << i;
    EXPECT_EQ(account.others, now.others) << i;
    EXPECT_FALSE(account.is_told) << i;
  }
}

// The agent continues to write where its log ended.
TEST_F(SpoolDamageTest, CountsLogEmptiedWhileRunning) {
  const testing::LogCapture log_lines;
  Open();
  AppendSaved(1, 3);
  AddTicks(4, 4);
  ASSERT_OK(spool_->AwaitSaved());
  std::filesystem::resize_file(Files(".log").back(), 0);
  AppendSaved(4, 5);
  AddTicks(6, 6);
  const Account account = AccountOf(Snapshot("emptied"));
  EXPECT_EQ(account.total(), 6);
  EXPECT_GE(account.damaged, 3);
}

// Unsynced ticks that a power cut costs are no damage.
TEST_F(SpoolDamageTest, PowerCutExplainsMissingTicks) {
  Open();
  AppendSaved(1, 2);
  AddTicks(3, 4);
  const std::string files = Snapshot("cut");
  boot_id_ = "second";
  const Account account = AccountWith(files, "spool.ticks", "");
  EXPECT_THAT(account.held, ElementsAre(1, 2));
  EXPECT_EQ(account.others, 2);
  EXPECT_FALSE(account.is_told);
}

// While the disk is full, segments that only acknowledged batches need are
// released. A kill must not report their batches as lost.
TEST_F(SpoolDamageTest, ReleasedSegmentsAreNoDamage) {
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= 20; ++tick) AppendSaved(tick, tick, 10'000);
  const std::string first = Files(".log").front();
  spool_->Acknowledge(PlaceOf(epoch_, 19));
  const std::string files = temp_.File("killed");
  {
    const FileSizeLimit full(4096);
    Append(21, 21, 10'000);
    EXPECT_FALSE(spool_->AwaitSaved().ok());
    EXPECT_LT(std::filesystem::file_size(first), 100);
  }
  std::filesystem::copy(directory_, files);
  const Account account = AccountOf(files);
  EXPECT_THAT(account.held, Contains(20));
  EXPECT_FALSE(account.is_told);
}

// Records after a damaged one are recovered.
TEST_F(SpoolDamageTest, DamagedRecordLosesOnlyItsBatch) {
  const testing::LogCapture log_lines;
  Open();
  for (uint64_t tick = 1; tick <= 5; ++tick) AppendSaved(tick, tick, 1000);
  Kill([&] {
    // The third batch's payload. Two intact batches follow.
    const std::string path = Files(".log").back();
    std::string bytes = ReadFile(path).value();
    bytes[bytes.size() - 2500] ^= 1;
    ASSERT_OK(WriteFile(path, bytes));
  });
  Append(6, 6);
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2", "4: 4", "5: 5",
                                  "1: 6, lost 1 SPOOL_DAMAGED"));
}

// A payload that is damaged while the agent runs loses only its batch.
TEST_F(SpoolDamageTest, CountsPayloadDamagedWhileRunning) {
  const testing::LogCapture log;
  Open();
  for (uint64_t tick = 1; tick <= 30; ++tick) AppendSaved(tick, tick, 100'000);
  // The middle of the first batch, whose payload is no longer in memory.
  {
    std::fstream file(Files(".log").front(),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50'000);
    file << std::string(100, '\x5a');
  }
  EXPECT_EQ(Held().front(), "2: 2");
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("is damaged")));
  EXPECT_EQ(Files(".damaged").size(), 1);
  Append(31, 31);
  EXPECT_EQ(Held().back(), "31: 31, lost 1 SPOOL_DAMAGED");
  Kill();
  EXPECT_EQ(Held().size(), 30);
  EXPECT_EQ(Held().back(), "31: 31, lost 1 SPOOL_DAMAGED");
}

TEST_F(SpoolDamageTest, CopiesDamagedFileAsideAndCountsLosses) {
  const testing::LogCapture log;
  Open();
  AppendSaved(1, 3, 100'000);
  AppendSaved(4, 5, 100'000);
  testing::Acknowledge(*spool_, 1);
  AddTicks(6, 6);
  Kill([&] {
    // In the second payload.
    const std::string path = Files(".log").back();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path)) -
               40'000);
    file << std::string(10'000, '\x5a');
  });
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("the spool is damaged")));
  EXPECT_EQ(Files(".damaged").size(), 1);
  AppendSaved(7, 7);
  EXPECT_THAT(Held(), ElementsAre("3: 6", "1: 7, lost 2 SPOOL_DAMAGED"));
  // A file that is not a log.
  Kill([&] {
    for (const std::string& path : Files(".log")) {
      std::ofstream(path) << std::string(10'000, 'x');
    }
  });
  Append(8, 8);
  EXPECT_THAT(Held(), ElementsAre("1: 8, lost 4 SPOOL_DAMAGED"));
}

TEST_F(SpoolDamageTest, SetsFilesOfLaterVersionAside) {
  Open();
  AppendSaved(1, 1);
  Kill([&] {
    v1::SpoolRecord record;
    record.set_version(kSpoolVersion + 1);
    record.set_process(1);
    v1::SpoolEpoch* epoch = record.add_epochs();
    epoch->set_number(1);
    epoch->set_last_sequence(1);
    v1::SpoolBatch* batch = record.add_batches();
    batch->mutable_place()->set_epoch(1);
    batch->mutable_place()->set_sequence(1);
    batch->mutable_ticks()->set_ticks(5);
    record.set_complete(true);
    std::string bytes;
    AppendRecord(1, record, /*payload_size=*/0, &bytes);
    ASSERT_OK(WriteFile(ResolvePath(directory_, "spool.000009.log"), bytes));
  });
  AppendSaved(2, 2);
  EXPECT_THAT(Held(), ElementsAre("1: 2, lost 5 SPOOL_DAMAGED"));
  EXPECT_THAT(Files(".damaged"), Contains(HasSubstr("spool.000009.log")));
}

// Records with correct checksums and impossible contents.
TEST_F(SpoolDamageTest, CountsContentsThatNoAgentWrites) {
  const testing::LogCapture log;
  const auto add_epoch = [](uint32_t number, v1::SpoolRecord* record) {
    v1::SpoolEpoch* epoch = record->add_epochs();
    epoch->set_number(number);
    epoch->set_last_sequence(1);
  };
  const auto add_batch = [](uint32_t epoch, uint64_t sequence,
                            v1::SpoolRecord* record) {
    v1::SpoolBatch* batch = record->add_batches();
    batch->mutable_place()->set_epoch(epoch);
    batch->mutable_place()->set_sequence(sequence);
    batch->mutable_ticks()->set_ticks(1);
  };
  std::vector<v1::SpoolRecord> records(5);
  add_epoch(UINT32_MAX, &records[0]);  // the number of the next process
  add_epoch(0, &records[1]);
  add_batch(9, 1, &records[2]);  // of an unknown epoch
  add_epoch(1, &records[3]);
  add_batch(1, 2, &records[3]);  // after the epoch's last batch
  add_epoch(1, &records[4]);
  add_batch(1, 1, &records[4]);  // without its payload
  for (v1::SpoolRecord& record : records) {
    record.set_version(kSpoolVersion);
    record.set_process(1);
    record.set_complete(true);
    std::string bytes;
    AppendRecord(1, record, /*payload_size=*/0, &bytes);
    directory_ = temp_.File(absl::StrCat("wrong-", epoch_));
    ASSERT_OK(MakeDirectories(directory_));
    ASSERT_OK(WriteFile(ResolvePath(directory_, "spool.000001.log"), bytes));
    Open();
    AppendSaved(2, 2);
    EXPECT_THAT(Held(),
                ElementsAre(absl::StrCat("1: 2, lost ", record.batches_size(),
                                         " SPOOL_DAMAGED")))
        << record.ShortDebugString();
  }
}

}  // namespace
}  // namespace fleetperf::agent
