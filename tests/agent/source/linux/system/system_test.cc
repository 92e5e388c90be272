#include <sys/timex.h>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Reading;
using testing::Values;

class SystemTest : public testing::LinuxFixture {
 protected:
  SystemTest() {
    Write("proc/stat", R"(cpu  40 0 40 4000 0 0 0 0 0 0
cpu0 20 0 20 2000 0 0 0 0 0 0
cpu1 20 0 20 2000 0 0 0 0 0 0
intr 5000 1 2 3
ctxt 123456789
btime 1790703143
processes 21446
procs_running 5
procs_blocked 3
softirq 100 1 2 3
)");
    Write("proc/loadavg", "1.29 0.13 12.05 5/74 2352\n");
    Write("proc/uptime", "352.64 700.01\n");
    for (const char* process : {"1", "2", "4194303"}) {
      Write(absl::StrCat("proc/", process, "/stat"), "");
    }
    Write("proc/sys/fs/file-nr", "773\t0\t9223372036854775807\n");
    Write("proc/sys/fs/inode-nr", "116632\t45\n");
    Write("proc/sys/fs/dentry-state", "216751\t215131\t45\t0\t96189\t0\n");
    Write("sys/devices/system/cpu/online", "0-3,6\n");
    Write("sys/devices/system/cpu/present", "0-7\n");
    clock_discipline_ = {.is_synchronized = true,
                         .offset_us = 17,
                         .estimated_error_us = 250,
                         .maximum_error_us = 31500};
    Write("proc/1.old/stat", "");
    Write("proc/self/stat", "");
  }
};

TEST_F(SystemTest, ReadsEveryCounter) {
  const Reading reading = Sample("System");
  EXPECT_EQ(reading.rows.at(""),
            (Values{
                {"Context Switches/sec", 123456789},
                {"Processes", 3},  // directories with numeric names
                {"Threads", 74},
                {"Processor Queue Length", 3},  // 5 run on 2 CPUs
                // PERF_ELAPSED_TIME is (id:1100 - this) / id:1101 seconds.
                {"System Up Time", 0},
                {"id:1100", 3'526'400'000},
                {"id:1101", 10'000'000},
                {"Processes Created/sec", 21446},
                {"Processes Blocked", 3},
                {"Load Average 1 Minute", 129},  // scaled by 10^-2
                {"Load Average 5 Minutes", 13},
                {"Load Average 15 Minutes", 1205},
                {"Processes Running", 5},
                {"Files Open", 773},
                {"Files Open Limit", 9223372036854775807},
                // PERF_RAW_FRACTION: 100 * this / id:1102.
                {"% Files Open Of Limit", 773},
                {"id:1102", 9223372036854775807},
                {"Inodes", 116632},
                {"Inodes Free", 45},
                {"Directory Entries", 216751},
                {"Directory Entries Unused", 215131},
                {"Directory Entries Negative", 96189},
                {"Processors Online", 5},
                {"Processors Offline", 3},
                {"Clock Synchronized", 1},
                {"Clock Offset", 17},  // scaled by 10^-6
                {"Clock Estimated Error", 250},
                {"Clock Maximum Error", 31500},
            }));
}

TEST_F(SystemTest, CountsProcessorsAgainAfterAWhile) {
  EXPECT_EQ(Sample("System").Get("", "Processors Offline"), 3);
  Write("sys/devices/system/cpu/online", "0-7\n");
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(Sample("System").Get("", "Processors Offline"), 3);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Sample("System").Get("", "Processors Offline"), 0);
  EXPECT_EQ(Sample("System").Get("", "Processors Online"), 8);
}

// As in a container that masks /proc/sys and /sys and forbids adjtimex.
TEST_F(SystemTest, OmitsWhatAContainerHides) {
  Remove("proc/sys");
  Remove("sys");
  clock_discipline_.reset();
  const Reading reading = Sample("System");
  for (const char* counter :
       {"Files Open", "% Files Open Of Limit", "Inodes", "Directory Entries",
        "Processors Online", "Processors Offline", "Clock Synchronized",
        "Clock Offset"}) {
    EXPECT_EQ(reading.Get("", counter), std::nullopt) << counter;
  }
  EXPECT_EQ(reading.Get("", "Threads"), 74);
}

