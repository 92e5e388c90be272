// Processes that end while the agent has their files open, and reused pids.
// Tests that depend on the behavior of /proc use a real child process.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/source/linux/process/process_reader.h"
#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::IsOkAndHolds;
using testing::kJiffy;
using testing::kProcesses;
using testing::Reading;

// A process that waits, with descriptors 0 to 4 open.
class Child {
 public:
  Child() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      for (int fd = 0; fd < 5; ++fd) {
        if (fd != ready[1]) dup2(ready[1], fd);
      }
      for (int fd = 5; fd < 1024; ++fd) close(fd);
      if (write(0, "x", 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char x;
    EXPECT_EQ(read(ready[0], &x, 1), 1);
    close(ready[0]);
  }
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::string File(absl::string_view name) const {
    return absl::StrCat("/proc/", pid_, "/", name);
  }

 private:
  pid_t pid_;
};

class ProcessLivesTest : public testing::ProcessFixture {};

TEST_F(ProcessLivesTest, TreatsAReusedPidAsAnotherProcess) {
  WriteProcess(7, {.user_jiffies = 100, .start_jiffies = 1000});
  Sample(kProcesses);
  // The new process has used more time already: only its start time differs.
  WriteProcess(7, {.user_jiffies = 300, .start_jiffies = 2000});
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Elapsed Time"), 2000 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Processor Time"), 300 * kJiffy);
}

TEST_F(ProcessLivesTest, DropsEndedProcessesWithOpenFiles) {
  Child child;
  Link(child.File("stat"), "proc/7/stat");
  WriteProcess(8, {.name = "other"});
  EXPECT_EQ(Sample(kProcesses).names.size(), 4);
  child.End();
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("other:8", "ended:0", "_Total"));
}

TEST_F(ProcessLivesTest, ReopensTheFileOfAReusedPid) {
  Child child;
  Link(child.File("stat"), "proc/7/stat");
  Sample(kProcesses);
  child.End();
  Remove("proc/7/stat");
  WriteProcess(7, {.name = "new", .user_jiffies = 5});
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("new:7", "ended:0", "_Total"));
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("new:7", "ended:0", "_Total"));
}

TEST_F(ProcessLivesTest, FollowsAProcessThatReappears) {
  WriteProcess(7, {.user_jiffies = 1});
  Sample(kProcesses);
  EndProcess(7);
  // No machine is without processes: they cannot be read.
  EXPECT_THAT(Sample(kProcesses).names, ElementsAre());
  WriteProcess(7, {.user_jiffies = 9});
  EXPECT_EQ(Sample(kProcesses).Get("cat:7", "% User Time"), 9 * kJiffy);
}

TEST_F(ProcessLivesTest, CountsOpenDescriptors) {
  const Child child;
  WriteProcess(7, {});
  Link(child.File("fd"), "proc/7/fd");
  // This directory also has an entry per descriptor. As in kernels before 6.2,
  // its size is not their number.
  WriteProcess(8, {});
  Link(child.File("fdinfo"), "proc/8/fd");
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("cat:7", "Handle Count"), 5);
  EXPECT_EQ(reading.Get("cat:8", "Handle Count"), 5);
  EXPECT_EQ(reading.Get("_Total", "Handle Count"), 10);
}

// Returns the number of this process's descriptors of files in `directory`.
int OpenFilesIn(const std::string& directory) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink(entry.path(), ignored);
    count += target.string().rfind(directory + "/", 0) == 0;
  }
  return count;
}

TEST_F(ProcessLivesTest, LimitsOpenFiles) {
  const auto open_stats = [this] {
    int count = 0;
    for (uint32_t pid = 1; pid <= 20; ++pid) {
      count += OpenFilesIn(PathOf(absl::StrCat("proc/", pid)));
    }
    return count;
  };
  max_open_files_ = 8;
  for (uint32_t pid = 1; pid <= 5; ++pid) WriteProcess(pid, {});
  EXPECT_EQ(Sample(kProcesses).names.size(), 7);
  EXPECT_EQ(open_stats(), 5);
  for (uint32_t pid = 6; pid <= 20; ++pid) WriteProcess(pid, {});
  for (int tick = 0; tick < 3; ++tick) {
    EXPECT_EQ(Sample(kProcesses).names.size(), 22);
    EXPECT_EQ(open_stats(), 8);
  }
  // Ended processes free descriptors for others.
  for (uint32_t pid = 1; pid <= 6; ++pid) EndProcess(pid);
  Sample(kProcesses);
  EXPECT_EQ(Sample(kProcesses).names.size(), 16);
  EXPECT_EQ(open_stats(), 8);
}

TEST_F(ProcessLivesTest, ReadsEveryProcessWithoutKeepingAnyOpen) {
  max_open_files_ = 0;
  for (uint32_t pid = 1; pid <= 3; ++pid) {
    WriteProcess(pid, {.user_jiffies = pid});
  }
  for (int tick = 0; tick < 2; ++tick) {
    EXPECT_EQ(Sample(kProcesses).Get("cat:3", "% User Time"), 3 * kJiffy);
  }
  EXPECT_EQ(OpenFilesIn(PathOf("proc/3")), 0);
  // Now the file itself is replaced, not only its contents.
  EndProcess(3);
  WriteProcess(3, {.name = "new", .start_jiffies = 2000});
  EXPECT_THAT(Sample(kProcesses).names,
              ElementsAre("cat:1", "cat:2", "new:3", "ended:0", "_Total"));
}

// System counts the processes before Process V2 reads them.
TEST_F(ProcessLivesTest, ListsProcessesOncePerTick) {
  ProcessReader reader(PathOf(""), /*max_open_files=*/8);
  const perflib::Clocks tick = {.perf_time_stamp = 1};
  const perflib::Clocks next_tick = {.perf_time_stamp = 2};
  WriteProcess(1, {});
  EXPECT_THAT(reader.Count(tick), IsOkAndHolds(1));
  WriteProcess(2, {});  // too late for this tick
  EXPECT_OK(reader.Begin(tick));
  EXPECT_THAT(reader.pids(), ElementsAre(1));
  EXPECT_OK(reader.Begin(next_tick));
  EXPECT_THAT(reader.pids(), ElementsAre(1, 2));
  // A count of another tick is not used.
  EXPECT_THAT(reader.Count(tick), IsOkAndHolds(2));
  EndProcess(2);
  EXPECT_OK(reader.Begin(next_tick));
  EXPECT_THAT(reader.pids(), ElementsAre(1));
}

}  // namespace
}  // namespace fleetperf::agent
