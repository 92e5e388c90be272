#include <sys/stat.h>

#include <filesystem>

#include "agent/source/linux/cgroup/cgroups.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reading;
using testing::Values;

class LinuxCgroupTest : public testing::LinuxFixture {
 protected:
  static constexpr char kCgroups[] = "Linux Cgroup";

  // Writes a file of a cgroup. `path` is that of the cgroup: "", "/a.slice".
  void WriteFile(const std::string& path, const std::string& file,
                 absl::string_view text) {
    Write(absl::StrCat("sys/fs/cgroup", path, "/", file), text);
  }
  void AddCgroup(const std::string& path) {
    WriteFile(path, "cgroup.controllers", "cpu io memory pids\n");
    WriteFile(path, "cpu.stat", "usage_usec 0\n");
  }
  uint32_t InodeOf(const std::string& path) {
    struct stat information = {};
    EXPECT_EQ(stat(PathOf("sys/fs/cgroup" + path).c_str(), &information), 0);
    return static_cast<uint32_t>(information.st_ino);
  }
  static size_t OpenFiles() {
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      ++files;
    }
    return files;
  }
};

TEST_F(LinuxCgroupTest, ReadsEveryCounter) {
  AddCgroup("");
  const std::string a = "/a.slice";
  AddCgroup(a);
  WriteFile(a, "cpu.stat",
            "usage_usec 300\nuser_usec 200\nsystem_usec 100\n"
            "nice_usec 7\ncore_sched.force_idle_usec 0\nnr_periods 10\n"
            "nr_throttled 3\nthrottled_usec 50\nnr_bursts 0\nburst_usec 0\n");
  WriteFile(a, "cpu.max", "150000 100000\n");
  WriteFile(a, "memory.current", "4096\n");
  WriteFile(a, "memory.peak", "5000\n");
  WriteFile(a, "memory.max", "8192\n");
  WriteFile(a, "memory.swap.current", "11\n");
  WriteFile(a, "memory.events",
            "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n");
  WriteFile(a, "memory.stat",
            "anon 21\nfile 22\nkernel 23\nkernel_stack 1\npagetables 1\n"
            "sock 24\nshmem 25\nfile_mapped 1\nfile_dirty 26\n"
            "inactive_anon 1\nactive_anon 1\ninactive_file 96\n"
            "active_file 1\nslab_reclaimable 1\nslab 27\n"
            "workingset_refault_anon 28\nworkingset_refault_file 29\n"
            "pgscan 30\npgsteal 31\npgscan_kswapd 1\npgfault 32\n"
            "pgmajfault 33\n");
  WriteFile(a, "io.stat",
            "8:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
            "8:0 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=50 dios=60 "
            "cost.usage=7\n");
  WriteFile(a, "pids.current", "12\n");
  WriteFile(a, "pids.max", "100\n");
  WriteFile(a, "pids.events", "max 9\n");
  for (const char* resource : {"cpu", "memory", "io"}) {
    WriteFile(a, absl::StrCat(resource, ".pressure"),
              "some avg10=0.00 avg60=0.00 avg300=0.00 total=6\n"
              "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  }
  const Reading reading = Sample(kCgroups);
  EXPECT_THAT(reading.names, ElementsAre("/", a));
  EXPECT_EQ(reading.ids.at(a), InodeOf(a));
  const Values expected = {
      // Microseconds become units of 100 ns.
      {"% Processor Time", 3000},
      {"% User Time", 2000},
      {"% Privileged Time", 1000},
      {"% Processor Limit", 150},
      {"Periods/sec", 10},
      {"% Throttled Periods", 3},
      {"id:1100", 10},
      {"% Throttled Time", 500},
      {"Memory Bytes", 4096},
      {"Memory Peak Bytes", 5000},
      {"Memory Limit Bytes", 8192},
      {"% Memory Used", 4096},
      {"id:1101", 8192},
      {"Swap Bytes", 11},
      {"Memory High Events", 2},
      {"Memory Limit Events", 3},
      {"Out Of Memory Events", 4},
      {"Out Of Memory Kills", 5},
      {"Anonymous Bytes", 21},
      {"File Bytes", 22},
      {"Kernel Bytes", 23},
      {"Socket Bytes", 24},
      {"Shared Bytes", 25},
      {"Dirty Bytes", 26},
      {"Slab Bytes", 27},
      {"Inactive File Bytes", 96},
      {"Working Set", 4000},
      {"Anonymous Refaults/sec", 28},
      {"File Refaults/sec", 29},
      {"Pages Scanned/sec", 30},
      {"Pages Reclaimed/sec", 31},
      {"Page Faults/sec", 32},
      {"Page Reads/sec", 33},
      {"IO Read Bytes/sec", 11},
      {"IO Write Bytes/sec", 22},
      {"IO Read Operations/sec", 33},
      {"IO Write Operations/sec", 44},
      {"IO Discard Bytes/sec", 55},
      {"Tasks", 12},
      {"Task Limit", 100},
      {"Task Limit Events", 9},
      {"% CPU Some Stall Time", 60},
      {"% CPU Full Stall Time", 50},
      {"% Memory Some Stall Time", 60},
      {"% Memory Full Stall Time", 50},
      {"% IO Some Stall Time", 60},
      {"% IO Full Stall Time", 50},
  };
  EXPECT_EQ(reading.rows.at(a), expected);
}

// "max" is no number. Controllers that are not enabled have no files.
TEST_F(LinuxCgroupTest, LeavesOutLimitsAndMissingControllers) {
  AddCgroup("");
  WriteFile("", "cpu.stat", "usage_usec 5\nnr_periods\n");
  WriteFile("", "cpu.max", "max 100000\n");
  WriteFile("", "memory.current", "4096\n");
  WriteFile("", "memory.max", "max\n");
  WriteFile("", "pids.max", "max\n");
  EXPECT_EQ(Sample(kCgroups).rows.at("/"),
            (Values{{"% Processor Time", 50}, {"Memory Bytes", 4096}}));
}

// Requests to a logical volume count in its disks as well.
TEST_F(LinuxCgroupTest, CountsDisksOnce) {
  AddCgroup("");
  Write("sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
  Write("sys/dev/block/253:0/uevent", "DEVNAME=dm-0\n");
  Write("sys/dev/block/9:127/uevent", "DEVNAME=md127\n");
  WriteFile("", "io.stat",
            "253:0 rbytes=100 wbytes=100\n9:127 rbytes=100 wbytes=100\n"
            "8:0 rbytes=1 wbytes=2\nmalformed rbytes=7\n8 rbytes=7\n");
  const Reading reading = Sample(kCgroups);
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 1);
  EXPECT_EQ(reading.Get("/", "IO Write Bytes/sec"), 2);
}

TEST_F(LinuxCgroupTest, KeepsTheCountsOfRemovedDisks) {
  AddCgroup("");
  WriteFile("", "io.stat", "8:0 rbytes=10 wios=1\n8:16 rbytes=200 wios=2\n");
  EXPECT_EQ(Sample(kCgroups).Get("/", "IO Read Bytes/sec"), 210);
  WriteFile("", "io.stat", "8:0 rbytes=15 wios=1\n");
  EXPECT_EQ(Sample(kCgroups).Get("/", "IO Read Bytes/sec"), 215);
  // Another disk with the number of the removed one.
  WriteFile("", "io.stat", "8:0 rbytes=15 wios=1\n8:16 rbytes=3 wios=0\n");
  const Reading reading = Sample(kCgroups);
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 15 + 200 + 3);
  EXPECT_EQ(reading.Get("/", "IO Write Operations/sec"), 1 + 2);
}

TEST_F(LinuxCgroupTest, KeepsTheCountsOfRemovedDisksInVersion1) {
  const std::string file =
      "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive";
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  Write(file, "8:0 Read 10\n8:0 Write 1\n8:16 Read 200\n8:16 Write 30\n");
  EXPECT_EQ(Sample(kCgroups).Get("/", "IO Write Bytes/sec"), 31);
  Write(file, "8:0 Read 15\n8:0 Write 2\n");
  const Reading reading = Sample(kCgroups);
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 15 + 200);
  EXPECT_EQ(reading.Get("/", "IO Write Bytes/sec"), 2 + 30);
}

