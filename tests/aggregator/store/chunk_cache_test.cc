// Reads that take the heads of chunks from memory return what the database has.

#include "aggregator/store/chunk_cache.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "aggregator/store/sample_reader.h"
#include "aggregator/store/tables/machine_versions.h"
#include "tests/support/countersets.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using testing::StatusIs;
using testing::TestStore;

// The head of a chunk without samples, with a tick a second.
std::string HeadWithTicks(uint32_t ticks) {
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
  for (uint32_t i = 0; i < ticks; ++i) clocks->push_back(testing::ClocksAt(i));
  auto frame = std::make_shared<Frame>();
  frame->query = std::make_shared<CollectedQuery>();
  frame->clocks = std::move(clocks);
  ChunkBuilder builder;
  builder.Add({frame}, 0, ticks);
  return builder.Finish([](const CollectedQuery&) { return 1; }).head;
}

ChunkBudgets BudgetsOf(size_t bytes) {
  return {.clocks = ByteBudget(bytes),
          .folds = ByteBudget(bytes),
          .parts = ByteBudget(bytes)};
}

std::shared_ptr<const MachineChunks> Chunks(std::vector<std::string> heads) {
  static ChunkBudgets nothing = BudgetsOf(0);
  auto chunks = std::make_shared<MachineChunks>();
  chunks->first_hour = 10;
  chunks->last_hour = 20;
  chunks->version = 1;
  for (std::string& head : heads) {
    chunks->chunks.push_back(
        std::make_shared<const HeldChunk>(StoredChunk{.head = head}, &nothing));
  }
  return chunks;
}

TEST(ChunkCache, FindsHoursOfTheSameVersion) {
  ChunkCache cache(1 << 20);
  const auto chunks = Chunks({HeadWithTicks(100)});
  cache.Put(7, chunks);
  EXPECT_EQ(cache.Find(7, 10, 20, 1), chunks);
  EXPECT_EQ(cache.Find(7, 12, 13, 1), chunks);
  EXPECT_EQ(cache.Find(7, 9, 20, 1), nullptr);
  EXPECT_EQ(cache.Find(7, 10, 21, 1), nullptr);
  EXPECT_EQ(cache.Find(8, 10, 20, 1), nullptr);
  EXPECT_EQ(cache.Find(7, 10, 20, 2), nullptr);
  EXPECT_EQ(cache.Find(7, 10, 20, 1), nullptr) << "that version has ended";
}

TEST(ChunkCache, ForgetsMachinesThatWereNotAskedForLongest) {
  const std::string head = HeadWithTicks(1000);
  ChunkCache cache(10 * Chunks({head})->SizeUpTo(SIZE_MAX));
  for (uint32_t machine = 0; machine < 9; ++machine) {
    cache.Put(machine, Chunks({head}));
    EXPECT_NE(cache.Find(0, 10, 20, 1), nullptr);
  }
  cache.Put(9, Chunks({head}));
  EXPECT_EQ(cache.Find(9, 10, 20, 1), nullptr) << "the first time";
  cache.Put(9, Chunks({head}));
  EXPECT_NE(cache.Find(9, 10, 20, 1), nullptr);
  EXPECT_NE(cache.Find(0, 10, 20, 1), nullptr);
  EXPECT_EQ(cache.Find(1, 10, 20, 1), nullptr);
  cache.Put(10, Chunks({head, head}));
  cache.Put(10, Chunks({head, head}));
  EXPECT_EQ(cache.Find(10, 10, 20, 1), nullptr) << "more than an eighth";
}

// Asks for these machines `rounds` times. Returns how many were found in each.
std::vector<int> AskInRounds(const std::vector<uint32_t>& machines, int rounds,
                             ChunkCache* cache) {
  const std::string head = HeadWithTicks(1000);
  std::vector<int> found(rounds);
  for (int& in_round : found) {
    for (const uint32_t machine : machines) {
      if (cache->Find(machine, 10, 20, 1) != nullptr) {
        ++in_round;
      } else {
        cache->Put(machine, Chunks({head}));
      }
    }
  }
  return found;
}

std::vector<uint32_t> MachinesFrom(uint32_t first, size_t count) {
  std::vector<uint32_t> machines(count);
  std::iota(machines.begin(), machines.end(), first);
  return machines;
}

