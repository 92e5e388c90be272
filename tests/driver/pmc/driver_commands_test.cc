// What fleetperf-pmc does with the driver, on a PMU core with a simulated
// machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/hardware/driver_reader.h"
#include "driver/pmc/commands.h"
#include "driver/pmc/system_counts.h"
#include "tests/driver/hardware/in_process_device.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::pmc {
namespace {

using pmu::MsrBank;
using pmu::Ring;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kPerformanceCounterEnable = 1 << 8;  // CR4.PCE

// Calls a function of the test for each sleep.
class SleepingProcessor : public Processor {
 public:
  explicit SleepingProcessor(std::function<void(absl::Duration)> sleep)
      : sleep_(std::move(sleep)) {}
  void Run(const Loop&, uint64_t) override {}
  uint64_t RunBetweenReads(const ExactCode&, uint32_t) override { return 0; }
  void ReadInStrides(absl::Span<const uint8_t>, size_t) override {}
  void Sleep(absl::Duration duration) override { sleep_(duration); }
  uint64_t ReadTimestamp() override { return 0; }
  absl::Duration Now() override { return absl::ZeroDuration(); }
  int PinToCpu() override { return 0; }

 private:
  const std::function<void(absl::Duration)> sleep_;
};

class DriverCommandsTest : public ::testing::Test {
 protected:
  // Two CPUs with four general counters.
  DriverCommandsTest() {
    for (int cpu = 0; cpu < 2; ++cpu) simulated_.AddCpu(pmu::HaswellServer());
    core_ = std::make_unique<testing::InProcessPmu>(simulated_);
    machine_.open_reader = [this](const hardware::ReaderOptions& options) {
      return hardware::MakeDriverReader(core_->Open(), options);
    };
    machine_.processor = &processor_;
  }

  pmu::SimulatedMachine simulated_;
  std::unique_ptr<testing::InProcessPmu> core_;
  std::function<void(absl::Duration)> at_sleep_ = [](absl::Duration) {};
  SleepingProcessor processor_{
      [this](absl::Duration duration) { at_sleep_(duration); }};
  Machine machine_;
};

TEST_F(DriverCommandsTest, RdpmcIsOpenForTheTimeOnly) {
  const MsrBank::State before = simulated_.bank(0).state();
  absl::Duration slept;
  at_sleep_ = [&](absl::Duration duration) {
    slept = duration;
    for (const int cpu : {0, 1}) {
      EXPECT_EQ(simulated_.cr4(cpu), kPerformanceCounterEnable);
      uint64_t value = 0;
      EXPECT_TRUE(simulated_.bank(cpu).ReadCounter(
          0x40000000, Ring::kUser, simulated_.cr4(cpu), &value));
    }
  };
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const absl::Status status = RunRdpmc(machine_, absl::Minutes(10));
  const std::string table = ::testing::internal::GetCapturedStdout();
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_OK(status);
  EXPECT_EQ(slept, absl::Minutes(10));
  EXPECT_THAT(table,
              AllOf(HasSubstr("instructions       0x40000000    48   0-1"),
                    HasSubstr("L2 misses"), Not(HasSubstr("branches"))));
  EXPECT_THAT(warning, AllOf(HasSubstr("for 10m"), HasSubstr("EVERY program")));
  EXPECT_EQ(simulated_.cr4(0), 0u);
  EXPECT_EQ(simulated_.bank(0).state(), before);
}

TEST_F(DriverCommandsTest, RdpmcRejectsTimes) {
  for (const absl::Duration time :
       {absl::ZeroDuration(), absl::Milliseconds(999), absl::Hours(25),
        absl::InfiniteDuration()}) {
    const absl::Status status = RunRdpmc(machine_, time);
    EXPECT_THAT(status.message(), HasSubstr("--for must be from 1s to 24h"));
  }
  EXPECT_EQ(simulated_.num_accesses(), 0u);
}

TEST_F(DriverCommandsTest, StatCountsChosenEventsOfAllCpus) {
  auto counts = SystemCounts::Start(machine_, {"D1/08", "d1/40"});
  ASSERT_OK(counts);
  simulated_.bank(0).CountEvents({0xD1, 0x08}, 70, Ring::kUser);
  simulated_.bank(1).CountEvents({0xD1, 0x08}, 5, Ring::kSystem);
  const std::vector<StatCount> read = counts->Read();
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].event, "D1/08");
  EXPECT_EQ(read[0].value, 75);
  EXPECT_EQ(read[1].event, "d1/40");
  EXPECT_EQ(read[1].value, 0);
}

// Branches come before the second level, which `stat` does not show.
TEST_F(DriverCommandsTest, StatCountsWhatPerfCountsByDefault) {
  auto counts = SystemCounts::Start(machine_, {});
  ASSERT_OK(counts);
  simulated_.bank(0).CountEvents({0xC5, 0x00}, 3, Ring::kUser);
  simulated_.bank(1).CountEvents({0x2E, 0x41}, 4, Ring::kUser);
  std::map<std::string, double> values;
  for (const StatCount& count : counts->Read()) {
    EXPECT_OK(count.status) << count.event;
    values[count.event] = count.value.value_or(-1);
  }
  EXPECT_EQ(values.at("branch-misses"), 3);
  EXPECT_EQ(values.at("cache-misses"), 4);
}

TEST_F(DriverCommandsTest, StatNamesAWrongEvent) {
  const auto counts = SystemCounts::Start(machine_, {"D1/08", "cycles"});
  EXPECT_THAT(counts.status().message(),
              AllOf(HasSubstr("\"cycles\""), HasSubstr("CODE/UMASK")));
  EXPECT_TRUE(absl::IsInvalidArgument(
      SystemCounts::Start(machine_,
                          {"D1/01", "D1/02", "D1/04", "D1/08", "D1/10"})
          .status()));
}

// The command runs all the same.
TEST_F(DriverCommandsTest, StatSaysWhyItDoesNotCount) {
  machine_.open_reader = [](const hardware::ReaderOptions&)
      -> absl::StatusOr<std::unique_ptr<hardware::HardwareReader>> {
    return absl::NotFoundError("no driver");
  };
  auto counts = SystemCounts::Start(machine_, {});
  ASSERT_OK(counts);
  for (const StatCount& count : counts->Read()) {
    EXPECT_EQ(count.status.message(), "no driver");
    EXPECT_FALSE(count.value);
  }
}

}  // namespace
}  // namespace fleetperf::pmc
