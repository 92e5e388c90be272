// Recovery of spool files that are cut off, damaged, or not written by an
// agent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

class SpoolDamageTest : public SpoolTest {
 protected:
  // Writes a batch of three ticks, one of two, and an open tick.
  void MakeFiles() {
    Open();
    AppendSaved(1, 3);
    AppendSaved(4, 5);
    AddTicks(6, 6);
    ASSERT_OK(spool_->AwaitSaved());
    std::filesystem::copy(directory_, original_);
    spool_.reset();
  }
  // Opens a copy of the files with one file changed.
  void OpenWith(const std::string& name, const std::string& bytes) {
    spool_.reset();
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(original_, directory_);
    ASSERT_OK(WriteFile(ResolvePath(directory_, name), bytes));
    Open();
  }
  std::string ReadOriginal(const std::string& name) {
    return ReadFile(ResolvePath(original_, name)).value();
  }
  // The ticks lost by damage that the next batch reports; -1: none reported.
  int64_t ToldDamage() {
    spool_->Append({}, {});
    const std::vector<v1::BatchContent> contents = testing::ContentsOf(*spool_);
    for (const v1::Loss& loss : contents.back().losses()) {
      if (loss.cause() == v1::LOSS_CAUSE_SPOOL_DAMAGED) {
        return static_cast<int64_t>(loss.ticks());
      }
    }
    return -1;
  }

  const std::string original_ = temp_.File("original");
  const std::string log_ = "spool.000001.log";
};

// A crash leaves the last record whole or cut off. That is not damage, and all
// earlier records are recovered.
TEST_F(SpoolDamageTest, RecoversLogCutOffAnywhere) {
  MakeFiles();
  const std::string log = ReadOriginal(log_);
  size_t most = 0;
  for (size_t size = 0; size <= log.size(); ++size) {
    OpenWith(log_, log.substr(0, size));
    const std::vector<std::string> all = {"1: 1 2 3", "2: 4 5", "3: 6"};
    std::vector<std::string> held = Held();
    // An open tick is recovered only if its epoch is known.
    if (!held.empty() && held.back() == "3: 6") held.pop_back();
    ASSERT_LE(held.size(), 2) << size;
    for (size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i], all[i]) << size;
    EXPECT_GE(held.size(), most) << size;
    most = held.size();
    // Without the segment's beginning, the open tick has no epoch.
    EXPECT_LE(ToldDamage(), 1) << size;
  }
  EXPECT_EQ(most, 2);
}

// With any byte changed, each batch is unchanged or counted as lost.
TEST_F(SpoolDamageTest, DetectsEachChangedByteOfLog) {
  const testing::LogCapture log_lines;
  MakeFiles();
  const std::string log = ReadOriginal(log_);
  for (size_t offset = 0; offset < log.size(); ++offset) {
    std::string damaged = log;
    damaged[offset] = static_cast<char>(damaged[offset] ^ (1 << offset % 8));
    OpenWith(log_, damaged);
    for (const std::string& text : Held()) {
      EXPECT_THAT((std::vector<std::string>{"1: 1 2 3", "2: 4 5", "3: 6"}),
                  Contains(text))
          << offset;
    }
    EXPECT_GE(ToldDamage(), 0) << offset;
  }
}

// A damaged newest tick may count as cut off.
TEST_F(SpoolDamageTest, DetectsEachChangedByteOfTicks) {
  const testing::LogCapture log_lines;
  MakeFiles();
  const std::string ticks = ReadOriginal("spool.ticks");
  for (size_t offset = 0; offset < ticks.size(); ++offset) {
    std::string damaged = ticks;
    damaged[offset] = static_cast<char>(damaged[offset] ^ (1 << offset % 8));
    OpenWith("spool.ticks", damaged);
    const std::vector<std::string> held = Held();
    ASSERT_GE(held.size(), 2) << offset;
    EXPECT_EQ(held[0], "1: 1 2 3") << offset;
    EXPECT_EQ(held[1], "2: 4 5") << offset;
    if (held.size() > 2) {
      EXPECT_EQ(held[2], "3: 6") << offset;
    }
  }
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
  EXPECT_THAT(Held(), ElementsAre("1: 8, lost 0 SPOOL_DAMAGED"));
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