TEST(ChunkCache, FindsAPartOfMoreMachinesThanFit) {
  const size_t size = Chunks({HeadWithTicks(1000)})->SizeUpTo(SIZE_MAX);
  for (const size_t fleet : {600, 900, 4000}) {
    ChunkCache cache(500 * size);
    std::vector<int> found = AskInRounds(MachinesFrom(0, fleet), 10, &cache);
    EXPECT_EQ(found[0], 0);
    found.erase(found.begin());
    EXPECT_THAT(found, Each(Gt(400))) << fleet;
  }
}

TEST(ChunkCache, ReplacesMachinesThatAreNotAskedForAnyMore) {
  const size_t size = Chunks({HeadWithTicks(1000)})->SizeUpTo(SIZE_MAX);
  ChunkCache cache(500 * size);
  AskInRounds(MachinesFrom(0, 4000), 3, &cache);
  // The third time finds all machines of a smaller question.
  EXPECT_THAT(AskInRounds(MachinesFrom(10'000, 300), 3, &cache),
              ElementsAre(0, 0, 300));
  // And so does each question about another fleet, as far as it fits.
  EXPECT_THAT(AskInRounds(MachinesFrom(20'000, 4000), 5, &cache).back(),
              Gt(400));
}

TEST(HeldChunk, KeepsClocksWithinTheBudget) {
  constexpr uint32_t kTicks = 1000;
  const std::string head = HeadWithTicks(kTicks);
  ChunkBudgets budgets = BudgetsOf(2 * kTicks * sizeof(perflib::Clocks));
  const auto make = [&] {
    return std::make_unique<HeldChunk>(StoredChunk{.head = head}, &budgets);
  };
  // Asks twice: kept clocks are the same object.
  const auto keeps = [&](const HeldChunk& chunk) {
    const auto first = chunk.Clocks();
    const auto second = chunk.Clocks();
    EXPECT_OK(first);
    EXPECT_OK(second);
    EXPECT_EQ((*first)->size(), kTicks);
    EXPECT_EQ(**first, **second);
    return *first == *second;
  };
  auto one = make();
  const auto other = make();
  const auto late = make();
  EXPECT_TRUE(keeps(*one));
  EXPECT_TRUE(keeps(*other));
  EXPECT_FALSE(keeps(*late));
  one.reset();
  EXPECT_TRUE(keeps(*late));
  EXPECT_FALSE(keeps(*make()));
}

// A chunk of two disks, whose runs are too small for folds of their own.
class DiskChunk {
 public:
  static constexpr uint32_t kTicks = 400;
  static constexpr int kColumns = 2;
  static constexpr int kRuns = 4;  // of two disks

  // `transfers` are those of the first disk at a tick.
  explicit DiskChunk(const std::function<uint64_t(uint32_t)>& transfers =
                         [](uint32_t tick) { return tick / 2; }) {
    auto schema = std::make_shared<Schema>();
    schema->registration = testing::DiskRegistration();
    auto query = std::make_shared<CollectedQuery>();
    query->schema = std::move(schema);
    query->interval = absl::Seconds(1);
    query->columns = {{.counter_id = testing::kTransfers, .value_size = 8},
                      {.counter_id = testing::kQueueLength, .value_size = 8}};
    auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
    auto frame = std::make_shared<Frame>();
    frame->columns.resize(kColumns);
    for (uint32_t tick = 0; tick < kTicks; ++tick) {
      clocks->push_back(testing::ClocksAt(tick));
      frame->columns[0].values.push_back(transfers(tick));
      frame->columns[1].values.push_back(tick % 3);
    }
    for (uint32_t tick = 0; tick < kTicks; ++tick) {
      frame->columns[0].values.push_back(7 + tick / 3);
      frame->columns[1].values.push_back(tick % 4);
    }
    frame->clocks = std::move(clocks);
    for (const char* const name : {"C:", "D:"}) {
      frame->runs.push_back(
          {std::make_shared<const Instance>(Instance{.name = name}),
           /*first_tick=*/0, kTicks,
           static_cast<uint32_t>(frame->runs.size()) * kTicks});
    }
    frame->query = query_ = std::move(query);
    ChunkBuilder builder;
    builder.Add({frame}, 0, kTicks);
    encoded_ = builder.Finish([](const CollectedQuery&) { return 1; });
  }

  std::unique_ptr<HeldChunk> Hold(ChunkBudgets* budgets) const {
    return std::make_unique<HeldChunk>(StoredChunk{.head = encoded_.head},
                                       budgets);
  }

  // Reads the samples, or their folds, like a chunk that is not held. Returns
  // the number of reads of the body.
  int Read(const HeldChunk& held, bool folded) const {
    int reads = 0;
    const auto read_body = [&](uint64_t offset, uint64_t size) {
      ++reads;
      return absl::string_view(encoded_.body).substr(offset, size);
    };
    auto plain = Chunk::Open(encoded_.head, 0, read_body);
    EXPECT_OK(plain);
    const std::optional<Frame> expected = ReadFrom(&*plain, folded);
    reads = 0;
    auto chunk = held.Open(read_body);
    EXPECT_OK(chunk);
    const std::optional<Frame> frame = ReadFrom(&*chunk, folded);
    EXPECT_EQ(frame.has_value(), expected.has_value());
    for (size_t i = 0; frame.has_value() && i < kColumns; ++i) {
      const FrameColumn& column = frame->columns.at(i);
      EXPECT_EQ(column.values, expected->columns.at(i).values);
      EXPECT_EQ(SumsOf(column), SumsOf(expected->columns.at(i)));
    }
    return reads;
  }

 private:
  std::optional<Frame> ReadFrom(Chunk* chunk, bool folded) const {
    if (!folded) {
      auto frame = chunk->Read(0, query_, {true, true}, {}, nullptr);
      EXPECT_OK(frame);
      return *std::move(frame);
    }
    auto frame = chunk->ReadFolded(0, query_, {true, true},
                                   /*includes_all_ticks=*/true, nullptr);
    EXPECT_OK(frame);
    return *std::move(frame);
  }

  static std::vector<uint64_t> SumsOf(const FrameColumn& column) {
    std::vector<uint64_t> sums;
    for (const FrameColumn::Total& total : column.totals) {
      sums.push_back(total.sum);
    }
    return sums;
  }

  std::shared_ptr<const CollectedQuery> query_;
  EncodedChunk encoded_;
};

TEST(HeldChunk, ReadsTheBodyOnce) {
  const DiskChunk disks;
  ChunkBudgets budgets = BudgetsOf(1 << 20);
  const auto samples = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*samples, /*folded=*/false), DiskChunk::kColumns);
  EXPECT_EQ(disks.Read(*samples, /*folded=*/false), 0);
  const auto folds = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*folds, /*folded=*/true), DiskChunk::kRuns);
  EXPECT_EQ(disks.Read(*folds, /*folded=*/true), 0);
}

