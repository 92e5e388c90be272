// Disk damage to a store is detected and reported, and all other data stays
// readable.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/keys.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::Not;
using testing::OneDiskAgent;
using testing::StatusIs;
using testing::TestStore;

constexpr int kMachines = 20;
constexpr int kTicks = 600;

std::string NameOf(int machine) { return absl::StrCat("web-", machine); }

// Values that do not compress, so that each machine's chunk takes several
// pages.
void Fill(TestStore& store) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kMachines; ++i) {
    OneDiskAgent agent(&store, NameOf(i));
    for (int t = 0; t < kTicks; ++t) agent.Tick(t, random());
    ASSERT_OK(agent.Send());
  }
  ASSERT_OK(store.Compact());
  store.Reopen();  // moves the contents of RocksDB's log to files
  ASSERT_EQ(store.Read(NameOf(0)).size(), kTicks);
}

// Returns the largest file of keys and values.
std::string LargestFile(const std::string& directory) {
  std::string largest;
  uint64_t size = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() != ".sst" || file.file_size() <= size) continue;
    size = file.file_size();
    largest = file.path();
  }
  return largest;
}

void Damage(const std::string& path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x55));
}

StoreReport Verify(const std::string& directory) {
  const auto report = VerifyStore(directory, [](double) {});
  EXPECT_OK(report);
  return report.ok() ? *report : StoreReport{};
}

TEST(DamagedStore, IntactStoreReportsNoDamage) {
  TestStore store;
  Fill(store);
  OneDiskAgent agent(&store, "late");
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  EXPECT_THAT(VerifyStore(store.path(), [](double) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another process has it open")));
  store.Close();
  const StoreReport report = Verify(store.path());
  EXPECT_THAT(report.damage, IsEmpty());
  EXPECT_EQ(report.machines, kMachines);
  EXPECT_EQ(report.chunks, kMachines);
  EXPECT_EQ(report.values, kMachines * kTicks);
  EXPECT_EQ(report.batches, 1);
  EXPECT_GT(report.files, 0);
}

// RocksDB alone would begin a new store and delete the files.
TEST(DamagedStore, KeepsItsFilesWithoutCurrent) {
  TestStore store;
  Fill(store);
  store.Close();
  const std::string current = store.path() + "/CURRENT";
  const std::string moved = store.path() + "/moved";
  std::filesystem::rename(current, moved);
  EXPECT_THAT(OpenRocksDbStore(store.path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the file CURRENT is missing")));
  std::filesystem::rename(moved, current);
  store.Open();
  EXPECT_EQ(store.Read(NameOf(0)).size(), kTicks);
}

TEST(DamagedStore, ReadsAllButDamagedData) {
  TestStore store;
  Fill(store);
  store.Close();
  const std::string path = LargestFile(store.path());
  ASSERT_NE(path, "");
  Damage(path, std::filesystem::file_size(path) / 2);

  const StoreReport report = Verify(store.path());
  EXPECT_THAT(report.damage, Not(IsEmpty()));
  EXPECT_THAT(report.damage[0], HasSubstr(path));

  store.Open();
  int whole = 0;
  for (int i = 0; i < kMachines; ++i) {
    whole += store.Read(NameOf(i)).size() == kTicks;
  }
  // The data of one 16 KiB block is lost. Each machine has 5 blocks.
  EXPECT_LT(whole, kMachines);
  EXPECT_GE(whole, kMachines - 5);

  // New samples are still accepted and moved.
  OneDiskAgent agent(&store, "new");
  agent.Tick(1, 1);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store.Compact());
  EXPECT_EQ(store.Read("new").size(), 1);
}

// Returns the offset of the first occurrence of `bytes`.
uint64_t Find(const std::string& path, const std::string& bytes) {
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(all.find(bytes), all.npos);
  return all.find(bytes);
}

TEST(DamagedStore, ReadsDespiteDamagedChunkHeads) {
  TestStore store;
  Fill(store);
  store.Close();
  // The heads of all machines are adjacent, with that of the first machine
  // first.
  const std::string path = LargestFile(store.path());
  Damage(path, Find(path, absl::StrCat("H", BigEndian(uint32_t{1}),
                                       BigEndian(uint8_t{0}),
                                       BigEndian(HourOf(kStart)))));
  const StoreReport report = Verify(store.path());
  EXPECT_THAT(report.damage, Contains(HasSubstr(path)));
  EXPECT_LT(report.chunks, kMachines);

  store.Open();
  for (int i = 0; i < kMachines; ++i) {
    const testing::LogCapture log;
    if (store.Read(NameOf(i)).size() == kTicks) continue;
    EXPECT_THAT(store.Read(NameOf(i)), IsEmpty());
    EXPECT_THAT(log.Lines(),
                Contains(HasSubstr(absl::StrCat("samples of ", NameOf(i)))));
    EXPECT_THAT(report.damage, Contains(HasSubstr(NameOf(i))));
  }
}

// The index drives the merging and removal of chunks.
TEST(DamagedStore, OpensDespiteDamagedReceiptIndex) {
  TestStore store;
  Fill(store);
  store.Close();
  const std::string path = LargestFile(store.path());
  Damage(path, Find(path, ReceivedKey(Resolution::kFull, HourOf(kStart), "H")));
  {
    const testing::LogCapture log;
    store.Open();
    EXPECT_THAT(log.Lines(), Contains(HasSubstr("skipped")));
  }
  int whole = 0;
  for (int i = 0; i < kMachines; ++i) {
    whole += store.Read(NameOf(i)).size() == kTicks;
  }
  // The last machine has a page in the same block.
  EXPECT_GE(whole, kMachines - 1);
  OneDiskAgent agent(&store, NameOf(1), /*epoch=*/2);
  agent.Tick(7200, 1);
  ASSERT_OK(agent.Send());
  ASSERT_OK(store.Compact());
  EXPECT_EQ(store.Read(NameOf(1)).back(), "7200 C: 1");
}

TEST(VerifyStore, ReportsMissingStore) {
  const testing::TempDirectory directory;
  EXPECT_THAT(
      VerifyStore(directory.File("none"), [](double) {}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory.File("none"))));
  EXPECT_THAT(
      VerifyStore(directory.path(), [](double) {}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory.path())));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace fleetperf::aggregator
