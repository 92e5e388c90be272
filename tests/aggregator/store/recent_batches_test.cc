#include "aggregator/store/recent/recent_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using testing::TestStore;
using testing::ToText;

constexpr uint64_t kEnough = uint64_t{64} << 20;

absl::Time At(int second) { return kStart + absl::Seconds(second); }

class RecentBatchesTest : public ::testing::Test {
 protected:
  // Adds the agent's next batch. Its newest sample is from `newest`.
  void Add(int newest, absl::Time received = kStart) {
    auto batch = agent_.TakeBatch(received);
    ASSERT_OK(batch.status());
    kept_.push_back(*batch);
    recent_->Add(
        {.epoch_number = 1,
         .sequence = kept_.back()->sequence,
         .received = received,
         .decoded = &kept_.back()->decoded},
        {.oldest = At(newest), .newest = At(newest), .received = received});
  }
  void AddTick(int second, absl::Time received = kStart) {
    agent_.Ticks(second, second, {{c_, 10}, {d_, 20}});
    Add(second, received);
  }

  RecentBatches::Found Find(absl::Time from = absl::InfinitePast(),
                            absl::Time to = absl::InfiniteFuture()) const {
    return recent_->Find("web-1", from, to);
  }
  std::vector<uint64_t> Sequences(const RecentBatches::Found& found) const {
    std::vector<uint64_t> sequences;
    for (const auto& batch : found.batches) {
      sequences.push_back(batch->sequence());
    }
    return sequences;
  }
  // Returns the selected samples of all batches.
  std::vector<std::string> Read(RecentBatch::Selection selection) const {
    RecentBatch::Selector selector(std::move(selection));
    std::vector<std::string> ticks;
    for (const auto& batch : Find().batches) {
      EXPECT_OK(batch->Read(&selector, [&](const Frame& frame) {
        for (std::string& tick : ToText(frame))
          ticks.push_back(std::move(tick));
        return absl::OkStatus();
      }));
    }
    return ticks;
  }

  TestStore store_;
  DiskAgent agent_{&store_};
  uint32_t c_ = agent_.Disk("C:");
  uint32_t d_ = agent_.Disk("D:");
  std::vector<std::shared_ptr<const ReceivedBatch>> kept_;
  std::unique_ptr<RecentBatches> recent_ =
      std::make_unique<RecentBatches>(kEnough);
};

bool All(const CollectedQuery&) { return true; }

TEST_F(RecentBatchesTest, FindsBatchesInTheRange) {
  for (int t = 1; t <= 5; ++t) AddTick(t);
  EXPECT_THAT(Sequences(Find()), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Sequences(Find(At(2), At(4))), ElementsAre(2, 3, 4));
  EXPECT_EQ(Find(At(2), At(4)).FirstSequence(1), 1);
  EXPECT_EQ(Find().FirstSequence(2), UINT64_MAX);
  EXPECT_THAT(recent_->Find("web-2", At(0), At(9)).epochs, IsEmpty());
}

TEST_F(RecentBatchesTest, AreCompleteOnceTheRestIsKnown) {
  AddTick(5);
  EXPECT_EQ(Find().complete_after, absl::InfiniteFuture());
  recent_->SetNewestElsewhere("web-1", At(3));
  EXPECT_EQ(Find().complete_after, At(3));
}

TEST_F(RecentBatchesTest, OldestGiveWayToTheBudget) {
  AddTick(1);
  AddTick(2);
  const uint64_t first = recent_->size();
  AddTick(3);
  const uint64_t each = recent_->size() - first;
  recent_ = std::make_unique<RecentBatches>(first + each);
  recent_->SetNewestElsewhere("web-1", At(0));
  agent_.next_sequence = 1;
  for (int t = 1; t <= 9; ++t) AddTick(t);
  recent_->SetNewestElsewhere("web-1", At(0));
  const RecentBatches::Found found = Find();
  EXPECT_LE(recent_->size(), first + each);
  ASSERT_FALSE(found.batches.empty());
  EXPECT_LT(found.batches.size(), 9);
  EXPECT_EQ(found.batches.back()->sequence(), 9);
  const uint64_t oldest = found.batches.front()->sequence();
  EXPECT_EQ(found.FirstSequence(1), oldest);
  EXPECT_EQ(found.complete_after, At(static_cast<int>(oldest) - 1));
}