TEST(HeldChunk, KeepsFoldsWithoutTheirSamples) {
  const DiskChunk disks;
  ChunkBudgets budgets = BudgetsOf(0);
  budgets.folds.Return(DiskChunk::kRuns * FoldMemo::kBytesOfFold);
  auto one = disks.Hold(&budgets);
  const auto other = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*one, /*folded=*/true), DiskChunk::kRuns);
  EXPECT_EQ(disks.Read(*one, /*folded=*/true), 0);
  EXPECT_EQ(disks.Read(*one, /*folded=*/false), DiskChunk::kColumns);
  EXPECT_EQ(disks.Read(*other, /*folded=*/true), DiskChunk::kRuns);
  EXPECT_EQ(disks.Read(*other, /*folded=*/true), DiskChunk::kRuns);
  one.reset();
  EXPECT_EQ(disks.Read(*other, /*folded=*/true), DiskChunk::kRuns);
  EXPECT_EQ(disks.Read(*other, /*folded=*/true), 0);
}

TEST(HeldChunk, RemembersRunsWithoutAFold) {
  const DiskChunk disks([](uint32_t tick) { return 1000 - tick / 2; });
  ChunkBudgets budgets = BudgetsOf(0);
  budgets.folds.Return(FoldMemo::kBytesOfFold);
  const auto held = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*held, /*folded=*/true), 1);
  EXPECT_EQ(disks.Read(*held, /*folded=*/true), 0);
}

