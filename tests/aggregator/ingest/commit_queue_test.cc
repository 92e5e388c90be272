#include "aggregator/ingest/commit_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "aggregator/ingest/epoch.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using testing::SimulatedClock;

// From commit_queue.h: twenty commits per second.
constexpr absl::Duration kCommitInterval = absl::Milliseconds(50);

// Accepts all batches while CheckRoom returns OK.
class AcceptingStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::Status Commit(absl::Span<const BatchToCommit>) override { return {}; }
  absl::Status CheckRoom() const override {
    absl::MutexLock lock(&mutex_);
    return room_;
  }
  void SetRoom(absl::Status room) {
    absl::MutexLock lock(&mutex_);
    room_ = std::move(room);
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Status room_ ABSL_GUARDED_BY(mutex_);
};

class CommitQueueTest : public ::testing::Test {
 protected:
  void Start() {
    queue_ = std::make_unique<CommitQueue>(
        &accepting_store_, &clock_,
        [this](const CommitQueue::Batches& batches, const absl::Status&) {
          absl::MutexLock lock(&mutex_);
          for (const auto& batch : batches) {
            committed_.push_back(batch->sequence);
          }
        });
  }

  void Add(uint64_t sequence, size_t size = 10) {
    auto batch = std::make_shared<ReceivedBatch>();
    batch->epoch = epoch_;
    batch->sequence = sequence;
    batch->batch.set_payload(std::string(size, 'x'));
    queue_->Add(std::move(batch));
  }
  void AwaitCommitted(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto are_committed = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return committed_.size() >= count;
    };
    mutex_.Await(absl::Condition(&are_committed));
  }
  std::vector<uint64_t> committed() {
    absl::MutexLock lock(&mutex_);
    return committed_;
  }

  SimulatedClock clock_{SimulatedClock::Waits::kSimulated};
  testing::TestStore store_;
  AcceptingStore accepting_store_{&*store_};
  const std::shared_ptr<Epoch> epoch_ =
      std::make_shared<Epoch>("web-1", 77, StoredEpoch{.number = 1});
  absl::Mutex mutex_;
  std::vector<uint64_t> committed_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<CommitQueue> queue_;
};

TEST_F(CommitQueueTest, CommitsBatchesOfAnIntervalTogether) {
  Start();
  Add(1);
  AwaitCommitted(1);
  clock_.AwaitWaiting(kCommitInterval);
  Add(2);
  Add(3);
  EXPECT_THAT(committed(), ElementsAre(1));
  clock_.Advance(kCommitInterval);
  AwaitCommitted(3);
}

TEST_F(CommitQueueTest, ContinuesWhenTheClockIsSetBack) {
  Start();
  Add(1);
  AwaitCommitted(1);
  clock_.AwaitWaiting(kCommitInterval);
  clock_.Step(-absl::Hours(1));
  Add(2);
  clock_.Advance(kCommitInterval);
  AwaitCommitted(2);
  // The same while the disk is full.
  accepting_store_.SetRoom(absl::ResourceExhaustedError("full"));
  clock_.Advance(kCommitInterval);
  Add(3);
  clock_.AwaitWaiting(absl::Seconds(1));
  EXPECT_TRUE(absl::IsResourceExhausted(queue_->last_status()));
  clock_.Step(-absl::Hours(1));
  accepting_store_.SetRoom(absl::OkStatus());
  clock_.Advance(absl::Seconds(1));
  AwaitCommitted(3);
  EXPECT_TRUE(queue_->last_status().ok());
}

TEST_F(CommitQueueTest, CommitsImmediatelyAfterAPause) {
  Start();
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    Add(sequence);
    AwaitCommitted(sequence);
    clock_.Advance(kCommitInterval);
  }
}

TEST_F(CommitQueueTest, CommitsImmediatelyWithAMebibyteOrATask) {
  Start();
  Add(1);
  AwaitCommitted(1);
  Add(2, 1 << 19);
  Add(3, 1 << 19);
  AwaitCommitted(3);
  absl::Notification done;
  Add(4);
  queue_->Then([&] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_THAT(committed(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CommitQueueTest, CommitsPendingBatchesOnDestruction) {
  Start();
  Add(1);
  AwaitCommitted(1);
  Add(2);
  queue_.reset();
  EXPECT_THAT(committed(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace fleetperf::aggregator
