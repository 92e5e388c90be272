#include "agent/source/deadline_source.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "perflib/registration.h"
#include "tests/support/guids.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kAtOnce = absl::Milliseconds(1);
constexpr perflib::Guid kHangingGuid = {.data1 = 8};

// Events in the calls of a source that a deadline source wraps.
struct Events {
  absl::Notification hangs;            // a call hangs
  absl::Notification release;          // ends the hanging call
  absl::Notification closed;           // the handle is closed
  absl::Notification gone;             // the source is destroyed
  std::atomic<int> hanging_lists = 0;  // of instances
};

class HangingSource : public Source {
 public:
  explicit HangingSource(std::shared_ptr<Events> events)
      : events_(std::move(events)) {}
  ~HangingSource() override { events_->gone.Notify(); }

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    return std::vector<perflib::Guid>{perflib::Guid{.data1 = 7}};
  }
  // Hangs for kHangingGuid.
  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& guid, perflib::RegistrationRequest,
      uint32_t) override {
    if (guid != kHangingGuid) return absl::NotFoundError("no such counterset");
    // On a busy machine a call may be overdue before it begins, so that Hang
    // calls again.
    if (!events_->hangs.HasBeenNotified()) events_->hangs.Notify();
    events_->release.WaitForNotification();
    return std::string("late");
  }
  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid& guid) override {
    if (guid != kHangingGuid) return std::string("instances");
    ++events_->hanging_lists;
    events_->release.WaitForNotification();
    return std::string("late");
  }
  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<Handle>(events_);
  }

 private:
  class Handle : public QueryHandle {
   public:
    explicit Handle(std::shared_ptr<Events> events)
        : events_(std::move(events)) {}
    ~Handle() override {
      if (!was_used_) events_->release.WaitForNotification();
      if (!events_->closed.HasBeenNotified()) events_->closed.Notify();
    }

    absl::Status AddCounters(
        std::vector<perflib::CounterIdentifier>* identifiers) override {
      was_used_ = true;
      for (auto& identifier : *identifiers) identifier.status = 4202;
      return absl::OkStatus();
    }
    absl::Status DeleteCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> QueryCounterInfo() override {
      was_used_ = true;
      events_->release.WaitForNotification();
      return std::string("late");
    }
    absl::Status QueryCounterData(std::string* block) override {
      *block = "block";
      return absl::OkStatus();
    }

   private:
    const std::shared_ptr<Events> events_;
    bool was_used_ = false;  // closing an unused handle hangs
  };

  const std::shared_ptr<Events> events_;
};

class DeadlineSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Source> Make(absl::Duration deadline) {
    return MakeDeadlineSource(std::make_unique<HangingSource>(events_), "db1",
                              deadline);
  }
  // Makes a call that hangs, and waits until it is overdue.
  void Hang(Source& source) {
    while (!events_->hangs.HasBeenNotified()) {
      EXPECT_FALSE(
          source
              .QueryCounterSetRegistrationInfo(
                  kHangingGuid, perflib::RegistrationRequest::kProviderGuid, 0)
              .ok());
    }
  }
  // Retries until the handle opens, however slow the machine is.
  static std::unique_ptr<QueryHandle> OpenHandle(Source& source) {
    for (;;) {
      auto handle = source.OpenQueryHandle();
      if (handle.ok()) return *std::move(handle);
    }
  }
  ~DeadlineSourceTest() override {
    if (!events_->release.HasBeenNotified()) events_->release.Notify();
    events_->gone.WaitForNotification();
  }

  const std::shared_ptr<Events> events_ = std::make_shared<Events>();
};

TEST_F(DeadlineSourceTest, ForwardsCallsAndErrors) {
  const auto source = Make(kLong);
  ASSERT_OK_AND_ASSIGN(const auto guids, source->EnumerateCounterSet());
  EXPECT_EQ(guids, (std::vector<perflib::Guid>{{.data1 = 7}}));
  EXPECT_THAT(source->QueryCounterSetRegistrationInfo(
                  {}, perflib::RegistrationRequest::kProviderGuid, 0),
              StatusIs(absl::StatusCode::kNotFound, "no such counterset"));
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  std::vector<perflib::CounterIdentifier> identifiers(2);
  ASSERT_OK(handle->AddCounters(&identifiers));
  EXPECT_EQ(identifiers[1].status, 4202);
  for (int i = 0; i < 3; ++i) {
    std::string block;
    ASSERT_OK(handle->QueryCounterData(&block));
    EXPECT_EQ(block, "block");
  }
}

