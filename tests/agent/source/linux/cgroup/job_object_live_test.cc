// The counters of a cgroup of this machine, compared with independent readings
// of its files. Needs the right to create cgroups; skipped otherwise.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/patience.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::Reading;
using testing::Values;

constexpr size_t kPages = 100;
constexpr uint64_t kMilliseconds = 30;  // of processor time

// A cgroup in each hierarchy of version 2 and of the controllers of version 1
// that Job Object shows, with a process that has worked and now waits.
class LiveCgroup {
 public:
  LiveCgroup() : name_(absl::StrCat("/fleetperf_test_", getpid())) {
    for (const std::string hierarchy : {"", "/cpuacct", "/memory", "/pids"}) {
      const std::string parent = "/sys/fs/cgroup" + hierarchy;
      if (access((parent + "/cgroup.procs").c_str(), F_OK) != 0) continue;
      const std::string directory = parent + name_;
      if (mkdir(directory.c_str(), 0755) == 0) {
        directories_.push_back(directory);
      }
    }
  }
  ~LiveCgroup() {
    for (const std::string& directory : directories_) {
      // The kernel may still be about to forget the process.
      while (rmdir(directory.c_str()) != 0 && errno == EBUSY) sched_yield();
    }
  }
  LiveCgroup(const LiveCgroup&) = delete;
  LiveCgroup& operator=(const LiveCgroup&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<std::string>& directories() const { return directories_; }

  // Returns whether the process is in all of them, and has worked.
  bool Start() {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(end_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(end_[1]);
      const char done = JoinAndWork() ? 1 : 0;
      if (write(ready[1], &done, 1) != 1) _exit(1);
      char unused;
      // Returns when the parent closes its end.
      _exit(read(end_[0], &unused, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(end_[0]);
    char done = 0;
    const bool is_ready = read(ready[0], &done, 1) == 1;
    close(ready[0]);
    return is_ready && done == 1;
  }
  // Returns what the process used in its life.
  rusage End() {
    close(end_[1]);
    int status;
    rusage usage;
    EXPECT_EQ(wait4(pid_, &status, 0, &usage), pid_);
    EXPECT_EQ(status, 0);
    return usage;
  }

 private:
  // In the child of a process with threads: without allocations.
  bool JoinAndWork() const {
    for (const std::string& directory : directories_) {
      char path[256];
      snprintf(path, sizeof path, "%s/cgroup.procs", directory.c_str());
      const int file = open(path, O_WRONLY | O_CLOEXEC);
      if (file < 0 || write(file, "0", 1) != 1) return false;
      close(file);
    }
    const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const pages =
        mmap(nullptr, kPages * page_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    // One fault for each page.
    madvise(pages, kPages * page_size, MADV_NOHUGEPAGE);
    auto* const memory = static_cast<volatile char*>(pages);
    for (size_t i = 0; i < kPages; ++i) memory[i * page_size] = 1;
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    const auto milliseconds = [](const timespec& time) {
      return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
    };
    const auto end = milliseconds(now) + static_cast<int64_t>(kMilliseconds);
    while (milliseconds(now) <= end) {
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    }
    return true;
  }

  const std::string name_;
  std::vector<std::string> directories_;
  pid_t pid_ = -1;
  int end_[2] = {-1, -1};
};

// Returns the number after a key that starts a line, or at the start for "".
std::optional<uint64_t> NumberIn(const std::string& path,
                                 const std::string& key) {
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word = key;
    uint64_t number;
    if (!key.empty()) words >> word;
    if (word == key && words >> number) return number;
  }
  return std::nullopt;
}

// The values of Job Object by its cgroup's files.
Values ReadFiles(const LiveCgroup& cgroup) {
  constexpr uint64_t kPerMillisecond = 10'000;
  struct File {
    const char* path;
    const char* key;
    const char* counter;
    const char* total;  // in milliseconds, or ""
    uint64_t unit;      // in 100 ns, or 1
  };
  constexpr File kFiles[] = {
      {"/cpu.stat", "usage_usec", "Current % Processor Time",
       "Total mSec - Processor", 10},
      {"/cpu.stat", "user_usec", "Current % User Mode Time",
       "Total mSec - User Mode", 10},
      {"/cpu.stat", "system_usec", "Current % Kernel Mode Time",
       "Total mSec - Kernel Mode", 10},
      {"/memory.stat", "pgfault", "Pages/Sec", "", 1},
      {"/memory.stat", "total_pgfault", "Pages/Sec", "", 1},
      {"/pids.current", "", "Process Count - Active", "", 1},
      {"/cpuacct.stat", "user", "Current % User Mode Time",
       "Total mSec - User Mode", kJiffy},
      {"/cpuacct.stat", "system", "Current % Kernel Mode Time",
       "Total mSec - Kernel Mode", kJiffy}};
  Values values;
  for (const std::string& directory : cgroup.directories()) {
    for (const File& file : kFiles) {
      const auto number = NumberIn(directory + file.path, file.key);
      if (!number.has_value()) continue;
      values[file.counter] = *number * file.unit;
      if (*file.total == '\0') continue;
      values[file.total] = *number * file.unit / kPerMillisecond;
    }
    // In nanoseconds.
    if (const auto used = NumberIn(directory + "/cpuacct.usage", "")) {
      values["Current % Processor Time"] = *used / 100;
      values["Total mSec - Processor"] = *used / 100 / kPerMillisecond;
    }
  }
  return values;
}

class JobObjectLiveTest : public testing::LinuxFixture {
 protected:
  JobObjectLiveTest() {
    std::filesystem::create_directory_symlink("/sys", PathOf("sys"));
  }
};

TEST_F(JobObjectLiveTest, AgreesWithTheFilesOfACgroup) {
  LiveCgroup cgroup;
  if (cgroup.directories().empty()) GTEST_SKIP() << "cannot create cgroups";
  if (!cgroup.Start()) {
    cgroup.End();
    GTEST_SKIP() << "cannot join cgroups";
  }
  // The kernel adds up what each CPU counted, page faults after seconds.
  Values before;
  Values after;
  Values actual;
  testing::Retry([&] {
    before = ReadFiles(cgroup);
    actual = Sample("Job Object").rows[cgroup.name()];
    clock_.Advance(absl::Seconds(10));
    after = ReadFiles(cgroup);
    return before == after && actual == before &&
           (!actual.contains("Pages/Sec") ||
            actual["Pages/Sec"] >= static_cast<uint64_t>(kPages));
  });
  const rusage usage = cgroup.End();
  EXPECT_EQ(before, after);
  EXPECT_EQ(actual, before);
  EXPECT_GT(actual.size(), 0u);

  const auto milliseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec * 1000 + time.tv_usec / 1000);
  };
  if (actual.contains("Total mSec - Processor")) {
    EXPECT_GE(actual["Total mSec - Processor"], kMilliseconds);
    EXPECT_LE(actual["Total mSec - Processor"],
              milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime) + 2);
  }
  if (actual.contains("Pages/Sec")) {
    EXPECT_GE(actual["Pages/Sec"], static_cast<uint64_t>(kPages));
    EXPECT_LE(actual["Pages/Sec"],
              static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt));
  }
  if (actual.contains("Process Count - Active")) {
    EXPECT_EQ(actual["Process Count - Active"], 1);
  }
}

}  // namespace
}  // namespace fleetperf::agent
