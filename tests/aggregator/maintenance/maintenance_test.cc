#include "aggregator/maintenance/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/disk_agent.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::SimulatedClock;
using ::testing::SizeIs;

// By maintenance.cc: how often it looks, and how often it removes.
constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kRemovalInterval = absl::Minutes(10);

// Notes what it is asked for.
class NotingStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::StatusOr<bool> Compact(absl::Time) override {
    Note("compact");
    return false;
  }
  absl::StatusOr<bool> Thin(Resolution, absl::Time) override {
    Note("thin");
    return false;
  }
  absl::Status DropBefore(absl::Time) override {
    Note("drop");
    return absl::OkStatus();
  }
  absl::Status DropTo(uint64_t) override {
    Note("shrink");
    return absl::OkStatus();
  }

  // Since the last call.
  std::vector<std::string> Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(notes_, {});
  }

 private:
  void Note(const char* note) {
    absl::MutexLock lock(&mutex_);
    notes_.push_back(note);
  }

  absl::Mutex mutex_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mutex_);
};

class MaintenanceTest : public ::testing::Test {
 protected:
  using Notes = std::vector<std::string>;

  void Start() {
    maintenance_ = std::make_unique<Maintenance>(&noting_store_, retention_,
                                                 &guard_, &clock_);
    clock_.AwaitWaiting(kInterval);
  }
  // Lets the time pass, and maintenance do what it does meanwhile.
  void Pass(absl::Duration time) {
    for (absl::Duration end = clock_.Monotonic() + time;
         clock_.Monotonic() < end;) {
      clock_.Advance(kInterval);
      clock_.AwaitWaiting(kInterval);
    }
  }

  SimulatedClock clock_{SimulatedClock::Waits::kSimulated};
  testing::TestStore store_;
  NotingStore noting_store_{&*store_};
  ClockGuard guard_{&noting_store_, &clock_};
  Retention retention_{.max_size = 1 << 30};
  std::unique_ptr<Maintenance> maintenance_;
};

const std::vector<std::string> kAll = {"compact", "drop", "thin", "thin",
                                       "shrink"};

TEST_F(MaintenanceTest, CompactsEachTenSecondsAndRemovesEachTenMinutes) {
  Start();
  EXPECT_EQ(noting_store_.Take(), kAll);
  Pass(kRemovalInterval - kInterval);
  EXPECT_EQ(noting_store_.Take(), Notes(59, "compact"));
  Pass(kInterval);
  EXPECT_EQ(noting_store_.Take(), kAll);
}

TEST_F(MaintenanceTest, GoesOnWhenTheTimeOfDayIsSetBack) {
  Start();
  EXPECT_EQ(noting_store_.Take(), kAll);
  clock_.Step(-absl::Hours(1));
  Pass(kRemovalInterval - kInterval);
  EXPECT_EQ(noting_store_.Take(), Notes(59, "compact"));
  Pass(kInterval);
  EXPECT_EQ(noting_store_.Take(), kAll);
}

TEST_F(MaintenanceTest, RemovesNothingByAgeAfterAJump) {
  Start();
  noting_store_.Take();
  Pass(kRemovalInterval - kInterval);
  noting_store_.Take();
  // Just before it removes: that is the first to notice.
  clock_.Step(absl::Hours(24 * 450));
  Pass(kInterval);
  EXPECT_THAT(noting_store_.Take(), ElementsAre("compact", "shrink"));
  // It was for some seconds.
  Pass(kInterval);
  clock_.Step(-absl::Hours(24 * 450));
  Pass(absl::Hours(1));
  EXPECT_THAT(noting_store_.Take(), Not(Contains(AnyOf("drop", "thin"))));
  EXPECT_TRUE(guard_.Confirm());
  Pass(kRemovalInterval);
  EXPECT_THAT(noting_store_.Take(), IsSupersetOf(kAll));
}

TEST_F(MaintenanceTest, RemovesByAgeAgainADayAfterAJump) {
  Start();
  noting_store_.Take();
  clock_.Step(absl::Hours(24 * 8));
  Pass(absl::Hours(24) - kRemovalInterval);
  EXPECT_THAT(noting_store_.Take(), Not(Contains(AnyOf("drop", "thin"))));
  Pass(2 * kRemovalInterval);
  EXPECT_THAT(noting_store_.Take(), IsSupersetOf(kAll));
}

// The same with the store itself.
TEST(Maintenance, AWrongClockRemovesNoSample) {
  SimulatedClock clock(SimulatedClock::Waits::kSimulated);
  testing::TestStore store;
  testing::DiskAgent agent(&store);
  agent.Ticks(1, 100, {{agent.Disk("C:"), 1}});
  ASSERT_OK(agent.Send(clock.Now()));
  ClockGuard guard(&*store, &clock);
  const std::vector<std::string> samples = store.Read("web-1");
  ASSERT_THAT(samples, SizeIs(100));
  const auto run = [&] {
    const Maintenance maintenance(&*store, {}, &guard, &clock);
    clock.AwaitWaiting(kInterval);
  };
  run();
  clock.Step(absl::Hours(24 * 450));
  run();
  clock.Advance(absl::Seconds(25));
  run();
  EXPECT_EQ(store.Read("web-1"), samples);
  // The clock was right.
  EXPECT_TRUE(guard.Confirm());
  run();
  EXPECT_THAT(store.Read("web-1"), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
