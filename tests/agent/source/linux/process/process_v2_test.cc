#include <unistd.h>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::kJiffy;
using testing::kKib;
using testing::kProcesses;
using testing::Reading;
using testing::Values;

class ProcessV2Test : public testing::ProcessFixture {};

TEST_F(ProcessV2Test, ReadsEveryCounter) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  WriteFile(1234, "stat",
            "1234 (cat) R 17 1 2 3 -1 4194304 600 5 40 6 7000 800 9 10 15 -5 "
            "12 0 13000 14000000 1500 18446744073709551615 1 2 3 4 5 0\n");
  WriteFile(1234, "status",
            "Name:\tcat\nUmask:\t0022\nState:\tR (running)\nFDSize:\t64\n"
            "VmPeak:\t   20000 kB\nVmSize:\t   13671 kB\nVmLck:\t       0 kB\n"
            "VmHWM:\t    7000 kB\nVmRSS:\t    6000 kB\nRssAnon:\t    500 kB\n"
            "RssFile:\t    9 kB\nVmData:\t    8 kB\nVmSwap:\t      60 kB\n"
            "Threads:\t12\nSigQ:\t7/8\n");
  WriteFile(1234, "io",
            "rchar: 100000\nwchar: 20000\nsyscr: 300\nsyscw: 40\n"
            "read_bytes: 8192\nwrite_bytes: 4096\ncancelled_write_bytes: 1\n");
  WriteFile(1234, "oom_score", "666\n");
  const Reading reading = Sample(kProcesses);
  EXPECT_THAT(reading.names, ElementsAre("cat:1234", "ended:0", "_Total"));
  EXPECT_EQ(reading.ids.at("cat:1234"), 1234);
  EXPECT_EQ(reading.rows.at("cat:1234"),
            (Values{
                {"% Processor Time", (7000 + 800) * kJiffy},
                {"% User Time", 7000 * kJiffy},
                {"% Privileged Time", 800 * kJiffy},
                // PERF_ELAPSED_TIME: (id:1100 - this) / id:1101 is 370.25 s.
                {"Elapsed Time", 13000 * kJiffy},
                {"id:1100", 5'002'500'000},
                {"id:1101", 10'000'000},
                {"Thread Count", 12},
                {"Priority Base", 15},
                {"Page Faults/sec", 600 + 40},
                {"Virtual Bytes", 14000000},
                {"Virtual Bytes Peak", 20000 * kKib},
                {"Working Set", 1500 * page},
                {"Working Set Peak", 7000 * kKib},
                {"Working Set - Private", 500 * kKib},
                {"Private Bytes", (500 + 60) * kKib},
                {"Page File Bytes", 60 * kKib},
                {"IO Read Operations/sec", 300},
                {"IO Write Operations/sec", 40},
                {"IO Data Operations/sec", 300 + 40},
                {"IO Read Bytes/sec", 100000},
                {"IO Write Bytes/sec", 20000},
                {"IO Data Bytes/sec", 100000 + 20000},
                {"ID Process", 1234},
                {"Creating Process ID", 17},
                {"Storage Read Bytes/sec", 8192},
                {"Storage Write Bytes/sec", 4096},
                {"Major Page Faults/sec", 40},
                {"Running", 1},
                {"Uninterruptible", 0},
                {"Stopped", 0},
                {"Zombie", 0},
                {"OOM Score", 666},
            }))
      << "Handle Count is absent: there is no directory fd.";
}

TEST_F(ProcessV2Test, ReadsNamesWithAnyCharacters) {
  WriteProcess(1, {.name = "two words", .user_jiffies = 1});
  WriteProcess(2, {.name = "a) R 1 (b", .user_jiffies = 2});
  WriteProcess(3, {.name = "((", .user_jiffies = 3});
  WriteProcess(4, {.name = "", .user_jiffies = 4});
  WriteProcess(5, {.name = "Größe", .user_jiffies = 5});
  WriteProcess(6, {.name = "a:6", .user_jiffies = 6});
  const Reading reading = Sample(kProcesses);
  EXPECT_THAT(reading.names,
              ElementsAre("two words:1", "a) R 1 (b:2", "((:3", ":4", "Größe:5",
                          "a:6:6", "ended:0", "_Total"));
  uint64_t jiffies = 1;
  for (const std::string& name : reading.names) {
    if (name == "ended:0") break;
    EXPECT_EQ(reading.Get(name, "% User Time"), jiffies++ * kJiffy) << name;
  }
}