TEST_F(LinuxCgroupTest, FollowsCgroups) {
  AddCgroup("");
  AddCgroup("/b");
  AddCgroup("/a/deep");
  EXPECT_THAT(Sample(kCgroups).names, ElementsAre("/", "/a", "/b", "/a/deep"));
  AddCgroup("/c");
  Remove("sys/fs/cgroup/b");
  clock_.Advance(absl::Seconds(1));
  // One that vanished is gone at once.
  Reading reading = Sample(kCgroups);
  EXPECT_THAT(reading.names, ElementsAre("/", "/a", "/a/deep"));
  clock_.Advance(absl::Seconds(9));
  EXPECT_THAT(Sample(kCgroups).names, ElementsAre("/", "/a", "/c", "/a/deep"));
}

TEST_F(LinuxCgroupTest, NoticesThatACgroupWasCreatedAgain) {
  AddCgroup("");
  AddCgroup("/a");
  WriteFile("/a", "cpu.stat", "usage_usec 100\n");
  const uint32_t first = Sample(kCgroups).ids.at("/a");
  Remove("sys/fs/cgroup/a");
  // Keeps the inode from being used again.
  Write("sys/fs/cgroup_other/file", "");
  WriteFile("/a", "cpu.stat", "usage_usec 3\n");
  ASSERT_NE(InodeOf("/a"), first);
  clock_.Advance(absl::Seconds(1));
  const Reading reading = Sample(kCgroups);
  EXPECT_EQ(reading.ids.at("/a"), InodeOf("/a"));
  EXPECT_EQ(reading.Get("/a", "% Processor Time"), 30);
}

