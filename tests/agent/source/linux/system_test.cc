#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

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
            }));
}

TEST_F(SystemTest, HasNoQueueWhileCpusAreFree) {
  for (const auto& [running, queue] :
       std::map<int, uint64_t>{{0, 0}, {2, 0}, {3, 1}}) {
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
  EXPECT_EQ(Sample("System", {kContextSwitches}).error_status,
            perflib::kErrorPathNotFound);
}

}  // namespace
}  // namespace fleetperf::agent
