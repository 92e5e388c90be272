// Reads report which batches they include, so that later batches can be
// appended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "aggregator/store/store.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::Pair;
using testing::TestStore;

class ReadEpochsTest : public ::testing::Test {
 protected:
  // Returns the last sequence of each epoch reported by a read of web-1.
  std::vector<std::pair<uint32_t, uint64_t>> Epochs(
      absl::Time from = absl::InfinitePast()) {
    std::vector<std::pair<uint32_t, uint64_t>> epochs;
    bool has_frames = false;
    EXPECT_OK(store_->Read(
        {.machine = "web-1",
         .from = from,
         .to = absl::InfiniteFuture(),
         .filter = {},
         .on_epoch =
             [&](uint32_t epoch_number, uint64_t sequence) {
               EXPECT_FALSE(has_frames);
               epochs.emplace_back(epoch_number, sequence);
             }},
        [&](const Frame&) {
          has_frames = true;
          return absl::OkStatus();
        },
        [](const Loss&) {}));
    return epochs;
  }

  void Send(DiskAgent& agent, int second) {
    agent.Ticks(second, second, {{disk_, 3}});
    ASSERT_OK(agent.Send());
  }
  void Define(DiskAgent& agent) { disk_ = agent.Disk("C:"); }

  TestStore store_;
  uint32_t disk_ = 0;
};

TEST_F(ReadEpochsTest, ReportsEpochsOfLogAndChunks) {
  EXPECT_THAT(Epochs(), IsEmpty());
  DiskAgent agent(&store_);
  Define(agent);
  Send(agent, 1);
  Send(agent, 2);
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 2)));
  ASSERT_OK(store_.Compact());
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 2)));
  Send(agent, 3);
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 3)));
  store_.Reopen();
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 3)));
}

// The log has a later batch, but it is outside of the range.
TEST_F(ReadEpochsTest, OmitsBatchesOutsideTheRange) {
  DiskAgent agent(&store_);
  Define(agent);
  Send(agent, 10'000);
  Send(agent, 10'001);
  ASSERT_OK(store_.Compact());
  Send(agent, 1);  // the clock was set back
  EXPECT_THAT(Epochs(kStart + absl::Seconds(5'000)), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(Epochs(kStart + absl::Seconds(20'000)), IsEmpty());
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 3)));
}

TEST_F(ReadEpochsTest, ReportsSeveralEpochs) {
  DiskAgent first(&store_, "web-1", /*epoch=*/11);
  Define(first);
  Send(first, 1);
  DiskAgent second(&store_, "web-1", /*epoch=*/12);
  Define(second);
  Send(second, 2);
  Send(second, 3);
  DiskAgent other(&store_, "web-2", /*epoch=*/13);
  Define(other);
  Send(other, 3);
  ASSERT_OK(store_.Compact());
  DiskAgent third(&store_, "web-1", /*epoch=*/14);
  Define(third);
  Send(third, 4);
  EXPECT_THAT(Epochs(), ElementsAre(Pair(1, 1), Pair(2, 2), Pair(4, 1)));
}

}  // namespace
}  // namespace fleetperf::aggregator