// Files as in the kernel's Documentation/admin-guide/cgroup-v1.
TEST_F(LinuxCgroupTest, ReadsVersion1) {
  EXPECT_THAT(Sample(kCgroups).names, IsEmpty());
  const auto write = [this](const std::string& file, absl::string_view text) {
    Write("sys/fs/cgroup/" + file, text);
  };
  write("cpu/a/cpu.stat",
        "nr_periods 10\nnr_throttled 3\nthrottled_time 50000\n");
  write("cpu/a/cpu.cfs_quota_us", "150000\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  write("cpuacct/a/cpuacct.usage", "300000\n");
  write("cpuacct/a/cpuacct.stat", "user 20\nsystem 10\n");
  write("memory/a/memory.usage_in_bytes", "4096\n");
  write("memory/a/memory.max_usage_in_bytes", "5000\n");
  write("memory/a/memory.limit_in_bytes", "8192\n");
  write("memory/a/memory.failcnt", "3\n");
  write("memory/a/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  write("memory/a/memory.kmem.usage_in_bytes", "23\n");
  write("memory/a/memory.stat",
        "cache 1\nrss 1\npgfault 1\ninactive_file 1\ntotal_cache 22\n"
        "total_rss 21\ntotal_shmem 25\ntotal_dirty 26\ntotal_swap 11\n"
        "total_pgfault 32\ntotal_pgmajfault 33\ntotal_inactive_file 96\n");
  write("blkio/a/blkio.throttle.io_service_bytes_recursive",
        "8:16 Read 1\n8:16 Write 2\n8:16 Sync 3\n8:16 Total 3\n"
        "8:0 Read 10\n8:0 Write 20\n253:0 Read 100\nTotal 33\n");
  Write("sys/dev/block/253:0/uevent", "DEVNAME=dm-0\n");
  write("blkio/a/blkio.throttle.io_serviced_recursive",
        "8:0 Read 33\n8:0 Write 44\n8:0 Total 77\nTotal 77\n");
  write("pids/a/pids.current", "12\n");
  write("pids/a/pids.max", "max\n");
  write("pids/only/pids.current", "1\n");
  clock_.Advance(absl::Seconds(10));
  const Reading reading = Sample(kCgroups);
  EXPECT_THAT(reading.names, ElementsAre("/", "/a", "/only"));
  const Values expected = {
      // Nanoseconds and hundredths of a second become units of 100 ns.
      {"% Processor Time", 3000},
      {"% User Time", 20 * 100'000},
      {"% Privileged Time", 10 * 100'000},
      {"% Processor Limit", 150},
      {"Periods/sec", 10},
      {"% Throttled Periods", 3},
      {"id:1100", 10},
      {"% Throttled Time", 500},
      {"Memory Bytes", 4096},
      {"Memory Peak Bytes", 5000},
      {"Memory Limit Bytes", 8192},
      {"% Memory Used", 4096},
      {"id:1101", 8192},
      {"Swap Bytes", 11},
      {"Memory Limit Events", 3},
      {"Out Of Memory Kills", 5},
      {"Anonymous Bytes", 21},
      {"File Bytes", 22},
      {"Kernel Bytes", 23},
      {"Shared Bytes", 25},
      {"Dirty Bytes", 26},
      {"Inactive File Bytes", 96},
      {"Working Set", 4000},
      {"Page Faults/sec", 32},
      {"Page Reads/sec", 33},
      {"IO Read Bytes/sec", 11},
      {"IO Write Bytes/sec", 22},
      {"IO Read Operations/sec", 33},
      {"IO Write Operations/sec", 44},
      {"Tasks", 12},
  };
  EXPECT_EQ(reading.rows.at("/a"), expected);
  EXPECT_EQ(reading.rows.at("/only"), (Values{{"Tasks", 1}}));
  EXPECT_EQ(Sample("Job Object").rows.at("/a"),
            (Values{{"Current % Processor Time", 3000},
                    {"Current % User Mode Time", 2'000'000},
                    {"Current % Kernel Mode Time", 1'000'000},
                    {"Pages/Sec", 32},
                    {"Process Count - Active", 12},
                    {"Total mSec - Processor", 0},
                    {"Total mSec - User Mode", 200},
                    {"Total mSec - Kernel Mode", 100}}));
}

TEST_F(LinuxCgroupTest, LeavesOutLimitsThatVersion1DoesNotSet) {
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Sample(kCgroups).rows.at("/"), (Values{{"Memory Bytes", 4096}}));
}

TEST_F(LinuxCgroupTest, CombinesVersion2WithVersion1) {
  Write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "7\n");
  Write("sys/fs/cgroup/cpuacct/a/cpuacct.usage", "100\n");
  Write("sys/fs/cgroup/cpuacct/b/cpuacct.usage", "200\n");
  Write("sys/fs/cgroup/unified/cgroup.controllers", "\n");
  Write("sys/fs/cgroup/unified/a/cpu.stat", "usage_usec 1\n");
  Write("sys/fs/cgroup/unified/a/io.pressure", "some total=1\n");
  Write("sys/fs/cgroup/unified/only/cpu.stat", "usage_usec 3\n");
  const Reading reading = Sample(kCgroups);
  EXPECT_THAT(reading.names, ElementsAre("/", "/a", "/b", "/only"));
  // The time of the same processes as the memory: that of version 1.
  EXPECT_EQ(reading.rows.at("/a"), (Values{{"% Processor Time", 1},
                                           {"% IO Some Stall Time", 10},
                                           {"Memory Bytes", 7}}));
  EXPECT_EQ(reading.rows.at("/b"), (Values{{"% Processor Time", 2}}));
  EXPECT_EQ(reading.rows.at("/only"), (Values{{"% Processor Time", 30}}));
  const Reading jobs = Sample("Job Object");
  EXPECT_EQ(jobs.Get("/a", "Current % Processor Time"), 1);
  EXPECT_EQ(jobs.Get("/only", "Current % Processor Time"), 30);
}

// In version 2, the name of a controller is the name of a cgroup.
TEST_F(LinuxCgroupTest, DoesNotTakeCgroupsForControllers) {
  AddCgroup("");
  AddCgroup("/memory");
  WriteFile("/memory", "memory.usage_in_bytes", "7\n");
  const Reading reading = Sample(kCgroups);
  EXPECT_THAT(reading.names, ElementsAre("/", "/memory"));
  EXPECT_EQ(reading.rows.at("/"), (Values{{"% Processor Time", 0}}));
}

TEST_F(LinuxCgroupTest, NamesContainers) {
  AddCgroup("");
  AddCgroup("/docker/" + std::string(64, 'a'));
  EXPECT_THAT(Sample(kCgroups).names,
              ElementsAre("/", "/docker", "docker/aaaaaaaaaaaa"));
}

TEST_F(LinuxCgroupTest, ReadsOnlyWhatIsNeeded) {
  AddCgroup("");
  constexpr uint32_t kProcessorTime = 0;
  const auto handle = Open(kCgroups, {kProcessorTime});
  Sample(handle.get(), kCgroups, {kProcessorTime});
  const size_t files = OpenFiles();
  AddCgroup("/a");
  WriteFile("/a", "memory.current", "1\n");
  clock_.Advance(absl::Seconds(10));
  Sample(handle.get(), kCgroups, {kProcessorTime});
  EXPECT_EQ(OpenFiles(), files + 1);
}

TEST_F(LinuxCgroupTest, ServesFiveThousandContainers) {
  AddCgroup("");
  for (int i = 0; i < 5000; ++i) {
    AddCgroup(absl::StrCat("/docker/", i, "/init.scope"));
  }
  EXPECT_EQ(Sample("Job Object").names.size(), 2 + 2 * 5000u);
  EXPECT_THAT(source().Limitations(), IsEmpty());
}

// The kernel may print devices without counts before the next one.
TEST_F(LinuxCgroupTest, FindsDevicesThatShareALine) {
  constexpr uint64_t kBytes = 500'000'000;
  AddCgroup("");
  AddCgroup("/a");
  AddCgroup("/b");
  const auto write = [this](int second) {
    const std::string counts =
        absl::StrCat("8:0 rbytes=", kBytes + 1'000'000 * second,
                     " wbytes=0 rios=10 wios=0 dbytes=0 dios=0\n");
    WriteFile("/a", "io.stat", "7:7 7:6 " + counts);
    WriteFile("/b", "io.stat",
              second < 3 ? "8:16 " + counts
                         : "8:16 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 "
                           "dios=0\n" +
                               counts);
  };
  for (int second = 0; second < 5; ++second) {
    write(second);
    const uint64_t bytes = kBytes + 1'000'000 * static_cast<uint64_t>(second);
    const Reading reading = Sample(kCgroups);
    EXPECT_EQ(reading.Get("/a", "IO Read Bytes/sec"), bytes);
    EXPECT_EQ(reading.Get("/b", "IO Read Bytes/sec"),
              second < 3 ? bytes : bytes + 4096);
    clock_.Advance(absl::Seconds(1));
  }
}

// Two records on a line, another order, fields that are missing at times.
TEST_F(LinuxCgroupTest, FindsTheFieldsOfDevicesByName) {
  AddCgroup("");
  const auto read = [this](absl::string_view text) {
    WriteFile("", "io.stat", text);
    return Sample(kCgroups);
  };
  Reading reading = read("8:0 wios=4 rbytes=100 8:16 rbytes=7 cost.usage=9\n");
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 107);
  EXPECT_EQ(reading.Get("/", "IO Write Operations/sec"), 4);
  EXPECT_EQ(reading.Get("/", "IO Discard Bytes/sec"), std::nullopt);
  reading = read("8:16 rbytes=8 dbytes=1\n8:0 rios=5\n");
  // The field that device 8:0 lacks now did not fall.
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 108);
  EXPECT_EQ(reading.Get("/", "IO Read Operations/sec"), 5);
  EXPECT_EQ(reading.Get("/", "IO Discard Bytes/sec"), 1);
  EXPECT_EQ(reading.Get("/", "IO Write Operations/sec"), std::nullopt);
  reading = read("8:0 rbytes=101 rios=6 wios=5\n8:16 rbytes=8 dbytes=1\n");
  EXPECT_EQ(reading.Get("/", "IO Read Bytes/sec"), 109);
  EXPECT_EQ(reading.Get("/", "IO Write Operations/sec"), 5);
}