TEST_F(DeadlineSourceTest, FailsHangingCallsAtTheDeadline) {
  const auto source = Make(kAtOnce);
  EXPECT_THAT(source->EnumerateCounterSetInstances(kHangingGuid),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "db1 has not answered PerfEnumerateCounterSetInstances "
                       "within 1ms"));
}

TEST_F(DeadlineSourceTest, FailsAtOnceWhileACallHangs) {
  const auto source = Make(kAtOnce);
  Hang(*source);
  EXPECT_THAT(source->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "db1 still has not answered "
                       "PerfQueryCounterSetRegistrationInfo"));
}

// Collection must not wait for a provider that a user asks for its instances.
TEST_F(DeadlineSourceTest, AHangingListOfInstancesHarmsNoOtherCall) {
  const auto source = Make(absl::Milliseconds(100));
  EXPECT_THAT(source->EnumerateCounterSetInstances(kHangingGuid),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  // A slow machine may begin no call before its deadline.
  while (events_->hanging_lists == 0) {
    EXPECT_FALSE(source->EnumerateCounterSetInstances(kHangingGuid).ok());
  }
  EXPECT_THAT(source->EnumerateCounterSetInstances(kHangingGuid),
              StatusIs(absl::StatusCode::kUnavailable,
                       "db1 still has not answered "
                       "PerfEnumerateCounterSetInstances"));
  EXPECT_EQ(events_->hanging_lists, 1);
  while (!source->EnumerateCounterSetInstances({}).ok()) {
  }
  while (!source->EnumerateCounterSet().ok()) {
  }
  events_->release.Notify();
  while (!source->EnumerateCounterSetInstances(kHangingGuid).ok()) {
  }
}

TEST_F(DeadlineSourceTest, WorksAgainWhenTheCallReturns) {
  const auto source = Make(absl::Milliseconds(100));
  Hang(*source);
  events_->release.Notify();
  while (!source->EnumerateCounterSet().ok()) std::this_thread::yield();
}

TEST_F(DeadlineSourceTest, SerializesCallsOfTwoThreads) {
  const auto source = Make(kLong);
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_OK(source->EnumerateCounterSet());
  });
  for (int i = 0; i < 1000; ++i) EXPECT_OK(source->EnumerateCounterSet());
  other.join();
}

TEST_F(DeadlineSourceTest, ClosesHandlesAfterAHangingCall) {
  const auto source = Make(absl::Milliseconds(100));
  {
    const auto handle = OpenHandle(*source);
    EXPECT_THAT(handle->QueryCounterInfo(),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         AllOf(HasSubstr("db1"), HasSubstr("100ms"))));
  }
  EXPECT_FALSE(events_->closed.HasBeenNotified());
  events_->release.Notify();
  events_->closed.WaitForNotification();
}

TEST_F(DeadlineSourceTest, AHangingCloseHarmsNoOtherCall) {
  const auto source = Make(kLong);
  OpenHandle(*source).reset();  // waits for `release`
  EXPECT_OK(source->EnumerateCounterSet());
  EXPECT_NE(OpenHandle(*source), nullptr);
  EXPECT_FALSE(events_->closed.HasBeenNotified());
}

