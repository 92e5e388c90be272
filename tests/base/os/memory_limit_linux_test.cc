#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/os/memory_limit.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

// The value of memory.limit_in_bytes without a limit.
constexpr char kNoLimitV1[] = "9223372036854771712\n";

// A directory with the files of /proc and /sys that the limit is read from.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() : machine_(MemoryLimit(directory_.File("nothing"))) {}

  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = directory_.File(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Writes the groups of the process, and the mounts, without the fields in
  // front of each.
  void SetGroups(const std::string& groups) {
    Write("proc/self/cgroup", groups);
  }
  void AddMount(const std::string& mount) {
    mounts_ += "36 30 0:31 " + mount + "\n";
    Write("proc/self/mountinfo", mounts_);
  }
  // A machine with cgroup v2 only, and one with v1.
  void MountV2() {
    AddMount("/ / rw,relatime - ext4 /dev/vda rw");
    AddMount("/ /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw");
  }
  void MountV1() {
    AddMount("/ /sys/fs/cgroup/cpu rw shared:8 - cgroup cgroup rw,cpu");
    AddMount("/ /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory");
  }
  uint64_t Limit() const { return MemoryLimit(directory_.path()); }

  testing::TempDirectory directory_;
  std::string mounts_;
  const uint64_t machine_;  // the machine's memory
};

TEST_F(MemoryLimitTest, IsTheMachinesWithoutGroups) {
  EXPECT_GT(machine_, uint64_t{64} << 20);
  EXPECT_EQ(Limit(), machine_);
}

