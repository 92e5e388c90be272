#include "aggregator/own/own_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "aggregator/plan/planner.h"
#include "base/own_counterset.h"
#include "perflib/counter_type.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using testing::SimulatedClock;

constexpr absl::Duration kInterval = absl::Seconds(10);

// Records the machines of the frames that subscribers would get.
class CountingObserver : public BatchObserver {
 public:
  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override {
    absl::MutexLock lock(&mutex_);
    for (const Frame& frame : batch->decoded.frames) {
      machines_.push_back(frame.query->machine);
    }
  }
  bool IsWatched(const std::string&) override { return false; }

  std::vector<std::string> machines() {
    absl::MutexLock lock(&mutex_);
    return machines_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> machines_ ABSL_GUARDED_BY(mutex_);
};

class OwnCollectionTest : public ::testing::Test {
 protected:
  OwnCollectionTest()
      : counters_("{00000001-0000-0000-0000-000000000000}", "Own", "help",
                  {{{{5, perflib::kPerfCounterBulkCount, "Ticks/sec", ""},
                     {9, perflib::kPerfCounterLargeRawcount, "Backlog", ""}},
                    [this] {
                      ++reads_;
                      return OwnCounterset::Values{100 * reads_, backlog_};
                    }}}) {}

  SimulatedClock clock_{SimulatedClock::Waits::kSimulated};
  testing::TestStore store_;
  CountingObserver observer_;
  Planner planner_{{}, &clock_};
  uint64_t reads_ = 0;
  std::optional<uint64_t> backlog_ = 7;
  const OwnCounterset counters_;
};

TEST_F(OwnCollectionTest, StoresATickAtEachInterval) {
  {
    Ingest ingest(&*store_, &observer_, &planner_, {}, &clock_);
    OwnCollection collection("central", &counters_, &ingest, &clock_);
    clock_.AwaitWaiting(kInterval);
    clock_.Advance(kInterval);
    clock_.AwaitWaiting(kInterval);
  }  // commits pending batches
  EXPECT_THAT(store_.Read("central"),
              ElementsAre(EndsWith(" 100 7"), EndsWith(" 200 7")));
  EXPECT_THAT(observer_.machines(), ElementsAre("central", "central"));
  EXPECT_THAT(store_->GetMachines(), IsEmpty());
}

TEST_F(OwnCollectionTest, StoresNoValueThatIsUnknown) {
  backlog_ = std::nullopt;
  {
    Ingest ingest(&*store_, &observer_, &planner_, {}, &clock_);
    OwnCollection collection("central", &counters_, &ingest, &clock_);
    clock_.AwaitWaiting(kInterval);
  }
  EXPECT_THAT(store_.Read("central"), ElementsAre(EndsWith(" 100 -")));
}

// The counts restart from 0 in each process.
TEST_F(OwnCollectionTest, UsesANewEpochInEachProcess) {
  for (int process = 0; process < 2; ++process) {
    Ingest ingest(&*store_, &observer_, &planner_, {}, &clock_);
    OwnCollection collection("central", &counters_, &ingest, &clock_);
    clock_.AwaitWaiting(kInterval);
  }
  EXPECT_THAT(store_.Read("central"),
              ElementsAre(EndsWith(" 100 7"), EndsWith(" 200 7")));
}

}  // namespace
}  // namespace fleetperf::aggregator
