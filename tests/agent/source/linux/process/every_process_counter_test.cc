// Every counter of a process, compared with the files of a stopped child of
// this test and with those of recorded trees.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::kJiffy;
using testing::kKib;
using testing::MachineFiles;
using testing::NumberIn;
using testing::Reading;
using testing::WordList;

// The fields of stat, after the name in parentheses, by their numbers in
// proc(5).
void AddStat(const MachineFiles& files, const std::string& path,
             Fields* fields) {
  const std::vector<std::string> lines = files.Text(path);
  if (lines.empty()) return;
  const WordList words =
      absl::StrSplit(lines[0].substr(lines[0].rfind(')') + 2), ' ');
  const auto field = [&](size_t number) -> const std::string& {
    return words.at(number - 3);
  };
  const std::pair<const char*, size_t> kNumbers[] = {
      {"ppid", 4},   {"minflt", 10},   {"majflt", 12},  {"utime", 14},
      {"stime", 15}, {"priority", 18}, {"threads", 20}, {"starttime", 22},
      {"vsize", 23}, {"rss", 24}};
  for (const auto& [name, number] : kNumbers) {
    (*fields)[name] = NumberIn(field(number)).value_or(0);  // negative
  }
  const std::string& state = field(3);
  (*fields)["running"] = state == "R";
  (*fields)["uninterruptible"] = state == "D";
  (*fields)["stopped"] = state == "T" || state == "t";
  (*fields)["zombie"] = state == "Z";
}

void AddThreads(const MachineFiles& files, const std::string& directory,
                Fields* fields) {
  constexpr size_t kDelay = 1;  // the second number, in ns
  for (const std::string& thread : files.Names(directory)) {
    Fields status;
    files.AddNumbers(directory + thread + "/status", &status);
    (*fields)["voluntary"] += status["voluntary_ctxt_switches"];
    (*fields)["involuntary"] += status["nonvoluntary_ctxt_switches"];
    const WordList words = files.Line(directory + thread + "/schedstat");
    if (words.size() > kDelay) (*fields)["delay"] += *NumberIn(words[kDelay]);
  }
}

Fields ReadProcess(const MachineFiles& files, const std::string& pid) {
  const std::string directory = "proc/" + pid + "/";
  Fields fields;
  fields["pid"] = *NumberIn(pid);
  // A process without memory of its own lacks these lines.
  fields["RssAnon"] = fields["VmSwap"] = 0;
  for (const char* file : {"status", "io", "smaps_rollup"}) {
    files.AddNumbers(directory + file, &fields);
  }
  AddStat(files, directory + "stat", &fields);
  AddThreads(files, directory + "task/", &fields);
  files.AddNumber(directory + "oom_score", "oom_score", &fields);
  if (files.Has(directory + "fd")) {
    fields["descriptors"] = files.Names(directory + "fd").size();
  }
  // The time since the start is that of a clock, which has a frequency.
  const std::string uptime = files.Line("proc/uptime").at(0);
  const std::pair<std::string, std::string> parts = absl::StrSplit(uptime, '.');
  fields["uptime"] = *NumberIn(parts.first + parts.second);
  fields["frequency"] = 10'000'000;
  return fields;
}

// proc(5).
CountersetFormulas ProcessFormulas(const std::string& counterset) {
  constexpr uint64_t kHundredth = 100'000;  // of a second, in 100 ns
  constexpr uint64_t kPer100Ns = 100;
  const auto page = static_cast<uint64_t>(getpagesize());
  return {.counterset = counterset,
          .counters = {{"% Processor Time", {"utime", "stime"}, kJiffy},
                       {"% User Time", {"utime"}, kJiffy},
                       {"% Privileged Time", {"stime"}, kJiffy},
                       {"Elapsed Time", {"starttime"}, kJiffy},
                       {"id:1100", {"uptime"}, kHundredth},
                       {"id:1101", {"frequency"}},
                       {"Thread Count", {"threads"}},
                       {"Priority Base", {"priority"}},
                       {"Handle Count", {"descriptors"}},
                       {"Page Faults/sec", {"minflt", "majflt"}},
                       {"Virtual Bytes", {"vsize"}},
                       {"Virtual Bytes Peak", {"VmPeak"}, kKib},
                       {"Working Set", {"rss"}, page},
                       {"Working Set Peak", {"VmHWM"}, kKib},
                       {"Working Set - Private", {"RssAnon"}, kKib},
                       {"Private Bytes", {"RssAnon", "VmSwap"}, kKib},
                       {"Page File Bytes", {"VmSwap"}, kKib},
                       {"IO Read Operations/sec", {"syscr"}},
                       {"IO Write Operations/sec", {"syscw"}},
                       {"IO Data Operations/sec", {"syscr", "syscw"}},
                       {"IO Read Bytes/sec", {"rchar"}},
                       {"IO Write Bytes/sec", {"wchar"}},
                       {"IO Data Bytes/sec", {"rchar", "wchar"}},
                       {"ID Process", {"pid"}},
                       {"Creating Process ID", {"ppid"}},
                       {"Storage Read Bytes/sec", {"read_bytes"}},
                       {"Storage Write Bytes/sec", {"write_bytes"}},
                       {"Major Page Faults/sec", {"majflt"}},
                       {"Running", {"running"}},
                       {"Uninterruptible", {"uninterruptible"}},
                       {"Stopped", {"stopped"}},
                       {"Zombie", {"zombie"}},
                       {"Voluntary Context Switches/sec", {"voluntary"}},
                       {"Involuntary Context Switches/sec", {"involuntary"}},
                       {"% Run Delay", {"delay"}, 1, kPer100Ns},
                       {"Proportional Set Size", {"Pss"}, kKib},
                       {"Unique Set Size",
                        {"Private_Clean", "Private_Dirty"},
                        kKib},
                       {"OOM Score", {"oom_score"}}},
          .has_more_instances = true};
}

