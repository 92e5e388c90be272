// Each byte of a file of chunks is changed in turn: no sample is lost silently.
// An index is rebuilt from the data, and samples that cannot be read are a loss
// in answers.
//
// A seeded sample of the bytes is tried; with the environment variable
// FLEETPERF_EVERY_BYTE, every byte behind the data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/keys.h"
#include "base/os/files.h"
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
using testing::OneDiskAgent;
using testing::TempDirectory;
using testing::TestStore;

constexpr int kIndexedMachines = 25;
constexpr int kIndexedHours = 5;
constexpr int kIndexedTicks = 2000;

std::string IndexedName(int machine) { return absl::StrCat("web-", machine); }

// The number of ticks by machine and hour.
using TicksByHour = std::map<std::pair<int, uint32_t>, size_t>;

struct StoreAnswer {
  TicksByHour ticks;
  std::map<int, std::vector<Loss>> losses;  // by machine
};

StoreAnswer AskStore(Store& store) {
  StoreAnswer answer;
  for (int machine = 0; machine < kIndexedMachines; ++machine) {
    EXPECT_OK(store.Read(
        {.machine = IndexedName(machine),
         .from = testing::kStart,
         .to = testing::kStart + absl::Hours(kIndexedHours),
         .filter = {}},
        [&](const Frame& frame) {
          for (const perflib::Clocks& clocks : *frame.clocks) {
            ++answer.ticks[{machine, HourOf(clocks)}];
          }
          return absl::OkStatus();
        },
        [&](const Loss& loss) { answer.losses[machine].push_back(loss); }));
  }
  return answer;
}

// A closed store that has all samples in one file of chunks.
class DamagedIndex : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    store_ = new TestStore;
    std::mt19937_64 random(46);
    for (int machine = 0; machine < kIndexedMachines; ++machine) {
      OneDiskAgent agent(store_, IndexedName(machine));
      for (int hour = 0; hour < kIndexedHours; ++hour) {
        for (int tick = 0; tick < kIndexedTicks; ++tick) {
          agent.Tick(hour * 3600 + tick, random());
        }
        ASSERT_OK(agent.Send(testing::kStart + absl::Hours(hour)));
      }
    }
    ASSERT_OK(store_->Compact());
    store_->Reopen();
    all_ = AskStore(**store_).ticks;
    store_->Close();
    uint64_t size = 0;
    for (const auto& file : fs::directory_iterator(store_->path())) {
      if (file.path().extension() != ".sst" || file.file_size() < size) {
        continue;
      }
      size = file.file_size();
      name_ = file.path().filename();
    }
    bytes_ = ReadFile(absl::StrCat(store_->path(), "/", name_)).value();
    rocksdb::SstFileReader reader{rocksdb::Options()};
    ASSERT_TRUE(reader.Open(absl::StrCat(store_->path(), "/", name_)).ok());
    const auto properties = reader.GetTableProperties();
    data_size_ = properties->data_size;
    constexpr size_t kTrailer = 5;
    index_ = data_size_ + properties->filter_size + kTrailer;
    index_size_ = properties->index_size;
  }
  static void TearDownTestSuite() { delete store_; }

  // Copies the store, with a file of chunks of these bytes.
  void CopyWith(const std::string& bytes) {
    fs::remove_all(copy_);
    fs::copy(store_->path(), copy_);
    ASSERT_OK(WriteFile(absl::StrCat(copy_, "/", name_), bytes));
  }

  static std::string Flipped(size_t offset) {
    std::string changed = bytes_;
    changed[offset] = static_cast<char>(changed[offset] ^ (1 << offset % 8));
    return changed;
  }

  // Returns some or all offsets between two.
  static std::vector<size_t> Offsets(size_t begin, size_t end, size_t count) {
    std::vector<size_t> offsets(end - begin);
    std::iota(offsets.begin(), offsets.end(), begin);
    if (std::getenv("FLEETPERF_EVERY_BYTE") == nullptr) {
      std::shuffle(offsets.begin(), offsets.end(), std::mt19937(46));
      offsets.resize(std::min(offsets.size(), count));
    }
    return offsets;
  }

  RepairReport Repair() const {
    const auto report = RepairStore(copy_, &Clock::Real(), [](uint64_t) {});
    EXPECT_OK(report);
    return report.ok() ? *report : RepairReport{};
  }

  // Opens the copy, after a repair if that is necessary. Each hour that has
  // fewer samples than before must be in a loss. Returns whether any has.
  bool LosesNothingSilently() {
    auto store = OpenRocksDbStore(copy_);
    if (absl::IsDataLoss(store.status())) {
      Repair();
      store = OpenRocksDbStore(copy_);
    }
    EXPECT_OK(store);
    if (!store.ok()) return false;
    StoreAnswer answer = AskStore(**store);
    bool loses = false;
    for (const auto& [place, ticks] : all_) {
      EXPECT_LE(answer.ticks[place], ticks);
      if (answer.ticks[place] == ticks) continue;
      loses = true;
      const absl::Time start = StartOfHour(place.second);
      const std::vector<Loss>& losses = answer.losses[place.first];
      EXPECT_TRUE(std::any_of(losses.begin(), losses.end(),
                              [&](const Loss& l) {
                                return l.cause == LossCause::kStoreDamaged &&
                                       l.start <= start &&
                                       l.end >= start + absl::Minutes(59);
                              }))
          << IndexedName(place.first) << " silently lost "
          << ticks - answer.ticks[place] << " samples of " << start;
    }
    return loses;
  }

  static TestStore* store_;
  static TicksByHour all_;
  static std::string name_;   // of the file of chunks
  static std::string bytes_;  // of the file
  static size_t data_size_, index_, index_size_;

  const testing::LogCapture log_;
  TempDirectory directory_{testing::MemoryDirectory()};
  const std::string copy_ = directory_.File("copy");
};