// This machine's, unless a container forbids the question.
TEST(ClockDisciplineTest, AgreesWithTheSystemCall) {
  timex state = {};
  const int result = ntp_adjtime(&state);
  const auto clock = ReadClockDiscipline();
  ASSERT_EQ(clock.has_value(), result >= 0);
  if (!clock.has_value()) return;
  EXPECT_EQ(clock->is_synchronized, result != TIME_ERROR);
  EXPECT_LT(clock->offset_us, 1'000'000);
  EXPECT_LE(clock->maximum_error_us, 16'000'000);
}

TEST_F(SystemTest, HasNoQueueWhileCpusAreFree) {
  for (const auto& [running, queue] :
       std::map<int, uint64_t>{{1, 0}, {2, 0}, {3, 1}}) {
    Write("proc/stat",
          absl::StrCat("cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu1 1 1 1 1\n",
                       "procs_running ", running, "\n"));
    EXPECT_EQ(Sample("System").Get("", "Processor Queue Length"), queue);
  }
}

TEST_F(SystemTest, OmitsValuesThatTheKernelLacks) {
  Write("proc/stat", "cpu  1 1 1 1\ncpu0 1 1 1 1\nprocs_running 1\n");
  const Reading reading = Sample("System");
  EXPECT_EQ(reading.Get("", "Context Switches/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("", "Processes Blocked"), std::nullopt);
  EXPECT_EQ(reading.Get("", "Threads"), 74);
}

TEST_F(SystemTest, ReadsOnlyTheFilesOfNeededCounters) {
  constexpr uint32_t kContextSwitches = 0;
  constexpr uint32_t kThreads = 2;
  Remove("proc/stat");
  EXPECT_EQ(Sample("System", {kThreads}).Get("", "Threads"), 74);
  EXPECT_EQ(Sample("System", {kContextSwitches}).rows.at(""), Values{});
}

TEST_F(SystemTest, AMissingFileLacksOnlyItsCounters) {
  Remove("proc/loadavg");
  Remove("proc/uptime");
  const Reading reading = Sample("System");
  for (const char* counter :
       {"Threads", "Load Average 1 Minute", "System Up Time"}) {
    EXPECT_EQ(reading.Get("", counter), std::nullopt) << counter;
  }
  EXPECT_EQ(reading.Get("", "Context Switches/sec"), 123456789);
  const auto limitations = source().Limitations();
  ASSERT_EQ(limitations.size(), 2);
  EXPECT_EQ(limitations[0].counterset, "System");
  EXPECT_THAT(limitations[0].reason, HasSubstr(PathOf("proc/loadavg")));
  EXPECT_THAT(limitations[1].reason, HasSubstr(PathOf("proc/uptime")));
  Write("proc/loadavg", "1.29 0.13 12.05 5/74 2352\n");
  Write("proc/uptime", "352.64 700.01\n");
  EXPECT_EQ(Sample("System").Get("", "Threads"), 74);
  EXPECT_THAT(source().Limitations(), IsEmpty());
}

// A sandbox such as gVisor prints zeros for what it does not count.
TEST_F(SystemTest, OmitsStubsOfSandboxes) {
  Write("proc/stat",
        "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\n"
        "btime 1790703143\nprocesses 0\nprocs_running 0\nprocs_blocked 0\n"
        "softirq 0\n");
  Write("proc/loadavg", "0.00 0.00 0.00 0/0 0\n");
  Write("proc/uptime", "0.00 0.00\n");
  const Reading reading = Sample("System");
  for (const char* counter :
       {"Context Switches/sec", "Processes Created/sec", "Processes Blocked",
        "Processes Running", "Processor Queue Length", "Threads",
        "Load Average 1 Minute", "Load Average 15 Minutes", "System Up Time"}) {
    EXPECT_EQ(reading.Get("", counter), std::nullopt) << counter;
  }
  EXPECT_EQ(source().Limitations().size(), 3);
}

// With the mount option hidepid=2, the agent lists its user's processes only.
TEST_F(SystemTest, CountsNoProcessesIfOthersAreHidden) {
  Remove("proc/1");
  EXPECT_EQ(Sample("System").Get("", "Processes"), std::nullopt);
  ASSERT_EQ(source().Limitations().size(), 1);
  EXPECT_THAT(source().Limitations()[0].reason, HasSubstr("hidepid"));
}

}  // namespace
}  // namespace fleetperf::agent
