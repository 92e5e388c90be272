// The counters of this process, compared with independent readings before and
// after: getrusage(), times(), and other files of /proc.

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/agent/source/linux/process_fixture.h"

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
  const auto status = [](const std::string& key) {
    return SumOf("/proc/self/status", key);
  };
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
  EXPECT_EQ(Get("ID Process"), getpid());
  EXPECT_EQ(Get("Creating Process ID"), getppid());
  EXPECT_EQ(Get("Running"), 1);
  EXPECT_EQ(Get("Thread Count"), status("Threads:"));
  EXPECT_EQ(Get("Page File Bytes"), status("VmSwap:") * kKib);
  // The process allocates memory in between.
  const auto expect_near = [this](const char* counter, uint64_t kib) {
    EXPECT_NEAR(Get(counter), kib * kKib, 2'000'000 + kib * kKib / 20)
        << counter;
  };
  expect_near("Virtual Bytes", status("VmSize:"));
  expect_near("Virtual Bytes Peak", status("VmPeak:"));
  expect_near("Working Set", status("VmRSS:"));
  expect_near("Working Set - Private", status("RssAnon:"));
  // Other processes of this executable share its pages, and come and go.
  for (const char* counter : {"Proportional Set Size", "Unique Set Size"}) {
    EXPECT_GE(Get(counter) + 2'000'000, status("RssAnon:") * kKib) << counter;
    EXPECT_LE(Get(counter), status("VmRSS:") * kKib + 2'000'000) << counter;
  }
}

}  // namespace
}  // namespace fleetperf::agent