TEST_F(ProcessV2Test, ShowsRealTimePrioritiesAs0) {
  WriteFile(7, "stat",
            "7 (migration) S 2 0 0 0 -1 0 0 0 0 0 1 1 0 0 -100 0 1 0 5 0 0\n");
  EXPECT_EQ(Sample(kProcesses).Get("migration:7", "Priority Base"), 0);
}

TEST_F(ProcessV2Test, FollowsRenamedProcesses) {
  WriteProcess(7, {.name = "sh"});
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("sh:7", "ended:0", "_Total"));
  WriteProcess(7, {.name = "sleep"});
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("sleep:7", "ended:0", "_Total"));
}

TEST_F(ProcessV2Test, ReadsCutNamesFromTheCommandLine) {
  constexpr absl::string_view kCommandLine(
      "/usr/libexec/gnome-terminal-server\0--app-id\0x\0", 46);
  WriteProcess(7, {.name = "gnome-terminal-"});
  WriteFile(7, "cmdline", kCommandLine);
  // Short names are whole, whatever the command line says.
  WriteProcess(8, {.name = "gnome-terminal"});
  WriteFile(8, "cmdline", kCommandLine);
  WriteProcess(9, {.name = "gnome-terminal-"});  // of an ended process
  WriteFile(9, "cmdline", "");
  WriteProcess(10, {.name = "gnome-terminal-"});  // unreadable
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("gnome-terminal-server:7", "gnome-terminal:8",
                          "gnome-terminal-:9", "gnome-terminal-:10", "ended:0",
                          "_Total"));
}

// A process can change its arguments, but not its name without notice.
TEST_F(ProcessV2Test, ReadsTheCommandLineOncePerName) {
  WriteProcess(7, {.name = "gnome-terminal-"});
  WriteFile(7, "cmdline", "gnome-terminal-server");
  Sample(kProcesses);
  WriteFile(7, "cmdline", "gnome-terminal-other");
  EXPECT_EQ(Sample(kProcesses).names[0], "gnome-terminal-server:7");
  WriteProcess(7, {.name = "cat"});
  EXPECT_EQ(Sample(kProcesses).names[0], "cat:7");
  EndProcess(7);
  Sample(kProcesses);
  WriteProcess(7, {.name = "gnome-terminal-"});
  WriteFile(7, "cmdline", "gnome-terminal-other");
  EXPECT_EQ(Sample(kProcesses).names[0], "gnome-terminal-other:7");
}

// With many CPUs, the kernel's number in stat lags behind.
TEST_F(ProcessV2Test, ReadsTheExactWorkingSetWithManyCpus) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  Write("sys/devices/system/cpu/online", "0-15\n");
  const char kStat[] =
      "7 (cat) S 1 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 1500 9\n";
  WriteFile(7, "stat", kStat);
  WriteFile(7, "statm", "9000 1600 500 2 0 700 0\n");
  WriteFile(8, "stat", kStat);
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Working Set"), 1600 * page);
  EXPECT_EQ(reading.Get("cat:8", "Working Set"), 1500 * page);
}

TEST_F(ProcessV2Test, IgnoresOtherDirectoryEntries) {
  WriteProcess(7, {});
  Write("proc/8/status", "it ended before its stat was read\n");
  Write("proc/9/stat", "no name here\n");
  Write("proc/10/stat", ")(\n");
  Write("proc/11x/stat", StatLine(11, {}));
  Write("proc/sys/kernel/pid_max", "4194304\n");
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("cat:7", "ended:0", "_Total"));
}

