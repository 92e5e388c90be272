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

// The intervals of compaction and removal in maintenance.cc.
constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kRemovalInterval = absl::Minutes(10);

// Records the maintenance calls.
class RecordingStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::StatusOr<bool> Compact(absl::Time) override {
    Record("compact");
    return false;
  }
  absl::StatusOr<bool> Thin(Resolution, absl::Time) override {
    Record("thin");
    return false;
  }
  absl::Status DropBefore(absl::Time) override {
    Record("drop");
    return absl::OkStatus();
  }
  absl::Status DropTo(uint64_t) override {
    Record("shrink");
    return absl::OkStatus();
  }

  // Returns the maintenance calls since the last Take.
  std::vector<std::string> Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(calls_, {});
  }

 private:
  void Record(const char* call) {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(call);
  }

  absl::Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

class MaintenanceTest : public ::testing::Test {
 protected:
  using Calls = std::vector<std::string>;

  void Start() {
    maintenance_ = std::make_unique<Maintenance>(&recording_store_, retention_,
                                                 &guard_, &clock_);
    clock_.AwaitWaiting(kInterval);
  }
  // Advances the clock and runs the maintenance that is due.
  void Pass(absl::Duration time) {
    for (absl::Duration end = clock_.Monotonic() + time;
         clock_.Monotonic() < end;) {
      clock_.Advance(kInterval);
      clock_.AwaitWaiting(kInterval);
    }
  }

  SimulatedClock clock_{SimulatedClock::Waits::kSimulated};
  testing::TestStore store_;
  RecordingStore recording_store_{&*store_};
  ClockGuard guard_{&recording_store_, &clock_};
  Retention retention_{.max_size = 1 << 30};
  std::unique_ptr<Maintenance> maintenance_;
};

const std::vector<std::string> kAll = {"compact", "drop", "thin", "thin",
                                       "shrink"};

TEST_F(MaintenanceTest, CompactsEveryTenSecondsAndRemovesEveryTenMinutes) {
  Start();
  EXPECT_EQ(recording_store_.Take(), kAll);
  Pass(kRemovalInterval - kInterval);
  EXPECT_EQ(recording_store_.Take(), Calls(59, "compact"));
  Pass(kInterval);
  EXPECT_EQ(recording_store_.Take(), kAll);
}

TEST_F(MaintenanceTest, AppliesANewRetentionWithTheNextRemoval) {
  Start();
  recording_store_.Take();
  retention_.max_size = 0;
  maintenance_->SetRetention(retention_);
  Pass(kRemovalInterval - kInterval);
  EXPECT_EQ(recording_store_.Take(), Calls(59, "compact"));
  Pass(kInterval);
  EXPECT_THAT(recording_store_.Take(),
              ElementsAre("compact", "drop", "thin", "thin"));
}

TEST_F(MaintenanceTest, KeepsItsScheduleWhenTheClockIsSetBack) {
  Start();
  EXPECT_EQ(recording_store_.Take(), kAll);
  clock_.Step(-absl::Hours(1));
  Pass(kRemovalInterval - kInterval);
  EXPECT_EQ(recording_store_.Take(), Calls(59, "compact"));
  Pass(kInterval);
  EXPECT_EQ(recording_store_.Take(), kAll);
}

TEST_F(MaintenanceTest, RemovesNothingByAgeAfterAJump) {
  Start();
  recording_store_.Take();
  Pass(kRemovalInterval - kInterval);
  recording_store_.Take();
  // The removal that is due next is the first to detect the jump.
  clock_.Step(absl::Hours(24 * 450));
  Pass(kInterval);
  EXPECT_THAT(recording_store_.Take(), ElementsAre("compact", "shrink"));
  // The clock is set right after a few seconds.
  Pass(kInterval);
  clock_.Step(-absl::Hours(24 * 450));
  Pass(absl::Hours(1));
  EXPECT_THAT(recording_store_.Take(), Not(Contains(AnyOf("drop", "thin"))));
  EXPECT_TRUE(guard_.Confirm());
  Pass(kRemovalInterval);
  EXPECT_THAT(recording_store_.Take(), IsSupersetOf(kAll));
}

TEST_F(MaintenanceTest, ResumesRemovalByAgeADayAfterAJump) {
  Start();
  recording_store_.Take();
  clock_.Step(absl::Hours(24 * 8));
  Pass(absl::Hours(24) - kRemovalInterval);
  EXPECT_THAT(recording_store_.Take(), Not(Contains(AnyOf("drop", "thin"))));
  Pass(2 * kRemovalInterval);
  EXPECT_THAT(recording_store_.Take(), IsSupersetOf(kAll));
}

// The same as above with a real store.
TEST(Maintenance, DoesNotRemoveSamplesWhileTheClockIsWrong) {
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
  // An operator confirms the clock.
  EXPECT_TRUE(guard.Confirm());
  run();
  EXPECT_THAT(store.Read("web-1"), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
