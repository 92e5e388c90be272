// The counters of this process, compared with independent readings before and
// after: getrusage(), times(), and other files of /proc.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kKib;
using testing::kProcesses;
using testing::Reading;

rusage Usage() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

uint64_t In100Ns(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 10'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 10;
}

// The numbers of lines such as "VmRSS:   310 kB" of this process's status, by
// their first word.
std::map<std::string, uint64_t> StatusNumbers() {
  std::map<std::string, uint64_t> numbers;
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t number = 0;
    if (words >> word >> number) numbers[word] = number;
  }
  return numbers;
}

// The sum of the numbers in lines such as "Pss:   310 kB" of a file.
uint64_t SumOf(const std::string& file, const std::string& key) {
  std::ifstream lines(file);
  uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t number = 0;
    if (words >> word >> number && word == key) sum += number;
  }
  return sum;
}

class ProcessLiveTest : public testing::ProcessFixture {
 protected:
  ProcessLiveTest() {
    Link(absl::StrCat("/proc/", getpid()), absl::StrCat("proc/", getpid()));
    Remove("proc/uptime");
    Link("/proc/uptime", "proc/uptime");
    Link("/sys", "sys");
    std::vector<PlannedQuery> queries = {
        {.counterset = kProcesses,
         .counters = {"*", "*Set Size", "*Switches*", "% Run Delay"}}};
    source().DefineCounters(&queries);
  }
  // Takes a sample and keeps the row of this process.
  void Take() {
    const Reading reading = Sample(kProcesses);
    ASSERT_EQ(reading.names.size(), 3);
    row_ = reading.rows.at(reading.names.front());
  }
  uint64_t Get(const std::string& counter) const { return row_.at(counter); }

  void ExpectBetween(uint64_t before, const std::string& counter,
                     uint64_t after) const {
    EXPECT_LE(before, Get(counter)) << counter;
    EXPECT_LE(Get(counter), after) << counter;
  }

 private:
  testing::Values row_;
};

TEST_F(ProcessLiveTest, AgreesWithGetrusage) {
  const rusage before = Usage();
  Take();
  const rusage after = Usage();
  const auto count = [](int64_t number) {
    return static_cast<uint64_t>(number);
  };
  // /proc rounds user and system time down to jiffies.
  EXPECT_GE(Get("% Processor Time") + 2 * kJiffy,
            In100Ns(before.ru_utime) + In100Ns(before.ru_stime));
  EXPECT_LE(Get("% Processor Time"),
            In100Ns(after.ru_utime) + In100Ns(after.ru_stime) + kJiffy);
  EXPECT_EQ(Get("% Processor Time"),
            Get("% User Time") + Get("% Privileged Time"));
  ExpectBetween(count(before.ru_minflt + before.ru_majflt), "Page Faults/sec",
                count(after.ru_minflt + after.ru_majflt));
  ExpectBetween(count(before.ru_majflt), "Major Page Faults/sec",
                count(after.ru_majflt));
  // The kernel adds up what each CPU holds back at different times.
  EXPECT_NEAR(Get("Working Set Peak"), count(after.ru_maxrss) * kKib, 4 << 20);
}

TEST_F(ProcessLiveTest, AgreesWithOtherFiles) {
  const auto io = [](const std::string& key) {
    return SumOf("/proc/self/io", key);
  };
  const auto switches = [&] {
    uint64_t sum = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      sum += SumOf(task.path() / "status", "voluntary_ctxt_switches:");
    }
    return sum;
  };
  const auto status_before = StatusNumbers();
  const uint64_t read_before = io("rchar:");
  const uint64_t reads_before = io("syscr:");
  const uint64_t written_before = io("wchar:");
  const uint64_t stored_before = io("write_bytes:");
  const uint64_t switches_before = switches();
  Take();
  ExpectBetween(switches_before, "Voluntary Context Switches/sec", switches());
  ExpectBetween(stored_before, "Storage Write Bytes/sec", io("write_bytes:"));
  ExpectBetween(written_before, "IO Write Bytes/sec", io("wchar:"));
  ExpectBetween(reads_before, "IO Read Operations/sec", io("syscr:"));
  ExpectBetween(read_before, "IO Read Bytes/sec", io("rchar:"));
  const auto status_after = StatusNumbers();
  EXPECT_EQ(Get("ID Process"), getpid());
  EXPECT_EQ(Get("Creating Process ID"), getppid());
  EXPECT_EQ(Get("Running"), 1);
  // The process allocates memory in between, and the kernel may take pages.
  const auto expect_between = [&](const char* least, const char* counter,
                                  const char* most, uint64_t unit,
                                  double tolerance) {
    const auto number = static_cast<double>(Get(counter));
    const auto [from, to] = std::pair(
        std::min(status_before.at(least), status_after.at(least)) * unit,
        std::max(status_before.at(most), status_after.at(most)) * unit);
    EXPECT_GE(number, static_cast<double>(from) - tolerance) << counter;
    EXPECT_LE(number, static_cast<double>(to) + tolerance) << counter;
  };
  const auto expect_near = [&](const char* least, const char* counter,
                               const char* most) {
    const double size = static_cast<double>(status_after.at(most) * kKib);
    expect_between(least, counter, most, kKib, 2e6 + size / 20);
  };
  expect_between("Threads:", "Thread Count", "Threads:", 1, 0);
  expect_between("VmSwap:", "Page File Bytes", "VmSwap:", kKib, 0);
  expect_between("VmPeak:", "Virtual Bytes Peak", "VmPeak:", kKib, 0);
  expect_near("VmSize:", "Virtual Bytes", "VmSize:");
  expect_near("VmRSS:", "Working Set", "VmRSS:");
  expect_near("RssAnon:", "Working Set - Private", "RssAnon:");
  // Other processes of this executable share its pages, and come and go.
  expect_near("RssAnon:", "Proportional Set Size", "VmRSS:");
  expect_near("RssAnon:", "Unique Set Size", "VmRSS:");
}

}  // namespace
}  // namespace fleetperf::agent