TEST_F(RecentBatchesTest, AreRemovedAfterTheirAge) {
  AddTick(1, kStart);
  AddTick(2, kStart + absl::Minutes(6));
  EXPECT_EQ(Find().batches.size(), 2);
  AddTick(3, kStart + absl::Minutes(11));
  EXPECT_THAT(Sequences(Find()), ElementsAre(2, 3));
  recent_->RemoveReceivedBefore(absl::InfiniteFuture());
  EXPECT_THAT(Sequences(Find()), IsEmpty());
  EXPECT_EQ(recent_->size(), 0);
}

// All batches have the same instances, which the first one counts.
TEST_F(RecentBatchesTest, CountsSharedInstancesUntilTheLastBatchLeaves) {
  for (int t = 1; t <= 4; ++t) AddTick(t, kStart + absl::Seconds(t));
  recent_->RemoveReceivedBefore(At(4));
  ASSERT_THAT(Sequences(Find()), ElementsAre(4));
  const uint64_t left = recent_->size();

  RecentBatches alone(kEnough);
  const ReceivedBatch& last = *kept_.back();
  alone.Add({.epoch_number = 1,
             .sequence = last.sequence,
             .received = At(4),
             .decoded = &last.decoded},
            {.oldest = At(4), .newest = At(4), .received = At(4)});
  EXPECT_EQ(left, alone.size());
  recent_->RemoveReceivedBefore(absl::InfiniteFuture());
  EXPECT_EQ(recent_->size(), 0);
}

TEST_F(RecentBatchesTest, ABatchBeyondTheBudgetIsNotKept) {
  recent_ = std::make_unique<RecentBatches>(1);
  AddTick(1);
  EXPECT_THAT(Sequences(Find()), IsEmpty());
  EXPECT_EQ(recent_->size(), 0);
}

TEST_F(RecentBatchesTest, ReadsAllSamples) {
  agent_.Ticks(1, 2, {{c_, 10}, {d_, 20}});
  Add(2);
  agent_.Ticks(3, 3, {{d_, 20}});
  agent_.Ticks(4, 4, {{c_, 10}, {d_, 20}});
  Add(4);
  EXPECT_THAT(
      Read({.queries = All}),
      ElementsAre("1 C: 10 10", "2 C: 20 10", "1 D: 20 20", "2 D: 40 20",
                  "3 D: 60 20", "4 D: 80 20", "4 C: 40 10"));
}

TEST_F(RecentBatchesTest, ReadsSelectedInstances) {
  const uint32_t e = agent_.Disk("E:");
  agent_.AddTick(agent_.query, testing::ClocksAt(1),
                 {{c_, {1, 2}}, {d_, {3, std::nullopt}}, {e, {5, 6}}});
  agent_.AddTick(agent_.query, testing::ClocksAt(2),
                 {{c_, {7, 8}}, {d_, {9, 10}}, {e, {std::nullopt, 12}}});
  Add(2);
  const auto select = [&](const std::string& name) {
    return Read(
        {.queries = All,
         .instances = [name](const CollectedQuery&, const Instance& instance) {
           return instance.name == name;
         }});
  };
  EXPECT_THAT(select("C:"), ElementsAre("1 C: 1 2", "2 C: 7 8"));
  EXPECT_THAT(select("D:"), ElementsAre("1 D: 3 -", "2 D: 9 10"));
  EXPECT_THAT(select("E:"), ElementsAre("1 E: 5 6", "2 E: - 12"));
  EXPECT_THAT(select("F:"), IsEmpty());
}

// Numbers of several bytes, and more of them than are skipped at a time.
TEST_F(RecentBatchesTest, SkipsLongRuns) {
  const uint32_t e = agent_.Disk("E:");
  agent_.Ticks(1, 40, {{c_, 1'000'000'007}, {d_, 300}, {e, 70'000}});
  Add(40);
  const auto ticks =
      Read({.queries = All,
            .instances = [](const CollectedQuery&, const Instance& instance) {
              return instance.name == "E:";
            }});
  ASSERT_EQ(ticks.size(), 40);
  EXPECT_EQ(ticks.front(), "1 E: 70000 70000");
  EXPECT_EQ(ticks.back(), "40 E: 2800000 70000");
}

