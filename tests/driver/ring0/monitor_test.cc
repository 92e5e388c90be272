// The monitor itself: what happens if the guest fails.

#include "tests/driver/ring0/monitor.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driver/pmu/simulation/cpu_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/driver/ring0/bench.h"

namespace fleetperf::ring0 {
namespace {

using ::testing::HasSubstr;

class MonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = CheckKvm();
    if (!status.ok()) {
      GTEST_SKIP() << "did not run: " << status.message();
    }
  }

  absl::Status Run(Bench& bench, Task task) {
    bench.mailbox().task = task;
    return bench.monitor().Run();
  }
};

TEST_F(MonitorTest, EndsAGuestThatComputesForever) {
  Bench bench(pmu::Skylake());
  bench.monitor().set_limits({.time = absl::Milliseconds(50)});
  const absl::Status status = Run(bench, Task::kSpin);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the guest did not end its task within 50ms: CPU 0"));
}

TEST_F(MonitorTest, EndsAGuestThatCallsForever) {
  Bench bench(pmu::Skylake());
  bench.monitor().set_limits({.exits = 100});
  const absl::Status status = Run(bench, Task::kCallForever);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the guest made 100 exits without an end"));
}

TEST_F(MonitorTest, ReportsAnExceptionOfTheGuest) {
  Bench bench(pmu::Skylake());
  const absl::Status status = Run(bench, Task::kUndefined);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("unexpected exception 6"));
}

TEST_F(MonitorTest, RefusesAnImageThatIsNone) {
  Banks banks({pmu::Skylake(), pmu::Skylake()});
  EXPECT_EQ(Monitor::Create("/dev/null", {}, banks).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fleetperf::ring0