TEST(HeldChunk, KeepsPartsWithinTheBudget) {
  const DiskChunk disks;
  ChunkBudgets budgets = BudgetsOf(0);
  auto one = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*one, /*folded=*/false), 2);
  EXPECT_EQ(disks.Read(*one, /*folded=*/false), 2);
  budgets.parts.Return(300);  // for the smaller of the two columns
  EXPECT_EQ(disks.Read(*one, /*folded=*/false), 2);
  EXPECT_EQ(disks.Read(*one, /*folded=*/false), 1);
  const auto other = disks.Hold(&budgets);
  EXPECT_EQ(disks.Read(*other, /*folded=*/false), 2);
  EXPECT_EQ(disks.Read(*other, /*folded=*/false), 2);
  one.reset();
  EXPECT_EQ(disks.Read(*other, /*folded=*/false), 2);
  EXPECT_EQ(disks.Read(*other, /*folded=*/false), 1);
}

TEST(BodyMemo, KeepsNoLargeParts) {
  ByteBudget budget(1 << 20);
  BodyMemo memo(&budget);
  const std::string part(8192, 'x');
  const std::string larger(8193, 'x');
  memo.Add(10, part);
  memo.Add(10, larger);
  EXPECT_EQ(memo.Find(10, part.size()), part);
  EXPECT_EQ(memo.Find(10, larger.size()), std::nullopt);
  EXPECT_EQ(memo.Find(11, part.size()), std::nullopt);
}

TEST(HeldChunk, ReportsDamagedHeads) {
  ChunkBudgets budgets = BudgetsOf(1 << 20);
  const HeldChunk chunk(StoredChunk{.head = "damaged"}, &budgets);
  EXPECT_THAT(chunk.Clocks(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("invalid head")));
}

TEST(ChunkCache, KeepsWhatFitsAfterALongerQuestion) {
  const std::string head = HeadWithTicks(1000);
  ChunkCache cache(10 * Chunks({head})->SizeUpTo(SIZE_MAX));
  cache.Put(1, Chunks({head}));
  cache.Put(1, Chunks({head, head}));
  EXPECT_NE(cache.Find(1, 10, 20, 1), nullptr);
}

TEST(ChunkCache, CountsDamagedHeadsAndLosses) {
  const std::string damaged(1000, 'x');
  EXPECT_GT(Chunks({damaged})->SizeUpTo(SIZE_MAX), 1000);
  EXPECT_LT(Chunks({damaged})->SizeUpTo(SIZE_MAX), 2000);
  MachineChunks losses;
  losses.losses.push_back({.machine = std::string(5000, 'm')});
  EXPECT_GT(losses.SizeUpTo(SIZE_MAX), 5000);
}

TEST(MachineVersions, ChangeWithTheData) {
  MachineVersions versions;
  const std::set<uint32_t> machines = {3};
  const auto before = versions.Of(3);
  ASSERT_TRUE(before.has_value());
  {
    const MachineVersions::Change change(&machines, &versions);
    EXPECT_EQ(versions.Of(3), std::nullopt);
    EXPECT_EQ(versions.Of(3 + MachineVersions::kVersions), std::nullopt);
    EXPECT_TRUE(versions.Of(4).has_value());
  }
  ASSERT_TRUE(versions.Of(3).has_value());
  EXPECT_NE(versions.Of(3), before);
}

class CachedReadsTest : public ::testing::Test {
 protected:
  // Reads twice, the second time from memory, and after a restart.
  std::vector<std::string> Read(absl::Time from = absl::InfinitePast(),
                                absl::Time to = absl::InfiniteFuture()) {
    const std::vector<std::string> samples = store_.Read("web-1", from, to);
    EXPECT_EQ(store_.Read("web-1", from, to), samples);
    const std::vector<std::string> losses = store_.ReadLosses("web-1");
    store_.Reopen();
    EXPECT_EQ(store_.Read("web-1", from, to), samples);
    EXPECT_EQ(store_.ReadLosses("web-1"), losses);
    return samples;
  }

  void Send(int first, int ticks) {
    for (int i = first; i < first + ticks; ++i) {
      agent_.Tick(i, static_cast<uint64_t>(1000 + i));
    }
    ASSERT_OK(agent_.Send(kStart + absl::Seconds(first + ticks)));
  }

  TestStore store_;
  OneDiskAgent agent_{&store_, "web-1"};
};

