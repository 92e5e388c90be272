#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr char kScheduler[] = "Linux Scheduler";

class LinuxSchedulerTest : public testing::LinuxFixture {};

TEST_F(LinuxSchedulerTest, ReadsEveryCounter) {
  Write("proc/schedstat",
        "version 15\ntimestamp 4294937296\n"
        "cpu0 1 0 300 40 5000 600 7000000000 80000000000 9000\n"
        "domain0 3 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"
        "cpu2 0 0 0 0 0 0 123456 199 1\n");
  const Reading reading = Sample(kScheduler);
  EXPECT_THAT(reading.names, ElementsAre("0", "2", "_Total"));
  EXPECT_EQ(reading.ids.at("2"), 2);
  EXPECT_EQ(reading.rows.at("0"), (Values{
                                      // From nanoseconds to units of 100 ns.
                                      {"% Run Time", 70'000'000},
                                      {"% Run Delay", 800'000'000},
                                      {"Timeslices/sec", 9000},
                                      {"Avg. sec/Timeslice", 70'000'000},
                                      {"Avg. Delay sec/Timeslice", 800'000'000},
                                      {"id:1100", 9000},
                                      {"Yields/sec", 1},
                                      {"Schedules/sec", 300},
                                      {"Idle Schedules/sec", 40},
                                      {"Wakeups/sec", 5000},
                                      {"Local Wakeups/sec", 600},
                                  }));
  EXPECT_EQ(reading.Get("2", "% Run Time"), 1234);
  EXPECT_EQ(reading.Get("2", "% Run Delay"), 1);
}

TEST_F(LinuxSchedulerTest, AveragesTimesAndAddsEventsInTheTotal) {
  Write("proc/schedstat",
        "cpu0 0 0 0 0 0 0 1000 500 7\ncpu1 0 0 0 0 0 0 9000 100 8\n");
  Sample(kScheduler);
  Write("proc/schedstat",
        "cpu0 0 0 0 0 0 0 3000 900 10\ncpu1 0 0 0 0 0 0 9400 900 9\n");
  const Reading reading = Sample(kScheduler);
  EXPECT_EQ(reading.Get("_Total", "% Run Time"), (20 + 4) / 2);
  EXPECT_EQ(reading.Get("_Total", "% Run Delay"), (4 + 8) / 2);
  EXPECT_EQ(reading.Get("_Total", "Timeslices/sec"), 3 + 1);
  EXPECT_EQ(reading.Get("_Total", "Avg. sec/Timeslice"), 20 + 4);
  EXPECT_EQ(reading.Get("_Total", "id:1100"), 3 + 1);
}

TEST_F(LinuxSchedulerTest, SkipsMalformedLines) {
  Write("proc/schedstat",
        "cpu0 1 2 3\ncpu 1 2 3 4 5 6 7 8 9\ncpu1 1 2 3 4 5 6 7 8 9\ncpux 1\n");
  EXPECT_THAT(Sample(kScheduler).names, ElementsAre("1", "_Total"));
}

TEST_F(LinuxSchedulerTest, HasNoInstancesIfTheKernelLacksThem) {
  const Reading reading = Sample(kScheduler);
  EXPECT_THAT(reading.names, ElementsAre());
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
}

}  // namespace
}  // namespace fleetperf::agent
