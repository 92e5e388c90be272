// A hub with threads: the waits that it must avoid, and its end.

#include <atomic>
#include <deque>
#include <set>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/aggregator/subscribe/hub_fixture.h"
#include "tests/support/store_wrapper.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using testing::kStart;

// A store that blocks reads, or the use of its directory.
class StandingStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  const Directory& directory() const override {
    if (directory_stands_) GoOn(&looking_);
    return StoreWrapper::directory();
  }
  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    ++reads_;
    if (standing_machine_ == request.machine) GoOn(&reading_);
    absl::Status status = StoreWrapper::Read(request, on_frame, on_loss);
    while (status.ok() && endless_machine_ == request.machine) {
      Arrive(&reading_);
      status = StoreWrapper::Read(request, on_frame, on_loss);
    }
    return status;
  }

  // Must be called before the hub works.
  void SetStanding(const std::string& machine) { standing_machine_ = machine; }
  void SetEndless(const std::string& machine) { endless_machine_ = machine; }
  void SetDirectoryStanding(bool stands) { directory_stands_ = stands; }

  void Release() { go_on_.Notify(); }
  void WaitUntilReading() const { WaitFor(reading_); }
  void WaitUntilLooking() const { WaitFor(looking_); }
  int reads() const { return reads_; }

 private:
  static void WaitFor(const std::atomic<bool>& what) { what.wait(false); }
  static void Arrive(std::atomic<bool>* at) {
    *at = true;
    at->notify_all();
  }
  void GoOn(std::atomic<bool>* at) const {
    Arrive(at);
    go_on_.WaitForNotification();
  }

  std::string standing_machine_;
  std::string endless_machine_;
  std::atomic<bool> directory_stands_ = false;
  mutable std::atomic<bool> looking_ = false;
  std::atomic<bool> reading_ = false;
  std::atomic<int> reads_ = 0;
  absl::Notification go_on_;
};

// Receives updates as they arrive.
class WaitingReader {
 public:
  explicit WaitingReader(const std::shared_ptr<Subscription>& subscription)
      : reader_(subscription) {
    subscription->outbox()->SetListener([bell = bell_] {
      absl::MutexLock lock(&bell->mutex);
      bell->has_rung = true;
    });
  }

  // Waits for the note and skips earlier ones.
  void WaitFor(const std::string& note) { WaitForAll({note}); }
  // Waits for the notes, in any order, and skips others.
  void WaitForAll(std::set<std::string> awaited) {
    for (;;) {
      for (std::string& read : reader_.Read()) {
        notes_.push_back(std::move(read));
      }
      while (!notes_.empty()) {
        awaited.erase(notes_.front());
        notes_.pop_front();
        if (awaited.empty()) return;
      }
      absl::MutexLock lock(&bell_->mutex);
      bell_->mutex.Await(absl::Condition(&bell_->has_rung));
      bell_->has_rung = false;
    }
  }

  const std::shared_ptr<Subscription>& subscription() const {
    return reader_.subscription();
  }

 private:
  struct Bell {
    absl::Mutex mutex;
    bool has_rung ABSL_GUARDED_BY(mutex) = false;
  };

  Reader reader_;
  std::deque<std::string> notes_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
};

class HubThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (DiskAgent* agent : {&web_, &db_}) {
      agent->Ticks(1, 1, {{agent->Disk("C:"), 3}});
      ASSERT_OK(agent->Send());
    }
  }
  // Blocked calls continue before the hub ends.
  void TearDown() override {
    if (!released_) Release();
    hub_.Stop();
  }
  void Release() {
    released_ = true;
    standing_.Release();
  }

  std::unique_ptr<WaitingReader> MakeReader(
      const std::string& path, std::optional<absl::Time> start = {},
      absl::Duration interval = {}) {
    auto paths = PathSet::Parse({path}, test_store_->directory());
    EXPECT_OK(paths);
    return std::make_unique<WaitingReader>(std::make_shared<Subscription>(
        SubscriptionRequest{.paths = *std::move(paths),
                            .form = {.interval = interval},
                            .start = start}));
  }
  std::unique_ptr<WaitingReader> Subscribe(
      const std::string& path, std::optional<absl::Time> start = {}) {
    auto reader = MakeReader(path, start);
    EXPECT_OK(hub_.Add(reader->subscription()));
    return reader;
  }

  // A value of the queue's length arrives at this second.
  void Arrive(DiskAgent& agent, int second) {
    // The ids of machine, counterset and query precede those of instances.
    agent.Ticks(second, second, {{agent.query + 1, 3}});
    const auto batch = agent.TakeBatch();
    ASSERT_OK(batch);
    hub_.OnBatch(*batch);
  }

  testing::TestStore test_store_;
  StandingStore standing_{&*test_store_};
  DiskAgent web_{&test_store_, "web-1"};
  DiskAgent db_{&test_store_, "db-1"};
  Hub hub_{&standing_, {}, /*threads=*/1};
  bool released_ = false;
};

