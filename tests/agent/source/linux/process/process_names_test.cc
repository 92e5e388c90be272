// The names of processes in the countersets Process V2, Process and Linux
// Cgroup Process.

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::kJiffy;
using testing::kProcesses;
using testing::Reading;

constexpr char kByCgroup[] = "Linux Cgroup Process";

class ProcessNamesTest : public testing::ProcessFixture {
 protected:
  std::vector<std::string> Names(absl::string_view counterset) {
    return Sample(counterset).names;
  }
};

// The kernel cuts names off after 15 bytes.
TEST_F(ProcessNamesTest, LongNamesAreThoseOfTheCommandLine) {
  WriteProcess(1, {.name = "systemd-timesyn"});
  WriteFile(1, "cmdline", "/usr/lib/systemd/systemd-timesyncd");
  WriteProcess(2, {.name = "systemd-timesyn"});
  WriteProcess(3, {.name = "cat"});
  WriteFile(3, "cmdline", "catalogue");
  EXPECT_THAT(Names(kProcesses),
              ElementsAre("systemd-timesyncd:1", "systemd-timesyn:2", "cat:3",
                          "ended:0", "_Total"));
  EXPECT_EQ(Names("Process").front(), "systemd-timesyncd");
  EXPECT_EQ(Names(kByCgroup).front(), "/systemd-timesyncd:1");
  // It executes another program.
  WriteFile(1, "cmdline", "sh");
  WriteProcess(1, {.name = "sh"});
  EXPECT_EQ(Names(kProcesses).front(), "sh:1");
}

TEST_F(ProcessNamesTest, ProcessHasPidsAsIds) {
  WriteProcess(2, {.name = "kthreadd", .flags = kKernelThread});
  WriteProcess(7, {.name = "nginx"});
  WriteProcess(8, {.name = "sh"});
  WriteProcess(9, {.name = "nginx", .user_jiffies = 5});
  Reading reading = Sample("Process");
  EXPECT_THAT(reading.names, ElementsAre("nginx", "sh", "nginx", "kthreadd",
                                         "ended", "_Total"));
  EXPECT_EQ(reading.ids.at("nginx"), 9);
  EXPECT_EQ(reading.Get("nginx", "% User Time"), 5 * kJiffy);
  EXPECT_EQ(reading.ids.at("kthreadd"), 2);
  WriteProcess(9, {.name = "nginx", .user_jiffies = 8});
  reading = Sample("Process");
  EXPECT_EQ(reading.Get("_Total", "% User Time"), 3 * kJiffy);
}

TEST_F(ProcessNamesTest, CgroupPrecedesName) {
  WriteProcess(1, {.name = "systemd"});
  WriteFile(1, "cgroup", "0::/init.scope\n");
  WriteProcess(2, {.name = "kthreadd", .flags = kKernelThread});
  WriteProcess(7, {.name = "nginx"});
  WriteFile(7, "cgroup", "0::/system.slice/nginx.service\n");
  WriteProcess(8, {.name = "sh"});  // version 1
  WriteFile(8, "cgroup",
            "4:memory:/docker/123\n1:name=systemd:/user.slice/a b.scope\n");
  WriteProcess(9, {.name = "cat"});  // both versions, systemd in the first
  WriteFile(9, "cgroup", "1:name=systemd:/x.service\n0::/\n");
  WriteProcess(10, {.name = "root"});
  WriteFile(10, "cgroup", "0::/\n");
  WriteProcess(11, {.name = "none"});
  WriteProcess(12, {.name = "sh"});  // in a container, as in Linux Cgroup
  WriteFile(12, "cgroup",
            absl::StrCat("0::/docker/", std::string(64, 'a'), "\n"));
  EXPECT_THAT(Names(kByCgroup),
              ElementsAre("/init.scope/systemd:1",
                          "/system.slice/nginx.service/nginx:7",
                          "/user.slice/a b.scope/sh:8", "/x.service/cat:9",
                          "/root:10", "/none:11", "docker/aaaaaaaaaaaa/sh:12",
                          "/kthreadd:2", "/ended:0", "_Total"));
}

TEST_F(ProcessNamesTest, FollowsMovesBetweenCgroups) {
  WriteProcess(7, {});
  WriteFile(7, "cgroup", "0::/a\n");
  EXPECT_EQ(Names(kByCgroup).front(), "/a/cat:7");
  WriteFile(7, "cgroup", "0::/b\n");
  clock_.Advance(absl::Seconds(29));
  EXPECT_EQ(Names(kByCgroup).front(), "/a/cat:7");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Names(kByCgroup).front(), "/b/cat:7");
  // A unit's process moves just before it executes its program.
  WriteFile(7, "cgroup", "0::/c\n");
  WriteProcess(7, {.name = "nginx"});
  EXPECT_EQ(Names(kByCgroup).front(), "/c/nginx:7");
}

TEST_F(ProcessNamesTest, CountersetsShareOpenFiles) {
  max_open_files_ = 1;
  WriteProcess(7, {.user_jiffies = 1});
  for (const char* counterset : {kProcesses, "Process", kByCgroup}) {
    EXPECT_EQ(Names(counterset).size(), 3);
  }
  // Each of them sees the growth since its own last sample.
  WriteProcess(7, {.user_jiffies = 4});
  EXPECT_EQ(Sample(kProcesses).Get("_Total", "% User Time"), 3 * kJiffy);
  EXPECT_EQ(Sample("Process").Get("_Total", "% User Time"), 3 * kJiffy);
  WriteProcess(7, {.name = "new", .user_jiffies = 2, .start_jiffies = 2000});
  EXPECT_EQ(Sample(kByCgroup).Get("_Total", "% User Time"), 2 * kJiffy);
  EXPECT_EQ(Sample("Process").Get("_Total", "% User Time"), 5 * kJiffy);
}

}  // namespace
}  // namespace fleetperf::agent