TEST_F(CachedReadsTest, FollowEachChange) {
  constexpr int kMinutes = 30;
  for (int minute = 0; minute < kMinutes; ++minute) {
    agent_.Lose("web-1", kStart + absl::Minutes(minute),
                kStart + absl::Minutes(minute) + absl::Seconds(1), 1,
                v1::LOSS_CAUSE_SPOOL_FULL);
    Send(60 * minute, 60);
    const size_t ticks = 60 * static_cast<size_t>(minute + 1);
    EXPECT_EQ(store_.Read("web-1").size(), ticks);
    ASSERT_OK(store_.Compact());
    EXPECT_EQ(store_.Read("web-1").size(), ticks);
    EXPECT_EQ(store_.ReadLosses("web-1").size(), minute + 1);
  }
  EXPECT_EQ(Read().size(), 60 * kMinutes);
  EXPECT_EQ(store_.Read("web-1").size(), 60 * kMinutes);
  ASSERT_OK(store_.Thin(Resolution::kMinute));
  EXPECT_LE(store_.Read("web-1").size(), kMinutes + 1);
  Read();
  EXPECT_FALSE(store_.Read("web-1").empty());
  ASSERT_OK(store_->DropTo(0));
  EXPECT_THAT(store_.Read("web-1"), IsEmpty());
  EXPECT_THAT(store_.ReadLosses("web-1"), IsEmpty());
}

TEST_F(CachedReadsTest, FindPartsOfALongerTime) {
  for (int hour = 0; hour < 8; ++hour) Send(3600 * hour, 10);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_.Thin(Resolution::kMinute, kStart + absl::Hours(7)));
  TestStore* const store = &store_;
  for (int hour = 0; hour < 8; ++hour) {
    const absl::Time from = kStart + absl::Hours(hour);
    const absl::Time to = from + absl::Hours(2);
    store->Reopen();
    const std::vector<std::string> alone = store->Read("web-1", from, to);
    store->Reopen();
    store->Read("web-1");
    EXPECT_EQ(store->Read("web-1", from, to), alone);
  }
}

TEST_F(CachedReadsTest, FindLossesOfEachRange) {
  const auto at = [](double hours) { return kStart + absl::Hours(hours); };
  for (int hour = 0; hour < 4; ++hour) {
    agent_.Lose("web-1", at(hour + 0.2), at(hour + 0.3), 1,
                v1::LOSS_CAUSE_SPOOL_FULL);
    Send(3600 * hour, 10);
  }
  agent_.Lose("web-1", at(0.5), at(3.5), 1, v1::LOSS_CAUSE_SPOOL_FULL);
  Send(4 * 3600, 10);
  ASSERT_OK(store_.Compact());
  const auto count = [&](absl::Time from, absl::Time to) {
    size_t losses = 0;
    EXPECT_OK(store_->Read(
        {.machine = "web-1", .from = from, .to = to, .filter = {}},
        [](const Frame&) { return absl::OkStatus(); },
        [&](const Loss&) { ++losses; }));
    return losses;
  };
  for (int time = 0; time < 2; ++time) {  // the second from memory
    EXPECT_EQ(count(at(0), at(0.4)), 1);
    EXPECT_EQ(count(at(0), at(0.9)), 2);
  }
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(count(at(1), at(1.1)), 1);
    EXPECT_EQ(count(at(1), at(2.9)), 3);
    EXPECT_EQ(count(at(2), at(2.9)), 2);
  }
  EXPECT_EQ(count(absl::InfinitePast(), absl::InfiniteFuture()), 5);
}

// Samples are there once, while they move to chunks and chunks are merged.
TEST_F(CachedReadsTest, AreCompleteWhileSamplesMove) {
  constexpr int kBatches = 200;
  std::atomic<size_t> committed = 0;
  std::atomic<bool> is_done = false;
  std::thread reader([&] {
    while (!is_done) {
      const size_t at_least = committed;
      std::vector<std::string> samples = store_.Read("web-1");
      EXPECT_GE(samples.size(), at_least);
      EXPECT_EQ(std::set<std::string>(samples.begin(), samples.end()).size(),
                samples.size());
      EXPECT_THAT(samples, ::testing::Each(::testing::HasSubstr("C:")));
    }
  });
  for (int batch = 0; batch < kBatches; ++batch) {
    Send(10 * batch, 10);
    committed += 10;
    EXPECT_OK(store_.Compact(kStart + absl::Seconds(10 * batch - 20)));
  }
  EXPECT_OK(store_.Compact());
  is_done = true;
  reader.join();
  EXPECT_EQ(store_.Read("web-1").size(), 10 * kBatches);
}

}  // namespace
}  // namespace fleetperf::aggregator