TEST_F(LinuxCgroupTest, BoundsFilesAndInstances) {
  AddCgroup("");
  for (int i = 10; i < 50; ++i) {
    WriteFile(absl::StrCat("/", i), "cpu.stat",
              absl::StrCat("usage_usec ", i, "\n"));
  }
  AddCgroup("/10/deep");
  Cgroups cgroups(PathOf(""), /*max_open_files=*/8, /*max_cgroups=*/30);
  perflib::Clocks clocks{.perf_time_stamp = 1};
  std::string buffer;
  const size_t files = OpenFiles();
  for (int tick = 0; tick < 2; ++tick) {
    CountersetSample sample;
    cgroups.Update(clocks, &sample);
    // 11 of those at the top, and one below.
    EXPECT_EQ(sample.left_out(), 12);
    EXPECT_THAT(sample.notes(),
                ElementsAre("there are more than 30 cgroups; the deepest are "
                            "absent"));
    ASSERT_EQ(cgroups.all().size(), 30u);
    EXPECT_EQ(cgroups.all().back().path, "/38");
    for (Cgroup& cgroup : cgroups.all()) {
      const auto text =
          cgroups.Read(cgroup, CgroupFile::kCpuStat, clocks, &buffer);
      const std::string number =
          cgroup.path == "/" ? "0" : cgroup.path.substr(1);
      EXPECT_EQ(text, absl::StrCat("usage_usec ", number, "\n"));
    }
    EXPECT_EQ(OpenFiles(), files + 8);
    ++clocks.perf_time_stamp;
  }
  // Files of cgroups that vanished are closed.
  for (int i = 10; i < 50; ++i) Remove(absl::StrCat("sys/fs/cgroup/", i));
  CountersetSample sample;
  cgroups.Update(clocks, &sample);
  EXPECT_EQ(cgroups.all().size(), 1u);
  EXPECT_EQ(OpenFiles(), files + 1);
}