TEST_F(RecentBatchesTest, DecodesSelectedColumnsOnly) {
  AddTick(1);
  RecentBatch::Selector selector(
      {.queries = All, .columns = [](const CollectedQuery&) {
         return std::vector<bool>{false, true};
       }});
  int frames = 0;
  EXPECT_OK(Find().batches.front()->Read(&selector, [&](const Frame& frame) {
    ++frames;
    EXPECT_THAT(frame.columns[0].values, IsEmpty());
    EXPECT_THAT(frame.columns[1].values, ElementsAre(10, 20));
    return absl::OkStatus();
  }));
  EXPECT_EQ(frames, 1);
}

TEST_F(RecentBatchesTest, OmitsQueriesThatAreNotSelected) {
  AddTick(1);
  EXPECT_THAT(Read({.queries = [](const CollectedQuery&) { return false; }}),
              IsEmpty());
}

// The same through the store.

class RecentSamplesTest : public ::testing::Test {
 protected:
  void Send(int second) {
    agent_.Ticks(second, second, {{disk_, 3}});
    ASSERT_OK(agent_.Send(At(second)));
  }

  TestStore store_{kEnough};
  DiskAgent agent_{&store_};
  uint32_t disk_ = agent_.Disk("C:");
};

TEST_F(RecentSamplesTest, AreReadOnceWhereverTheyAre) {
  for (int t = 1; t <= 3; ++t) Send(t);
  const auto all = ElementsAre("1 C: 3 3", "2 C: 6 3", "3 C: 9 3");
  EXPECT_THAT(store_.Read("web-1"), all);
  EXPECT_THAT(store_.Read("web-1", At(2)), ElementsAre("2 C: 6 3", "3 C: 9 3"));
  ASSERT_OK(store_.Compact());  // to chunks
  EXPECT_THAT(store_.Read("web-1"), all);
  EXPECT_THAT(store_.Read("web-1", At(2)), ElementsAre("2 C: 6 3", "3 C: 9 3"));
  store_.Reopen();
  EXPECT_THAT(store_.Read("web-1"), all);
}

TEST_F(RecentSamplesTest, FollowSamplesOnDisk) {
  Send(1);
  Send(2);
  store_.Reopen();
  Send(3);
  Send(1);  // the clock was set back
  const auto all = ElementsAre("1 C: 3 3", "2 C: 6 3", "3 C: 9 3", "1 C: 3 3");
  EXPECT_THAT(store_.Read("web-1"), all);
  EXPECT_THAT(store_.Read("web-1", At(2)), ElementsAre("2 C: 6 3", "3 C: 9 3"));
  EXPECT_THAT(store_.Read("web-1", At(3)), ElementsAre("3 C: 9 3"));
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(store_.Read("web-1"), all);
}

TEST_F(RecentSamplesTest, AreRemovedWithTheirData) {
  Send(1);
  ASSERT_OK(store_.Compact());
  ASSERT_OK(store_->DropBefore(At(1) + absl::Hours(2)));
  EXPECT_THAT(store_.Read("web-1"), IsEmpty());
}

TEST_F(RecentSamplesTest, HaveLossesOfTheMachineAndOfItsAgent) {
  ASSERT_OK(agent_.Connect());
  agent_.Lose("web-1", At(1), At(2), 1, v1::LOSS_CAUSE_SPOOL_FULL);
  agent_.Lose("", At(3), At(4), 1, v1::LOSS_CAUSE_SPOOL_FULL);
  agent_.Lose("web-2", At(5), At(6), 1, v1::LOSS_CAUSE_SPOOL_FULL);
  Send(7);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(store_.ReadLosses("web-1"),
                ElementsAre("spool_full 1..2", "spool_full 3..4"));
    EXPECT_THAT(store_.ReadLosses("web-2"),
                ElementsAre("spool_full 3..4", "spool_full 5..6"));
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