TestStore* DamagedIndex::store_ = nullptr;
TicksByHour DamagedIndex::all_;
std::string DamagedIndex::name_, DamagedIndex::bytes_;
size_t DamagedIndex::data_size_, DamagedIndex::index_,
    DamagedIndex::index_size_;

TEST_F(DamagedIndex, IsRebuiltAtTheStart) {
  ASSERT_EQ(all_.size(), kIndexedMachines * kIndexedHours);
  ASSERT_GT(index_size_, 2000);
  std::vector<size_t> offsets = Offsets(index_, index_ + index_size_, 40);
  for (size_t i = 1; i <= 5; ++i) {  // the kind and the checksum
    offsets.push_back(index_ + index_size_ - i);
  }
  for (const size_t offset : offsets) {
    SCOPED_TRACE(absl::StrCat("changed at ", offset));
    const testing::LogCapture log;
    const std::string changed = Flipped(offset);
    CopyWith(changed);
    const auto store = OpenRocksDbStore(copy_);
    ASSERT_OK(store);
    EXPECT_THAT(log.Lines(), Contains(HasSubstr("rebuilt it from the file")));
    const StoreAnswer answer = AskStore(**store);
    EXPECT_EQ(answer.ticks, all_);
    EXPECT_THAT(answer.losses, IsEmpty());
    const std::string path = absl::StrCat(copy_, "/", name_);
    EXPECT_TRUE(ReadFile(path).value() == bytes_);
    EXPECT_TRUE(ReadFile(absl::StrCat(copy_, "/damaged/", name_)).value() ==
                changed);
  }
}

// Names and definitions, without which nothing can be read, are compressed.
TEST_F(DamagedIndex, OfNamesIsRebuilt) {
  int files = 0;
  for (const auto& file : fs::directory_iterator(store_->path())) {
    if (file.path().extension() != ".sst") continue;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    ASSERT_TRUE(reader.Open(file.path()).ok());
    const auto properties = reader.GetTableProperties();
    if (properties->column_family_name != "default") continue;
    ++files;
    const std::string whole = ReadFile(file.path()).value();
    const std::string path =
        absl::StrCat(copy_, "/", file.path().filename().string());
    constexpr size_t kTrailer = 5;
    const size_t index =
        properties->data_size + properties->filter_size + kTrailer;
    for (const size_t offset :
         Offsets(index, index + properties->index_size, 10)) {
      SCOPED_TRACE(absl::StrCat(path, " changed at ", offset));
      CopyWith(bytes_);
      std::string changed = whole;
      changed[offset] = static_cast<char>(changed[offset] ^ 1);
      ASSERT_OK(WriteFile(path, changed));
      const auto store = OpenRocksDbStore(copy_);
      ASSERT_OK(store);
      EXPECT_EQ(AskStore(**store).ticks, all_);
    }
  }
  EXPECT_GT(files, 0);
}

// A disk loses sectors rather than bits.
TEST_F(DamagedIndex, IsRebuiltByARepair) {
  std::string changed = bytes_;
  changed.replace(index_ + 100, 512, std::string(512, '\0'));
  CopyWith(changed);
  const RepairReport report = Repair();
  EXPECT_THAT(report.done, ElementsAre(HasSubstr("rebuilt it from the file")));
  EXPECT_THAT(report.lost, IsEmpty());
  EXPECT_TRUE(ReadFile(absl::StrCat(report.aside, "/", name_)).value() ==
              changed);
  EXPECT_FALSE(LosesNothingSilently());
  const auto verified = VerifyStore(copy_, [](double) {});
  ASSERT_OK(verified);
  EXPECT_THAT(verified->damage, IsEmpty());
}

TEST_F(DamagedIndex, OtherDamageBehindTheDataIsALoss) {
  int lost = 0;
  for (const size_t offset : Offsets(index_ + index_size_, bytes_.size(), 20)) {
    SCOPED_TRACE(absl::StrCat("changed at ", offset));
    CopyWith(Flipped(offset));
    lost += LosesNothingSilently() ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
  // Of the data only the beginning is left.
  CopyWith(bytes_.substr(0, data_size_ / 2));
  EXPECT_TRUE(LosesNothingSilently());
}

TEST_F(DamagedIndex, DamagedDataIsALoss) {
  std::vector<size_t> offsets(30);
  std::mt19937_64 random(46);
  for (size_t& offset : offsets) offset = random() % data_size_;
  // The heads of chunks come first, and may be in one block.
  for (const size_t offset : {size_t{10}, size_t{5000}}) {
    offsets.push_back(offset);
  }
  int lost = 0;
  for (const size_t offset : offsets) {
    SCOPED_TRACE(absl::StrCat("changed at ", offset));
    CopyWith(Flipped(offset));
    lost += LosesNothingSilently() ? 1 : 0;
  }
  EXPECT_GT(lost, 10);
}

}  // namespace
}  // namespace fleetperf::aggregator