TEST_F(MemoryLimitTest, IsTheLowestOfAGroupAndItsParents) {
  MountV2();
  SetGroups("0::/fleet/metrics/aggregator\n");
  Write("sys/fs/cgroup/fleet/metrics/aggregator/memory.max", "max\n");
  EXPECT_EQ(Limit(), machine_);
  Write("sys/fs/cgroup/fleet/memory.max", "30000000\n");
  EXPECT_EQ(Limit(), 30'000'000);
  Write("sys/fs/cgroup/fleet/metrics/aggregator/memory.max", "40000000\n");
  EXPECT_EQ(Limit(), 30'000'000);
  Write("sys/fs/cgroup/fleet/metrics/memory.max", "20000000\n");
  EXPECT_EQ(Limit(), 20'000'000);
  // Of another group.
  Write("sys/fs/cgroup/fleet/met/memory.max", "1000\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

// Above memory.high, the kernel slows the process down to reclaim its memory.
TEST_F(MemoryLimitTest, CountsTheHighMark) {
  MountV2();
  SetGroups("0::/aggregator\n");
  Write("sys/fs/cgroup/aggregator/memory.max", "40000000\n");
  Write("sys/fs/cgroup/aggregator/memory.high", "max\n");
  EXPECT_EQ(Limit(), 40'000'000);
  Write("sys/fs/cgroup/aggregator/memory.high", "35000000\n");
  EXPECT_EQ(Limit(), 35'000'000);
}

TEST_F(MemoryLimitTest, NeverExceedsTheMachines) {
  MountV2();
  SetGroups("0::/aggregator\n");
  Write("sys/fs/cgroup/aggregator/memory.max",
        absl::StrCat(machine_ * 4, "\n"));
  EXPECT_EQ(Limit(), machine_);
}

TEST_F(MemoryLimitTest, IsTheLowestOfVersion1) {
  MountV1();
  SetGroups("4:memory:/fleet/aggregator\n1:cpu:/fleet\n");
  const std::string memory = "sys/fs/cgroup/memory/";
  Write(memory + "memory.limit_in_bytes", kNoLimitV1);
  Write(memory + "fleet/memory.limit_in_bytes", kNoLimitV1);
  Write(memory + "fleet/aggregator/memory.limit_in_bytes", kNoLimitV1);
  EXPECT_EQ(Limit(), machine_);
  Write(memory + "fleet/memory.limit_in_bytes", "30000000\n");
  EXPECT_EQ(Limit(), 30'000'000);
  Write(memory + "fleet/aggregator/memory.limit_in_bytes", "20000000\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

// Version 1 may have several controllers in one hierarchy.
TEST_F(MemoryLimitTest, FindsTheControllerAmongOthers) {
  AddMount("/ /mnt/groups rw - cgroup cgroup rw,cpu,memory,pids");
  SetGroups("5:cpu,memory,pids:/aggregator\n3:name=memory:/other\n");
  Write("mnt/groups/aggregator/memory.limit_in_bytes", "20000000\n");
  Write("mnt/groups/other/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

// With systemd's hybrid layout, version 2 has no memory controller.
TEST_F(MemoryLimitTest, IsThatOfVersion1InTheHybridLayout) {
  MountV1();
  AddMount("/ /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
  SetGroups("4:memory:/v1\n0::/v2\n");
  Write("sys/fs/cgroup/memory/v1/memory.limit_in_bytes", "20000000\n");
  Write("sys/fs/cgroup/unified/v2/cgroup.procs", "1\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

// In a namespace of control groups, the process's group is the root.
TEST_F(MemoryLimitTest, IsTheRootsInANamespace) {
  MountV2();
  SetGroups("0::/\n");
  Write("sys/fs/cgroup/memory.max", "10000000\n");
  EXPECT_EQ(Limit(), 10'000'000);
  SetGroups("0::/child\n");
  Write("sys/fs/cgroup/child/memory.max", "5000000\n");
  EXPECT_EQ(Limit(), 5'000'000);
  // The process was moved out of its namespace's root.
  SetGroups("0::/../sibling\n");
  Write("sys/fs/sibling/memory.max", "1000\n");
  EXPECT_EQ(Limit(), 10'000'000);
}

// Without a namespace, a container's mount shows its group, whose path is that
// outside of the container.
TEST_F(MemoryLimitTest, IsThatOfTheMountedGroupInAContainer) {
  AddMount("/docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
  SetGroups("4:memory:/docker/c0ffee\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "10000000\n");
  EXPECT_EQ(Limit(), 10'000'000);
  SetGroups("4:memory:/docker/c0ffee/aggregator\n");
  Write("sys/fs/cgroup/memory/aggregator/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(Limit(), 5'000'000);
  SetGroups("4:memory:/kubepods/pod1\n");
  EXPECT_EQ(Limit(), 10'000'000);
}

// Version 1 shows the limit of parents that a container does not see.
TEST_F(MemoryLimitTest, CountsHiddenParentsOfVersion1) {
  MountV1();
  SetGroups("4:memory:/\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", kNoLimitV1);
  Write("sys/fs/cgroup/memory/memory.stat",
        "cache 4096\nhierarchical_memory_limit 15000000\n"
        "hierarchical_memsw_limit 1000\n");
  EXPECT_EQ(Limit(), 15'000'000);
}

TEST_F(MemoryLimitTest, ReadsMountPointsWithSpaces) {
  AddMount("/ /mnt/my\\040groups rw - cgroup2 cgroup2 rw");
  SetGroups("0::/a:b\n");
  Write("mnt/my groups/a:b/memory.max", "20000000\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

TEST_F(MemoryLimitTest, IgnoresWhatItDoesNotUnderstand) {
  SetGroups("\nx\n4:memory\n0::/a\n");
  AddMount("/");
  AddMount("/ /sys/fs/cgroup - cgroup2");
  AddMount("/ /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  Write("sys/fs/cgroup/a/memory.max", "many\n");
  EXPECT_EQ(Limit(), machine_);
}

// A group of the memory controller of this machine, in the test's own group.
class RealGroup {
 public:
  // Returns whether the limit is set, in either version.
  bool Make(uint64_t limit) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const bool is_v2 = line.starts_with("0::");
      const size_t memory = line.find(":memory:");
      if (!is_v2 && memory == line.npos) continue;
      const std::string group = line.substr(is_v2 ? 3 : memory + 8);
      for (const std::string point :
           {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
        directory_ = point + group + "/fleetperf-" + std::to_string(getpid());
        std::error_code error;
        if (!std::filesystem::create_directory(directory_, error)) continue;
        const std::string file =
            directory_ + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes");
        if (std::filesystem::exists(file, error) &&
            (std::ofstream(file) << limit).flush()) {
          return true;
        }
        std::filesystem::remove(directory_, error);
      }
    }
    directory_.clear();
    return false;
  }
  ~RealGroup() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove(directory_, ignored);
  }

  bool Join() const {
    return static_cast<bool>(
        (std::ofstream(directory_ + "/cgroup.procs") << "0").flush());
  }

 private:
  std::string directory_;
};

TEST(MemoryLimit, IsThatOfARealGroup) {
  constexpr uint64_t kLimit = uint64_t{96} << 20;
  RealGroup group;
  if (!group.Make(kLimit)) {
    GTEST_SKIP() << "cannot make a control group with a memory limit";
  }
  EXPECT_NE(MemoryLimit(), kLimit);
  const pid_t child = fork();
  if (child == 0) {
    if (!group.Join()) _exit(2);
    _exit(MemoryLimit() == kLimit ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "cannot join the group";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fleetperf
