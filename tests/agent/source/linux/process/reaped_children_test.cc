// The processor time that processes used after the last tick that saw them.

#include "agent/source/linux/process/reaped_children.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <set>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kProcesses;
using testing::Reading;

class ReapedChildrenTest : public testing::ProcessFixture {
 protected:
  // Returns the total's jiffies since the first call.
  uint64_t Total() {
    return *Sample(kProcesses).Get("_Total", "% Processor Time") / kJiffy;
  }
};

TEST_F(ReapedChildrenTest, TotalHasProcessesThatNoTickSaw) {
  WriteProcess(7, {.children_user_jiffies = 1000});
  Total();
  WriteProcess(7, {.user_jiffies = 3,
                   .children_user_jiffies = 1020,
                   .children_system_jiffies = 4});
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("_Total", "% User Time"), 23 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Privileged Time"), 4 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Processor Time"), 27 * kJiffy);
  EXPECT_EQ(reading.Get("cat:7", "% Processor Time"), 3 * kJiffy);
}

TEST_F(ReapedChildrenTest, TotalHasTimeBetweenLastTickAndEnd) {
  WriteProcess(7, {});
  WriteProcess(8, {.user_jiffies = 100, .parent = 7});
  Total();
  WriteProcess(8, {.user_jiffies = 150, .parent = 7});
  EXPECT_EQ(Total(), 50);
  EndProcess(8);
  WriteProcess(7, {.children_user_jiffies = 157});
  EXPECT_EQ(Total(), 57);
  EXPECT_EQ(Total(), 57);
}

TEST_F(ReapedChildrenTest, NewProcessesHaveReapedChildren) {
  WriteProcess(7, {});
  Total();
  WriteProcess(8, {.user_jiffies = 2, .parent = 7, .children_user_jiffies = 6});
  EXPECT_EQ(Total(), 8);
  EndProcess(8);
  WriteProcess(7, {.children_user_jiffies = 9});
  EXPECT_EQ(Total(), 9);
}

// The kernel does not add the time of children to a parent that ignores
// SIGCHLD.
TEST_F(ReapedChildrenTest, OtherParentsCountIfOneReapsNoChildren) {
  WriteProcess(6, {});
  WriteProcess(7, {});
  WriteProcess(8, {.user_jiffies = 100, .parent = 7});
  Total();
  EndProcess(8);
  WriteProcess(6, {.children_user_jiffies = 5});
  EXPECT_EQ(Total(), 5);
  WriteProcess(7, {.children_user_jiffies = 30});  // perhaps process 8
  EXPECT_EQ(Total(), 5);
  WriteProcess(7, {.children_user_jiffies = 41});
  EXPECT_EQ(Total(), 16);
}

// A tick reads the parent before the child ends.
TEST_F(ReapedChildrenTest, CountsChildOnceIfItEndsDuringTheTick) {
  WriteProcess(7, {});
  WriteProcess(8, {.user_jiffies = 100, .parent = 7});
  Total();
  EndProcess(8);
  EXPECT_EQ(Total(), 0);
  WriteProcess(7, {.children_user_jiffies = 103});
  EXPECT_EQ(Total(), 3);
}

TEST_F(ReapedChildrenTest, CountsProcessesThatEndWithTheirParentOnce) {
  WriteProcess(1, {});
  WriteProcess(6, {.parent = 1});
  WriteProcess(7, {.user_jiffies = 10, .parent = 6});
  WriteProcess(8, {.user_jiffies = 100, .parent = 7});
  Total();
  EndProcess(7);
  EndProcess(8);
  // Process 6 waited for 7, and init for 8.
  WriteProcess(6, {.parent = 1, .children_user_jiffies = 12});
  WriteProcess(1, {.children_user_jiffies = 105});
  EXPECT_EQ(Total(), 7);
}

TEST_F(ReapedChildrenTest, CountsAReusedPidAsTwoProcesses) {
  WriteProcess(7, {});
  WriteProcess(8, {.user_jiffies = 100, .parent = 7});
  Total();
  WriteProcess(8, {.user_jiffies = 4, .start_jiffies = 2000, .parent = 7});
  WriteProcess(7, {.children_user_jiffies = 102});
  EXPECT_EQ(Total(), 4 + 2);
}

TEST_F(ReapedChildrenTest, IgnoresEndedChildrenOfInvisibleParents) {
  WriteProcess(7, {});
  WriteProcess(8, {.user_jiffies = 100, .parent = 0});
  Total();
  EndProcess(8);
  WriteProcess(7, {.children_user_jiffies = 5});
  EXPECT_EQ(Total(), 5);
}

TEST_F(ReapedChildrenTest, IsAnInstanceOfItsOwn) {
  WriteProcess(7, {.children_user_jiffies = 1000});
  Total();
  WriteProcess(7, {.user_jiffies = 3,
                   .children_user_jiffies = 1020,
                   .children_system_jiffies = 4});
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.ids.at("ended:0"), 0);
  EXPECT_EQ(reading.rows.at("ended:0"),
            (testing::Values{{"% Processor Time", 24 * kJiffy},
                             {"% User Time", 20 * kJiffy},
                             {"% Privileged Time", 4 * kJiffy},
                             {"Page Faults/sec", 0},
                             {"Major Page Faults/sec", 0}}));
}

