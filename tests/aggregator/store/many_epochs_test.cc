// The cost of a hundred thousand ended epochs in memory and on disk.

#include "tests/support/many_epochs.h"

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/store/tables/database.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/small_allocation_meter.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::AllocatedBytes;
using testing::ManyEpochs;
using testing::SendRounds;
using testing::SmallBytesInUse;
using testing::TestStore;

// All agents restart in each round.
constexpr ManyEpochs kLoad = {.agents = 1000};
constexpr int kRounds = 100;
constexpr auto kEpochs = uint64_t{kLoad.agents} * kRounds;

struct Contents {
  uint64_t keys = 0;
  uint64_t bytes = 0;
};

// Counts the keys and bytes of a family. Closes and reopens the store.
Contents ContentsOf(TestStore& store, Family family,
                    const std::string& prefix = "") {
  store.Close();
  Contents contents;
  {
    const auto database = Database::Open(store.path());
    EXPECT_OK(database);
    EXPECT_OK((*database)->ForEach(
        family, prefix, [&](absl::string_view key, absl::string_view value) {
          ++contents.keys;
          contents.bytes += key.size() + value.size();
        }));
  }
  store.Open();
  return contents;
}

// Returns the bytes that this thread allocates to open the store, when the last
// process left no work behind.
size_t BytesToOpen(TestStore& store) {
  store.Reopen();
  store.Close();
  const size_t before = AllocatedBytes();
  store.Open();
  return AllocatedBytes() - before;
}

TEST(ManyEpochs, EndedEpochsTakeFewBytes) {
  TestStore store;
  // All machines are known, and chunks of each have been merged.
  constexpr int kBefore = 2;
  ASSERT_OK(SendRounds(&*store, kLoad, 0, kBefore));
  const size_t to_open_before = BytesToOpen(store);
  ASSERT_OK(SendRounds(&*store, kLoad, kBefore, 1));
  const size_t in_use_before = SmallBytesInUse();
  ASSERT_OK(SendRounds(&*store, kLoad, kBefore + 1, kRounds));
  const size_t in_use = SmallBytesInUse();
  RecordProperty("bytes_in_use", std::to_string(in_use - in_use_before));
  EXPECT_LT(in_use, in_use_before + 50 * kEpochs);

  const size_t to_open = BytesToOpen(store);
  RecordProperty("bytes_to_open", std::to_string(to_open - to_open_before));
  // RocksDB also reads its own files, which are larger; RocksDB 9 has taken 103
  // bytes an epoch. The definitions of an epoch would take some kilobytes.
  EXPECT_LT(to_open, to_open_before + 200 * kEpochs);

  EXPECT_EQ(ContentsOf(store, Family::kLog).keys, 0);
  EXPECT_EQ(ContentsOf(store, Family::kTimes).keys, 0);
  EXPECT_EQ(ContentsOf(store, Family::kDefault, "d").keys, 0);
  // A record has the agent's name, two keys and four numbers. Fingerprints have
  // a key and one number.
  const Contents records = ContentsOf(store, Family::kDefault, "a");
  EXPECT_EQ(records.keys, kEpochs + 1000 * (kBefore + 1));
  const Contents all = ContentsOf(store, Family::kDefault);
  RecordProperty("bytes_on_disk", std::to_string(all.bytes));
  EXPECT_LT(all.bytes, 100 * records.keys);

  // After `retention`, only the records of machines are left.
  ASSERT_OK(store->DropBefore(testing::kStart + absl::Hours(1000)));
  EXPECT_EQ(ContentsOf(store, Family::kDefault, "a").keys, 1);
  EXPECT_EQ(ContentsOf(store, Family::kDefault, "h").keys, 1);
  EXPECT_EQ(ContentsOf(store, Family::kDefault, "f").keys, 0);
  EXPECT_EQ(ContentsOf(store, Family::kChunks).keys, 0);
}

}  // namespace
}  // namespace fleetperf::aggregator
