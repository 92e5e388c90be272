#include "agent/source/linux/process/thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::kJiffy;
using testing::Reading;
using testing::Values;

class ThreadTest : public testing::ProcessFixture {
 protected:
  void WriteThread(uint32_t pid, uint32_t tid, const Stat& stat = {}) {
    WriteFile(pid, absl::StrCat("task/", tid, "/stat"), StatLine(tid, stat));
  }
};

TEST_F(ThreadTest, ReadsEveryCounter) {
  WriteProcess(12, {.name = "nginx", .threads = 2});
  WriteThread(12, 12);
  WriteFile(12, "task/13/stat",
            "13 (worker) D 17 1 2 3 -1 4194304 600 5 40 6 7000 800 9 10 15 -5 "
            "2 0 13000 14000000 1500 18446744073709551615 1 2 3 4 5 0\n");
  WriteFile(12, "task/13/status",
            "Name:\tworker\nvoluntary_ctxt_switches:\t300\n"
            "nonvoluntary_ctxt_switches:\t4\n");
  WriteFile(12, "task/13/schedstat", "7554965 1457105 3\n");
  const Reading reading = Sample("Thread");
  EXPECT_THAT(reading.names, ElementsAre("nginx/12", "nginx/13"));
  EXPECT_EQ(reading.ids.at("nginx/13"), 13);
  EXPECT_EQ(reading.rows.at("nginx/13"),
            (Values{{"Context Switches/sec", 304},
                    {"% Processor Time", 7800 * kJiffy},
                    {"% User Time", 7000 * kJiffy},
                    {"% Privileged Time", 800 * kJiffy},
                    // (id:1100 - this) / id:1101 is 370.25 s.
                    {"Elapsed Time", 13000 * kJiffy},
                    {"id:1100", 5'002'500'000},
                    {"id:1101", 10'000'000},
                    {"Priority Current", 15},
                    {"Thread State", 5},
                    {"ID Process", 12},
                    {"ID Thread", 13},
                    {"Voluntary Context Switches/sec", 300},
                    {"Involuntary Context Switches/sec", 4},
                    {"% Run Delay", 14'571},  // 1,457,105 ns
                    {"Page Faults/sec", 640},
                    {"Uninterruptible", 1}}));
  EXPECT_EQ(reading.Get("nginx/12", "Context Switches/sec"), std::nullopt);
}

TEST_F(ThreadTest, StatesAreThoseOfWindows) {
  const std::map<char, uint64_t> kStates = {{'R', 2}, {'S', 5}, {'D', 5},
                                            {'I', 5}, {'Z', 4}, {'X', 4},
                                            {'T', 7}, {'t', 7}, {'?', 7}};
  WriteProcess(7, {});
  for (const auto& [state, number] : kStates) {
    WriteThread(7, 7, {.state = state});
    EXPECT_EQ(Sample("Thread").Get("cat/7", "Thread State"), number) << state;
  }
}

TEST_F(ThreadTest, LeavesOutKernelThreadsAndEndedOnes) {
  WriteProcess(2, {.name = "kthreadd", .flags = kKernelThread});
  WriteThread(2, 2, {.flags = kKernelThread});
  WriteProcess(7, {});
  WriteThread(7, 7);
  WriteFile(7, "task/8/status", "it ended before its stat was read\n");
  WriteFile(7, "task/9/stat", "no name here\n");
  WriteProcess(10, {});  // without a list of threads
  EXPECT_THAT(Sample("Thread").names, ElementsAre("cat/7"));
}

TEST_F(ThreadTest, ReadsOnlyTheFilesOfNeededCounters) {
  WriteProcess(7, {});
  WriteThread(7, 7, {.user_jiffies = 3});
  WriteFile(7, "task/7/status", "voluntary_ctxt_switches:\t300\n");
  EXPECT_EQ(Sample("Thread", {2}).rows.at("cat/7"),
            (Values{{"% User Time", 3 * kJiffy}}));
}

TEST_F(ThreadTest, LimitsThreads) {
  for (const uint32_t pid : {1, 4}) {
    WriteProcess(pid, {});
    for (uint32_t tid = pid; tid < pid + 3; ++tid) WriteThread(pid, tid);
  }
  Thread thread(PathOf("."), std::make_shared<ProcessReader>(PathOf("."), 8),
                /*max_threads=*/5);
  CountersetSample sample;
  sample.Reset(thread.registration().counters.size());
  EXPECT_OK(thread.Sample(0, {}, &sample));
  EXPECT_EQ(sample.rows(), 5);
  EXPECT_EQ(sample.InstanceId(4), 5);
  EXPECT_EQ(sample.left_out(), 1);
  EXPECT_THAT(sample.notes(),
              ::testing::Contains("of more than 5 threads, those with the "
                                  "highest process numbers are absent"));
}

// Compared with getrusage() before and after.
TEST_F(ThreadTest, CountsSwitchesOfARealThread) {
  const auto pid = static_cast<uint32_t>(getpid());
  Link(absl::StrCat("/proc/", pid), absl::StrCat("proc/", pid));
  const auto switches = [] {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  };
  const uint64_t before = switches();
  const Reading reading = Sample("Thread");
  const uint64_t after = switches();
  for (const std::string& name : reading.names) {
    if (reading.ids.at(name) != pid) continue;
    EXPECT_EQ(reading.Get(name, "ID Process"), pid);
    EXPECT_EQ(reading.Get(name, "Thread State"), 2);
    EXPECT_GE(reading.Get(name, "Context Switches/sec"), before);
    EXPECT_LE(reading.Get(name, "Context Switches/sec"), after);
    return;
  }
  FAIL() << "no instance of the process's first thread";
}

}  // namespace
}  // namespace fleetperf::agent