TEST_F(ReapedChildrenTest, TotalHasPageFaultsOfEndedProcesses) {
  const auto write = [this](uint64_t minor, uint64_t major) {
    WriteFile(7, "stat",
              absl::StrCat("7 (cat) S 1 0 0 0 -1 0 40 ", minor, " 5 ", major,
                           " 1 1 0 0 20 0 1 0 5 0 0\n"));
  };
  write(100, 20);
  Total();
  write(107, 22);
  const Reading reading = Sample(kProcesses);
  EXPECT_EQ(reading.Get("_Total", "Page Faults/sec"), 9);
  EXPECT_EQ(reading.Get("_Total", "Major Page Faults/sec"), 2);
}

class ReapedIoTest : public ReapedChildrenTest {
 protected:
  void WriteIo(uint32_t pid, uint64_t bytes) {
    WriteFile(pid, "io",
              absl::StrCat("rchar: ", bytes, "\nwchar: ", 2 * bytes,
                           "\nsyscr: 3\nsyscw: 4\nread_bytes: ", bytes,
                           "\nwrite_bytes: 0\n"));
  }
  uint64_t Bytes() {
    const Reading reading = Sample(kProcesses);
    EXPECT_EQ(reading.Get("_Total", "IO Data Bytes/sec"),
              3 * *reading.Get("_Total", "IO Read Bytes/sec"));
    return *reading.Get("_Total", "IO Read Bytes/sec");
  }
};

// The kernel adds the bytes of a child to those of the parent that waits for
// it.
TEST_F(ReapedIoTest, TotalCountsBytesOfChildrenOnce) {
  WriteProcess(7, {});
  WriteIo(7, 1000);
  WriteProcess(8, {.parent = 7});
  WriteIo(8, 50);
  EXPECT_EQ(Bytes(), 0);
  WriteIo(7, 1001);
  WriteIo(8, 70);
  EXPECT_EQ(Bytes(), 1 + 20);
  EndProcess(8);
  WriteIo(7, 1001 + 75 + 2);  // the child read 5 more, the parent 2
  EXPECT_EQ(Bytes(), 21 + 5 + 2);
  WriteIo(7, 1101);
  EXPECT_EQ(Bytes(), 28 + 23);
}

TEST_F(ReapedIoTest, TotalHasBytesOfNewProcesses) {
  WriteProcess(7, {});
  WriteIo(7, 1000);
  Bytes();
  WriteProcess(8, {.parent = 7});
  WriteIo(8, 50);
  EXPECT_EQ(Bytes(), 50);
}

// Pids wrap around, so a child may be read before its parent.
TEST(ReapedChildren, CountsChildReadBeforeItsParentOnce) {
  ReapedChildren children;
  std::set<uint32_t> ended;
  const auto finish = [&] {
    return children.Finish([&](uint32_t pid) { return ended.contains(pid); })
        .front();
  };
  const auto add = [&](uint32_t pid, uint32_t parent, uint64_t own,
                       uint64_t of_children) {
    children.Add(pid, {.identity = pid,
                       .parent = parent,
                       .own = {own},
                       .children = {of_children}});
  };
  children.Begin();
  add(3, 9, 100, 0);
  add(9, 1, 0, 0);
  EXPECT_EQ(finish(), 0);
  children.Begin();
  add(3, 9, 110, 0);
  ended = {3};  // between these reads
  add(9, 1, 0, 112);
  EXPECT_EQ(finish(), 2);
  children.Begin();
  add(9, 1, 0, 112);
  EXPECT_EQ(finish(), 0);
}

// Uses this much processor time. Async-signal-safe.
void Burn(int64_t nanoseconds) {
  timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec * 1'000'000'000 + used.tv_nsec < nanoseconds);
}

TEST_F(ReapedChildrenTest, CountsRealShortProcesses) {
  constexpr int kChildren = 20;
  constexpr int kJiffiesPerChild = 2;
  std::filesystem::create_directories(PathOf("proc/7"));
  std::filesystem::create_symlink("/proc/self/stat", PathOf("proc/7/stat"));
  const auto own_and_total = [&] {
    const Reading reading = Sample(kProcesses);
    const std::string own = reading.names.front();
    return std::pair(*reading.Get(own, "% Processor Time") / kJiffy,
                     *reading.Get("_Total", "% Processor Time") / kJiffy);
  };
  const auto [own_before, total_before] = own_and_total();
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Burn(kJiffiesPerChild * 10'000'000);
      _exit(0);
    }
    ASSERT_GT(child, 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  const auto [own, total] = own_and_total();
  // User and system time are rounded down at either end.
  EXPECT_GE(total - total_before,
            own - own_before + kChildren * kJiffiesPerChild - 2);
}

}  // namespace
}  // namespace fleetperf::agent
