// Concurrent use of a spool by several threads, also while its files are used.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "fleetperf/v1/collection.pb.h"
#include "tests/agent/deliver/spool_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using SpoolThreadsTest = SpoolTest;

TEST_F(SpoolThreadsTest, CompressesWithoutLock) {
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
    // Neither the batch nor its sequence is visible yet.
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

// In the files, each tick has its batch's sequence. Under another sequence the
// aggregator would discard the tick or store it twice.
TEST_F(SpoolThreadsTest, WritesFilesWhileCompressing) {
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
                ElementsAre("1: 1", "2: 2 3, lost 2 OVERRUN",
                            "3: 4, lost 2 SOURCE_FAILED"));
  }
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2 3, lost 2 OVERRUN",
                                  "3: 4, lost 2 SOURCE_FAILED"));
}

TEST_F(SpoolThreadsTest, SealsBatchesInOrderOfClosing) {
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

// Each batch is returned once and in order, regardless of the appending thread,
// and the next process has all of them.
TEST_F(SpoolThreadsTest, AppendsFromManyThreads) {
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

TEST_F(SpoolThreadsTest, MemoryAccessDoesNotWaitForFiles) {
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

}  // namespace
}  // namespace fleetperf::agent