TEST_F(DeadlineSourceTest, AHangingHandleHarmsNoOther) {
  const auto source = Make(absl::Milliseconds(100));
  const auto hanging = OpenHandle(*source);
  EXPECT_THAT(hanging->QueryCounterInfo(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  const auto other = OpenHandle(*source);
  std::string block;
  EXPECT_OK(other->QueryCounterData(&block));
  while (!source->EnumerateCounterSet().ok()) {
  }
}

// Answers calls of QueryCounterData when the test says so.
class SlowSource : public HangingSource {
 public:
  struct Calls {
    absl::Mutex mutex;
    int begun = 0;
    int allowed = 0;
  };
  SlowSource(std::shared_ptr<Events> events, std::shared_ptr<Calls> calls)
      : HangingSource(std::move(events)), calls_(std::move(calls)) {}

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<SlowHandle>(calls_);
  }

 private:
  class SlowHandle : public QueryHandle {
   public:
    explicit SlowHandle(std::shared_ptr<Calls> calls)
        : calls_(std::move(calls)) {}
    absl::Status AddCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::OkStatus();
    }
    absl::Status DeleteCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> QueryCounterInfo() override { return ""; }
    absl::Status QueryCounterData(std::string* block) override {
      absl::MutexLock lock(&calls_->mutex);
      const int number = ++calls_->begun;
      const auto is_allowed = [&] { return calls_->allowed >= number; };
      calls_->mutex.Await(absl::Condition(&is_allowed));
      *block = absl::StrCat("block ", number);
      return absl::OkStatus();
    }

   private:
    const std::shared_ptr<Calls> calls_;
  };

  const std::shared_ptr<Calls> calls_;
};

class PatienceTest : public DeadlineSourceTest {
 protected:
  PatienceTest()
      : source_(
            MakeDeadlineSource(std::make_unique<SlowSource>(events_, calls_),
                               "db1", kLong, &clock_)),
        handle_(source_->OpenQueryHandle().value()) {
    handle_->SetPatience(absl::ZeroDuration());
  }

  // Lets the calls up to `number` return.
  void Allow(int number) {
    absl::MutexLock lock(&calls_->mutex);
    calls_->allowed = number;
  }
  void WaitForCall(int number) {
    absl::MutexLock lock(&calls_->mutex);
    const auto has_begun = [&] { return calls_->begun >= number; };
    calls_->mutex.Await(absl::Condition(&has_begun));
  }
  absl::StatusOr<std::string> Query() {
    std::string block;
    const absl::Status status = handle_->QueryCounterData(&block);
    if (!status.ok()) return status;
    return block;
  }
  // Retries while the answer is late.
  std::string NextBlock() {
    for (;;) {
      const auto block = Query();
      if (block.ok()) return *block;
      EXPECT_THAT(std::string(block.status().message()),
                  HasSubstr("has not answered"));
    }
  }

  // Threads may use the clock after the end of their test.
  static testing::SimulatedClock& SharedClock() {
    static auto* const clock = new testing::SimulatedClock;
    return *clock;
  }

  testing::SimulatedClock& clock_ = SharedClock();
  const std::shared_ptr<SlowSource::Calls> calls_ =
      std::make_shared<SlowSource::Calls>();
  std::unique_ptr<Source> source_;
  std::unique_ptr<QueryHandle> handle_;
};

// One block for each call, in order: none is lost, none comes twice.
TEST_F(PatienceTest, ALateHandleReturnsTheBlockOfTheCallBefore) {
  EXPECT_THAT(Query(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  EXPECT_TRUE(handle_->IsHanging());
  Allow(1);
  EXPECT_EQ(NextBlock(), "block 1");
  WaitForCall(2);  // begun at once
  EXPECT_THAT(Query(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  Allow(3);
  EXPECT_EQ(NextBlock(), "block 2");
  EXPECT_EQ(NextBlock(), "block 3");
  Allow(100);
}

TEST_F(PatienceTest, ACallThatDoesNotReturnIsAborted) {
  EXPECT_THAT(Query(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  clock_.Advance(absl::Seconds(2));
  EXPECT_THAT(Query(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("db1")));
  clock_.Advance(absl::Seconds(2));
  EXPECT_THAT(Query(),
              StatusIs(absl::StatusCode::kAborted,
                       "db1 has not answered PerfQueryCounterData within 3s"));
  Allow(1);
  EXPECT_EQ(NextBlock(), "block 1");
  Allow(100);
}

TEST_F(DeadlineSourceTest, CanBeDestroyedWhileACallHangs) {
  auto source = Make(kAtOnce);
  Hang(*source);
  source.reset();
  EXPECT_FALSE(events_->gone.HasBeenNotified());
}

}  // namespace
}  // namespace fleetperf::agent