TEST_F(ProcessV2Test, OmitsUnreadableValues) {
  WriteProcess(7, {});
  WriteProcess(8, {});
  WriteFile(8, "io", "rchar: 5\nwchar: 6\n");  // truncated
  WriteProcess(9, {});
  WriteFile(9, "io",
            "rchar: 100\nwchar: 1\nsyscr: 2\nsyscw: 3\nread_bytes: 4\n"
            "write_bytes: 5\n");
  const Reading reading = Sample(kProcesses);
  for (const char* counter : {"IO Read Bytes/sec", "Storage Read Bytes/sec"}) {
    EXPECT_EQ(reading.Get("cat:7", counter), std::nullopt);
  }
  EXPECT_EQ(reading.Get("cat:8", "IO Read Bytes/sec"), 5);
  EXPECT_EQ(reading.Get("cat:8", "Storage Read Bytes/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("cat:7", "Private Bytes"), std::nullopt);
  EXPECT_EQ(reading.Get("cat:7", "Handle Count"), std::nullopt);
  EXPECT_EQ(reading.Get("cat:9", "IO Read Bytes/sec"), 100);
  EXPECT_EQ(reading.Get("_Total", "IO Read Bytes/sec"),
            0);  // the total of the growth
}

// Supplementary groups precede the sizes and can be thousands.
TEST_F(ProcessV2Test, ReadsSizesAfterALongListOfGroups) {
  std::string groups = "Groups:\t";
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&groups, 100000 + i, " ");
  WriteProcess(7, {});
  WriteFile(7, "status", groups + "\nRssAnon:\t 5 kB\nVmSwap:\t 1 kB\n");
  EXPECT_EQ(Sample(kProcesses).Get("cat:7", "Private Bytes"), 6 * kKib);
}

TEST_F(ProcessV2Test, HasNoSizesForProcessesWithoutMemory) {
  WriteProcess(7, {});
  WriteFile(7, "status", "Name:\tcat\nState:\tZ (zombie)\nThreads:\t1\n");
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Private Bytes"), std::nullopt);
  EXPECT_EQ(reading.Get("cat:7", "Virtual Bytes Peak"), std::nullopt);
}

TEST_F(ProcessV2Test, SumsUpKernelThreads) {
  WriteProcess(1, {.name = "init", .user_jiffies = 5});
  WriteProcess(2, {.name = "kthreadd", .flags = kKernelThread});
  WriteProcess(15, {.name = "kworker/0:1",
                    .flags = kKernelThread | 0x00400000,
                    .system_jiffies = 1000});
  WriteProcess(
      16,
      {.name = "ksoftirqd/0", .flags = kKernelThread, .system_jiffies = 500});
  Reading reading = Sample(kProcesses);
  EXPECT_THAT(reading.names,
              ElementsAre("init:1", "kthreadd:2", "ended:0", "_Total"));
  EXPECT_EQ(reading.ids.at("kthreadd:2"), 2);
  EXPECT_EQ(reading.Get("kthreadd:2", "ID Process"), 2);
  EXPECT_EQ(reading.Get("kthreadd:2", "Thread Count"), 3);
  EXPECT_EQ(reading.Get("kthreadd:2", "% Privileged Time"), 0);
  // The thread is as old as the machine.
  EXPECT_EQ(reading.Get("kthreadd:2", "Elapsed Time"), 0);
  EXPECT_EQ(reading.Get("kthreadd:2", "id:1100"), 5'002'500'000);
  EXPECT_EQ(reading.Get("_Total", "Thread Count"), 4);

  WriteProcess(15, {.name = "kworker/0:1-events",
                    .flags = kKernelThread,
                    .system_jiffies = 1100});
  EXPECT_EQ(Sample(kProcesses).Get("kthreadd:2", "% Privileged Time"),
            100 * kJiffy);
  EndProcess(15);
  WriteProcess(
      16,
      {.name = "ksoftirqd/0", .flags = kKernelThread, .system_jiffies = 503});
  reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("kthreadd:2", "% Privileged Time"), 103 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Privileged Time"), 103 * kJiffy);
  EXPECT_EQ(reading.Get("kthreadd:2", "Thread Count"), 2);
}

TEST_F(ProcessV2Test, TotalsRetainCountsOfEndedProcesses) {
  const auto total = [this] {
    return *Sample(kProcesses).Get("_Total", "% Processor Time") / kJiffy;
  };
  WriteProcess(7, {.user_jiffies = 1000});
  WriteProcess(8, {.user_jiffies = 10});
  EXPECT_EQ(total(), 0);
  WriteProcess(7, {.user_jiffies = 1500});
  EXPECT_EQ(total(), 500);
  EndProcess(7);
  WriteProcess(8, {.user_jiffies = 11});
  EXPECT_EQ(total(), 501);
  WriteProcess(9, {.user_jiffies = 40, .start_jiffies = 50'000});
  EXPECT_EQ(total(), 541);  // all of it since the last sample
}

TEST_F(ProcessV2Test, TotalsAddCurrentValues) {
  WriteProcess(7, {.threads = 3});
  WriteFile(7, "status", "VmHWM:\t 30 kB\nRssAnon:\t 10 kB\nVmSwap:\t 0 kB\n");
  WriteProcess(8, {.threads = 40});
  WriteFile(8, "status", "VmHWM:\t 70 kB\nRssAnon:\t 20 kB\nVmSwap:\t 5 kB\n");
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("_Total", "Thread Count"), 43);
  EXPECT_EQ(reading.Get("_Total", "Private Bytes"), 35 * kKib);
  EXPECT_EQ(reading.Get("_Total", "Working Set Peak"), 100 * kKib);
  for (const char* counter :
       {"ID Process", "Creating Process ID", "Priority Base", "Elapsed Time"}) {
    EXPECT_EQ(reading.Get("_Total", counter), 0) << counter;
  }
}

TEST_F(ProcessV2Test, ReadsOnlyTheFilesOfNeededCounters) {
  constexpr uint32_t kUserTime = 1;
  WriteProcess(7, {.user_jiffies = 3});
  WriteFile(7, "status", "VmPeak:\t 1 kB\n");
  EXPECT_EQ(Sample(kProcesses, {kUserTime}).rows.at("cat:7"),
            (Values{{"% User Time", 3 * kJiffy}}));
}

TEST_F(ProcessV2Test, CountsStates) {
  uint32_t pid = 10;
  for (const char state : {'R', 'S', 'D', 'D', 'T', 't', 'Z', 'Z', 'Z', 'I'}) {
    WriteProcess(pid++, {.state = state});
  }
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:12", "Uninterruptible"), 1);
  EXPECT_EQ(reading.Get("cat:12", "Running"), 0);
  EXPECT_EQ(reading.Get("_Total", "Running"), 1);
  EXPECT_EQ(reading.Get("_Total", "Uninterruptible"), 2);
  EXPECT_EQ(reading.Get("_Total", "Stopped"), 2);
  EXPECT_EQ(reading.Get("_Total", "Zombie"), 3);
}

class ExpensiveTest : public ProcessV2Test {
 protected:
  ExpensiveTest() {
    WriteProcess(7, {});
    WriteFile(7, "smaps_rollup",
              "5640d3d35000-7ffe6894e000 ---p 00000000 00:00 0      [rollup]\n"
              "Rss:  1760 kB\nPss:  310 kB\nPss_Dirty:  116 kB\n"
              "Shared_Clean:  1628 kB\nShared_Dirty:  3 kB\n"
              "Private_Clean:  16 kB\nPrivate_Dirty:  116 kB\n");
    WriteThread(7, 7, 100, 20, 4'000'000'000);
  }
  void WriteThread(uint32_t pid, uint32_t tid, uint64_t voluntary,
                   uint64_t involuntary, uint64_t delay) {
    const std::string directory = absl::StrCat("task/", tid, "/");
    WriteFile(
        pid, directory + "status",
        absl::StrCat("Name:\tcat\nvoluntary_ctxt_switches:\t", voluntary,
                     "\nnonvoluntary_ctxt_switches:\t", involuntary, "\n"));
    WriteFile(pid, directory + "schedstat", absl::StrCat("9 ", delay, " 8\n"));
  }
  void Plan(const std::string& counterset,
            const std::vector<std::string>& counters) {
    std::vector<PlannedQuery> queries = {
        {.counterset = counterset, .counters = counters}};
    EXPECT_TRUE(source().DefineCounters(&queries).problems.empty());
  }
  // Present, of the expensive counters.
  std::vector<std::string> Present() {
    std::vector<std::string> present;
    const Reading reading = Sample(kProcesses);
    for (const char* counter :
         {"Proportional Set Size", "Unique Set Size",
          "Voluntary Context Switches/sec", "Involuntary Context Switches/sec",
          "% Run Delay"}) {
      if (reading.Get("cat:7", counter).has_value()) present.push_back(counter);
    }
    return present;
  }
};

TEST_F(ExpensiveTest, IsReadOnlyIfAPlanNamesIt) {
  EXPECT_THAT(Present(), ElementsAre());
  Plan(kProcesses, {});
  EXPECT_THAT(Present(), ElementsAre());
  Plan(kProcesses, {"*"});
  EXPECT_THAT(Present(), ElementsAre());
  Plan("Process", {"Proportional Set Size"});
  EXPECT_THAT(Present(), ElementsAre());
  const auto rollup =
      ElementsAre("Proportional Set Size", "Unique Set Size");  // of one file
  Plan("{19198372-6c42-5181-88ad-e91e0127bdbc}", {"id:1010"});
  EXPECT_THAT(Present(), rollup);
  Plan("process*", {"proportional*"});
  EXPECT_THAT(Present(), rollup);
  Plan(kProcesses, {"% Run Delay"});
  EXPECT_THAT(Present(),
              ElementsAre("Voluntary Context Switches/sec",
                          "Involuntary Context Switches/sec", "% Run Delay"));
}

TEST_F(ExpensiveTest, SetSizes) {
  Plan(kProcesses, {"Proportional Set Size", "Unique Set Size"});
  WriteProcess(8, {});
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Proportional Set Size"), 310 * kKib);
  EXPECT_EQ(reading.Get("cat:7", "Unique Set Size"), (16 + 116) * kKib);
  EXPECT_EQ(reading.Get("cat:8", "Unique Set Size"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Proportional Set Size"), 310 * kKib);
}

TEST_F(ExpensiveTest, SumsUpThreads) {
  Plan(kProcesses, {"*Switches*", "% Run Delay"});
  const auto values = [this] {
    const Reading reading = Sample(kProcesses);
    return std::vector<uint64_t>{
        *reading.Get("cat:7", "Voluntary Context Switches/sec"),
        *reading.Get("cat:7", "Involuntary Context Switches/sec"),
        *reading.Get("cat:7", "% Run Delay")};
  };
  EXPECT_THAT(values(), ElementsAre(100, 20, 40'000'000));  // 4 s in 100 ns
  WriteProcess(7, {.threads = 3});
  WriteThread(7, 8, 1000, 200, 1'000'000'000);
  WriteThread(7, 9, 5, 6, 700);
  EXPECT_THAT(values(), ElementsAre(1105, 226, 50'000'007));
  WriteThread(7, 7, 101, 22, 4'000'000'000);
  Remove("proc/7/task/8");
  EXPECT_THAT(values(), ElementsAre(1106, 228, 50'000'007));
  WriteThread(7, 8, 10, 1, 100);  // another thread
  EXPECT_THAT(values(), ElementsAre(1116, 229, 50'000'008));
  // Another process with the same number.
  Remove("proc/7/task/9");
  WriteProcess(7, {.start_jiffies = 2000, .threads = 2});
  EXPECT_THAT(values(), ElementsAre(111, 23, 40'000'001));
}

TEST_F(ExpensiveTest, HasNoRunDelayIfTheKernelCountsNone) {
  Plan(kProcesses, {"*Switches*", "% Run Delay"});
  Remove("proc/7/task/7/schedstat");
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "% Run Delay"), std::nullopt);
  EXPECT_EQ(reading.Get("cat:7", "Voluntary Context Switches/sec"), 100);
}

TEST_F(ProcessV2Test, HasNoElapsedTimeWithoutTheMachinesClock) {
  WriteProcess(7, {});
  Remove("proc/uptime");
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Elapsed Time"), std::nullopt);
  EXPECT_NE(reading.Get("cat:7", "Thread Count"), std::nullopt);
  ASSERT_EQ(source().Limitations().size(), 1);
}

}  // namespace
}  // namespace fleetperf::agent