TEST_F(LinuxCgroupTest, ServesJobObjects) {
  AddCgroup("");
  AddCgroup("/a");
  WriteFile("", "cpu.stat", "usage_usec 8000\n");
  WriteFile("/a", "cpu.stat",
            "usage_usec 3000\nuser_usec 2000\nsystem_usec 1999\n");
  WriteFile("/a", "memory.stat", "anon 1\npgfault 32\n");
  WriteFile("/a", "pids.current", "12\n");
  const Reading reading = Sample("Job Object");
  EXPECT_THAT(reading.names, ElementsAre("_Total", "/a"));
  EXPECT_EQ(reading.rows.at("_Total"),
            (Values{{"Current % Processor Time", 80'000},
                    {"Total mSec - Processor", 8}}));
  EXPECT_EQ(reading.rows.at("/a"),
            (Values{{"Current % Processor Time", 30'000},
                    {"Current % User Mode Time", 20'000},
                    {"Current % Kernel Mode Time", 19'990},
                    {"Pages/Sec", 32},
                    {"Process Count - Active", 12},
                    {"Total mSec - Processor", 3},
                    {"Total mSec - User Mode", 2},
                    {"Total mSec - Kernel Mode", 1}}));
}

}  // namespace
}  // namespace fleetperf::agent
