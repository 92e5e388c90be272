// The fixture of session tests: the agent's end of a stream, a store whose
// commits can be held, and an ingest that uses both.

#ifndef FLEETPERF_TESTS_AGGREGATOR_INGEST_SESSION_FIXTURE_H_
#define FLEETPERF_TESTS_AGGREGATOR_INGEST_SESSION_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/session.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "proto/conversions.h"
#include "tests/support/disk_agent.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"

namespace fleetperf::aggregator {

using testing::BatchWriter;
using testing::ClocksAt;
using testing::DiskRegistration;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kQueueLength;
using testing::kStart;
using testing::MakeSealedBatch;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;

inline constexpr uint64_t kEpoch = 77;

// The agent's end of a stream. Thread-safe.
class Link : public AgentLink {
 public:
  explicit Link(uint64_t epoch = kEpoch) : epoch_(epoch) {}

  void Send(v1::CollectResponse response) override {
    absl::MutexLock lock(&mutex_);
    if (response.has_reject()) {
      events_.push_back(absl::StrCat("reject ", response.reject().sequence()));
    }
    responses_.push_back(std::move(response));
  }
  void SendAck(uint64_t epoch, uint64_t sequence) override {
    absl::MutexLock lock(&mutex_);
    EXPECT_EQ(epoch, epoch_);
    events_.push_back(absl::StrCat("ack ", sequence));
    acknowledged_ = std::max(acknowledged_, sequence);
  }
  void Release(std::shared_ptr<const void> /*object*/) override {}
  void End(const absl::Status& status) override {
    absl::MutexLock lock(&mutex_);
    events_.push_back(
        absl::StrCat("end ", absl::StatusCodeToString(status.code())));
    has_ended_ = true;
    end_ = status;
  }

  void WaitForEnd() {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(
        mutex_.AwaitWithTimeout(absl::Condition(&has_ended_), absl::Minutes(1)))
        << "the stream has not ended";
  }
  void WaitForAck(uint64_t sequence) {
    absl::MutexLock lock(&mutex_);
    const auto acknowledged = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return acknowledged_ >= sequence;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&acknowledged),
                                        absl::Minutes(1)))
        << "no acknowledgment of " << sequence;
  }
  // Waits for a Welcome. Removes it and all earlier responses.
  v1::Welcome WaitForWelcome() {
    absl::MutexLock lock(&mutex_);
    const auto find = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return std::find_if(responses_.begin(), responses_.end(),
                          [](const auto& r) { return r.has_welcome(); });
    };
    const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return find() != responses_.end();
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&is_there),
                                 absl::Minutes(1))) {
      ADD_FAILURE() << "no Welcome";
      return {};
    }
    const v1::Welcome welcome = find()->welcome();
    responses_.erase(responses_.begin(), std::next(find()));
    return welcome;
  }
  v1::EnumerateInstances WaitForQuestion() {
    absl::MutexLock lock(&mutex_);
    const auto asked = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !responses_.empty() && responses_.back().has_enumerate_instances();
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&asked), absl::Minutes(1))) {
      ADD_FAILURE() << "the agent was not asked";
      return {};
    }
    return responses_.back().enumerate_instances();
  }
  // Returns all responses since the last call, except acknowledgments.
  std::vector<v1::CollectResponse> Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(responses_, {});
  }
  absl::Status end() const {
    absl::MutexLock lock(&mutex_);
    return end_;
  }
  // Returns the outcomes of batches and of the stream, in order: "reject 2",
  // "ack 3", "end ABORTED".
  std::vector<std::string> events() const {
    absl::MutexLock lock(&mutex_);
    return events_;
  }

 private:
  const uint64_t epoch_;
  mutable absl::Mutex mutex_;
  std::vector<v1::CollectResponse> responses_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

// A store whose commits a test can hold and fail. Thread-safe.
class GatedStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  // Blocks all commits until Release.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    open_ = false;
  }
  // Unblocks commits. The next one fails if `status` is an error.
  void Release(absl::Status status = absl::OkStatus()) {
    absl::MutexLock lock(&mutex_);
    open_ = true;
    next_status_ = std::move(status);
  }

  absl::Status Commit(absl::Span<const BatchToCommit> batches) override {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&open_));
      const absl::Status status = std::exchange(next_status_, {});
      if (!status.ok()) return status;
    }
    return StoreWrapper::Commit(batches);
  }

  // Called before machines are forgotten.
  std::function<void()> on_forget = [] {};
  absl::Status ForgetMachines(const std::set<std::string>& names) override {
    on_forget();
    return StoreWrapper::ForgetMachines(names);
  }

  // Sets the result of CheckRoom. An error also fails PutMachine.
  void SetRoom(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    room_ = std::move(status);
  }
  // Blocks until CheckRoom has been called `checks` times.
  void AwaitRoomChecks(int checks) {
    absl::MutexLock lock(&mutex_);
    const auto asked = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return room_checks_ >= checks;
    };
    mutex_.Await(absl::Condition(&asked));
  }
  absl::Status CheckRoom() const override {
    absl::MutexLock lock(&mutex_);
    ++room_checks_;
    return room_;
  }
  // Makes the next HasBatch fail.
  void FailToFind(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    next_find_ = std::move(status);
  }
  absl::StatusOr<bool> HasBatch(uint32_t epoch_number, uint64_t sequence,
                                uint64_t fingerprint) const override {
    absl::MutexLock lock(&mutex_);
    const absl::Status status = std::exchange(next_find_, {});
    if (!status.ok()) return status;
    return StoreWrapper::HasBatch(epoch_number, sequence, fingerprint);
  }
  absl::Status PutMachine(const StoredMachine& machine) override {
    {
      absl::MutexLock lock(&mutex_);
      if (!room_.ok()) return room_;
    }
    return StoreWrapper::PutMachine(machine);
  }

 private:
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status next_status_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Status next_find_ ABSL_GUARDED_BY(mutex_);
  absl::Status room_ ABSL_GUARDED_BY(mutex_);
  mutable int room_checks_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Records the batches that subscribers would see.