// Uses memory, files and a processor, then stops. Returns the process's number.
pid_t StartStoppedChild() {
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  static char memory[1 << 20];
  std::fill(std::begin(memory), std::end(memory), 'x');
  const int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i) {
    if (write(null, memory, sizeof(memory)) < 0) _exit(1);
  }
  if (read(open("/proc/self/exe", O_RDONLY), memory, sizeof(memory)) < 0) {
    _exit(1);
  }
  timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec == 0 && used.tv_nsec < 30'000'000);
  for (;;) raise(SIGSTOP);
}

// Names the counters that plans must name.
void NameExpensiveCounters(const std::string& counterset, Source* source) {
  std::vector<PlannedQuery> queries = {
      {.counterset = counterset,
       .counters = {"*", "*Set Size", "*Switches*", "% Run Delay"}}};
  source->DefineCounters(&queries);
}

class StoppedProcessTest : public testing::EveryCounterFixture {
 protected:
  void ExpectEveryCounterOf(const std::string& counterset) {
    const pid_t child = StartStoppedChild();
    const absl::Cleanup end_child = [child] {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    };
    const std::string pid = absl::StrCat(child);
    UseThisMachine({"proc/" + pid, "proc/uptime", "sys"});
    NameExpensiveCounters(counterset, &source());
    const std::string name = Sample(counterset).names.at(0);
    CountersetFormulas formulas = ProcessFormulas(counterset);
    formulas.read = [&](const MachineFiles& files) -> FieldsByInstance {
      Fields fields = ReadProcess(files, pid);
      // On machines with many CPUs, the agent takes the more exact number.
      if (HasManyCpus()) {
        fields["rss"] = *NumberIn(files.Line("proc/" + pid + "/statm").at(1));
      }
      return {{name, fields}};
    };
    ExpectEveryCounter(formulas);
  }

 private:
  static bool HasManyCpus() { return sysconf(_SC_NPROCESSORS_ONLN) >= 16; }
};

TEST_F(StoppedProcessTest, ProcessV2) { ExpectEveryCounterOf("Process V2"); }

TEST_F(StoppedProcessTest, Process) { ExpectEveryCounterOf("Process"); }

TEST_F(StoppedProcessTest, CgroupProcess) {
  ExpectEveryCounterOf("Linux Cgroup Process");
}

class RecordedProcessesTest
    : public testing::RecordedTrees,
      public ::testing::WithParamInterface<const char*> {};

TEST_P(RecordedProcessesTest, AgreeWithTheTree) {
  Unpack(GetParam());
  Write("proc/uptime", "1000000.00 1.00\n");
  NameExpensiveCounters("Process V2", &source());
  std::map<std::string, std::string> pids;  // by instance
  for (const std::string& name : Sample("Process V2").names) {
    if (name == "kthreadd:2") continue;  // all kernel threads
    const std::string pid = name.substr(name.rfind(':') + 1);
    if (Files().Has("proc/" + pid + "/stat")) pids[name] = pid;
  }
  EXPECT_FALSE(pids.empty());
  CountersetFormulas formulas = ProcessFormulas("Process V2");
  formulas.read = [pids](const MachineFiles& files) {
    FieldsByInstance processes;
    for (const auto& [name, pid] : pids) {
      processes[name] = ReadProcess(files, pid);
    }
    return processes;
  };
  ExpectEveryCounter(formulas);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedProcessesTest,
                         ::testing::Values("procpid-4.18.13-root-006",
                                           "procpid-5.5.7-root-007"));

}  // namespace
}  // namespace fleetperf::agent