TEST_F(HubThreadsTest, LiveValuesDoNotWaitForHistory) {
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length");
  const auto db = Subscribe("\\\\db-1\\Disk(*)\\Queue Length");
  web->WaitFor("1@1=3");
  db->WaitFor("1@1=3");
  standing_.SetStanding("db-1");
  // The selection already has a feed, so only history is read.
  const auto history = Subscribe("\\\\db-1\\Disk(*)\\Queue Length", kStart);
  standing_.WaitUntilReading();
  Arrive(web_, 2);
  web->WaitFor("1@2=3");
  // Values of the same machine are delivered, too.
  Arrive(db_, 2);
  db->WaitFor("1@2=3");
  // Other subscribers can join.
  const auto late = Subscribe("\\\\web-1\\Disk(*)\\Transfers/sec");
  Arrive(web_, 3);
  late->WaitFor("1@3=3");
  Release();
  history->WaitFor("1@1=3");
  history->WaitFor("1@2=3");
}

TEST_F(HubThreadsTest, BatchesThatAreNotUrgentAreEvaluatedTogether) {
  const auto reader = MakeReader("\\Disk(*)\\Queue Length", std::nullopt,
                                 Hub::kWidenedInterval);
  ASSERT_OK(hub_.Add(reader->subscription()));
  for (int second = 2; second <= 21; ++second) {
    Arrive(web_, second);
    Arrive(db_, second);
  }
  reader->WaitForAll({"1@20=3", "2@20=3"});
}

TEST_F(HubThreadsTest, LiveValuesDoNotWaitForNewSubscribers) {
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length");
  const auto db = Subscribe("\\\\db-1\\Disk(*)\\Queue Length");
  web->WaitFor("1@1=3");
  db->WaitFor("1@1=3");
  standing_.SetStanding("db-1");
  // Another selection needs the stored samples.
  const auto joining = Subscribe("\\\\db-1\\Disk(*)\\*");
  standing_.WaitUntilReading();
  for (int second = 2; second < 50; ++second) {
    Arrive(web_, second);
    Arrive(db_, second);
    web->WaitFor(absl::StrCat("1@", second, "=3"));
    db->WaitFor(absl::StrCat("1@", second, "=3"));
  }
  Release();
  joining->WaitFor("1@1=3");
  for (int second = 2; second < 50; ++second) {
    joining->WaitFor(absl::StrCat("1@", second, "=3"));
  }
}

TEST_F(HubThreadsTest, IngestDoesNotWaitForPathResolution) {
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length");
  web->WaitFor("1@1=3");
  standing_.SetDirectoryStanding(true);
  const auto late = MakeReader("\\\\db-*\\Disk(*)\\Queue Length");
  hub_.Post([this, subscription = late->subscription()] {
    EXPECT_OK(hub_.Add(subscription));
  });
  standing_.WaitUntilLooking();
  Arrive(web_, 2);
  web->WaitFor("1@2=3");
  EXPECT_TRUE(hub_.IsWatched("web-1"));
  EXPECT_FALSE(hub_.IsWatched("db-1"));
  standing_.SetDirectoryStanding(false);
  Release();
  late->WaitFor("1@1=3");
}

// The store and the callbacks may be destroyed once Stop returns.
TEST_F(HubThreadsTest, CallsNothingAfterStop) {
  std::atomic<bool> is_stopped = false;
  std::vector<std::function<void()>> after_commits;
  absl::Mutex mutex;
  hub_.SetAfterCommits([&](const std::function<void()>& task) {
    EXPECT_FALSE(is_stopped);
    absl::MutexLock lock(&mutex);
    after_commits.push_back(task);
    if (after_commits.size() == 1) task();
  });
  hub_.SetLiveListener([&] { EXPECT_FALSE(is_stopped); });
  standing_.SetStanding("web-1");
  // The first subscription waits for a read, the second for a commit.
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length", kStart);
  standing_.WaitUntilReading();
  const auto db = Subscribe("\\\\db-1\\Disk(*)\\Queue Length", kStart);
  std::thread stop([&] { hub_.Stop(); });
  Release();
  stop.join();
  is_stopped = true;
  const int reads = standing_.reads();
  // A commit in flight ends, and batches may still be evaluated.
  {
    absl::MutexLock lock(&mutex);
    for (size_t i = 1; i < after_commits.size(); ++i) after_commits[i]();
  }
  Arrive(web_, 2);
  hub_.Remove(web->subscription());
  hub_.Post([] { FAIL(); });
  EXPECT_FALSE(hub_.WorkOnce());
  EXPECT_EQ(standing_.reads(), reads);
}

TEST_F(HubThreadsTest, StopEndsALongRead) {
  const auto live = Subscribe("\\\\web-1\\Disk(*)\\Queue Length");
  live->WaitFor("1@1=3");
  standing_.SetEndless("web-1");
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length", kStart);
  standing_.WaitUntilReading();
  hub_.Stop();
}

TEST_F(HubThreadsTest, StopsReadingHistoryOfAnEndedSubscription) {
  const auto db = Subscribe("\\\\db-1\\Disk(*)\\Queue Length");
  db->WaitFor("1@1=3");
  standing_.SetEndless("db-1");
  const auto gone = Subscribe("\\\\db-1\\Disk(*)\\Queue Length", kStart);
  standing_.WaitUntilReading();
  hub_.Remove(gone->subscription());
  // History has one thread.
  const auto web = Subscribe("\\\\web-1\\Disk(*)\\Queue Length", kStart);
  web->WaitFor("1@1=3");
}

}  // namespace
}  // namespace fleetperf::aggregator