class Observer : public BatchObserver {
 public:
  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override {
    sequences.push_back(batch->sequence);
    if (on_batch) on_batch();
  }
  bool IsWatched(const std::string& machine) override {
    return watched && (watched_machine.empty() || machine == watched_machine);
  }

  std::vector<uint64_t> sequences;
  std::function<void()> on_batch;
  std::string watched_machine;  // empty: all
  bool watched = false;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() { Restart(); }
  ~SessionTest() override { gate_->Release(); }

  // Restarts the aggregator as if it had been killed.
  void Restart() {
    session_.reset();
    ingest_.reset();
    if (restarted_) store_.Reopen();
    restarted_ = true;
    gate_ = std::make_unique<GatedStore>(&*store_);
    ingest_ = std::make_unique<Ingest>(gate_.get(), &observer_, &planner_,
                                       limits_, &clock_);
  }

  static v1::CollectRequest Hello(uint64_t first = 1, uint64_t last = 0,
                                  uint64_t epoch = kEpoch) {
    v1::CollectRequest request;
    v1::Hello* hello = request.mutable_hello();
    hello->set_agent("web-1");
    hello->set_epoch(epoch);
    v1::HeldEpoch* held = hello->add_held_epochs();
    held->set_epoch(epoch);
    held->set_first_sequence(first);
    held->set_last_sequence(last);
    return request;
  }

  // The Hello of a process that also holds batches of an earlier epoch.
  static v1::CollectRequest HelloAfter(uint64_t former, uint64_t epoch) {
    v1::CollectRequest request = Hello(1, 0, epoch);
    auto* held = request.mutable_hello()->mutable_held_epochs();
    held->Add()->set_epoch(former);
    held->Mutable(1)->set_first_sequence(1);
    held->SwapElements(0, 1);
    return request;
  }

  // Opens a new stream of the agent web-1.
  std::shared_ptr<Session> Connect(const std::string& address = "box:1",
                                   uint64_t epoch = kEpoch) {
    link_ = std::make_shared<Link>(epoch);
    return std::make_shared<Session>(
        ingest_.get(),
        PeerIdentity{.names = {"web-1", "db1", "db3"}, .role = Role::kAgent},
        address, link_);
  }
  // Blocks until all earlier batches are committed and acknowledged.
  void AwaitCommits() {
    absl::Notification done;
    ingest_->AfterCommits([&] { done.Notify(); });
    done.WaitForNotification();
  }
  v1::Welcome Welcomed(const v1::CollectRequest& hello = Hello()) {
    session_ = Connect();
    const absl::Status status = session_->Handle(hello);
    EXPECT_OK(status);
    if (!status.ok()) return {};
    const v1::Welcome welcome = link_->WaitForWelcome();
    AwaitCommits();  // the observer is asked after Welcome
    return welcome;
  }

  // Returns the next batch. It has one tick of a disk's queue length, which
  // equals the batch's sequence.
  v1::CollectRequest Batch() {
    if (instance_ == 0) Define();
    const uint64_t sequence = ++sequence_;
    writer_.AddTick(query_, ClocksAt(static_cast<double>(sequence)),
                    {{instance_, {sequence}}});
    v1::CollectRequest request;
    *request.mutable_batch() =
        MakeSealedBatch(kEpoch, sequence, writer_.TakeContent());
    return request;
  }
  // Returns a batch with a tick, but also with a loss that the agent may not
  // report.
  v1::CollectRequest BadBatch() {
    writer_.Lose("db2", kStart, kStart, 1, v1::LOSS_CAUSE_OVERRUN);
    return Batch();
  }
  void Define() {
    const uint32_t machine = writer_.Machine("web-1");
    const uint32_t disk = writer_.Counterset(DiskRegistration());
    query_ = writer_.Query(machine, disk, absl::Seconds(1), {{kQueueLength}});
    instance_ = writer_.Instance(machine, disk, "C:");
  }
  absl::Status Handle(v1::CollectRequest request) {
    return session_->Handle(std::move(request));
  }
  std::vector<std::string> Stored() { return store_.Read("web-1"); }

  TestStore store_;
  Observer observer_;
  IngestLimits limits_;
  testing::SimulatedClock clock_;
  Planner planner_{{}, &clock_};
  bool restarted_ = false;
  std::unique_ptr<GatedStore> gate_;
  std::unique_ptr<Ingest> ingest_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Session> session_;
  BatchWriter writer_;
  uint32_t query_ = 0;
  uint32_t instance_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_INGEST_SESSION_FIXTURE_H_
