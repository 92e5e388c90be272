#include "agent/source/linux/logical_disk.h"

#include <filesystem>

#include "absl/synchronization/mutex.h"
#include "agent/source/linux/disk_counters.h"
#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/log_capture.h"
#include "tests/support/no_new_threads.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Reading;

// Filesystems whose answers a test holds back. Thread-safe.
class FakeServers {
 public:
  static constexpr uint64_t kMib = 1 << 20;

  void Hang(const std::string& path) {
    absl::MutexLock lock(&mutex_);
    hanging_.insert(path);
  }
  void Answer(const std::string& path) {
    absl::MutexLock lock(&mutex_);
    hanging_.erase(path);
  }
  size_t waiting() {
    absl::MutexLock lock(&mutex_);
    return waiting_;
  }

  std::optional<FilesystemSpace> Ask(const std::string& path) {
    absl::MutexLock lock(&mutex_);
    ++waiting_;
    const auto answers = [&] {
      mutex_.AssertHeld();
      return hanging_.count(path) == 0;
    };
    mutex_.Await(absl::Condition(&answers));
    --waiting_;
    return FilesystemSpace{.bytes = 100 * kMib,
                           .free_bytes = 30 * kMib,
                           .available_bytes = 20 * kMib};
  }

 private:
  absl::Mutex mutex_;
  std::set<std::string> hanging_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class LogicalDiskTest : public testing::LinuxFixture {
 protected:
  static constexpr uint64_t kMib = FakeServers::kMib;

  LogicalDiskTest() {
    ask_for_space_ = [servers = servers_](const std::string& path) {
      return servers->Ask(path);
    };
  }
  ~LogicalDiskTest() override {
    for (const std::string& path : mounted_) servers_->Answer(PathOf(path));
  }

  // Mounts a filesystem on "/" and `path`. The device is "8:1".
  void Mount(absl::string_view device, const std::string& path,
             absl::string_view type = "ext4",
             absl::string_view source = "/dev/sda1") {
    absl::StrAppend(&mountinfo_, "1 2 ", device, " / /", path, " rw - ", type,
                    " ", source, " rw\n");
    Write("proc/self/mountinfo", mountinfo_);
    mounted_.push_back(path);
  }
  void Unmount() {
    mountinfo_.clear();
    Write("proc/self/mountinfo", "");
  }

  // Samples until the counter of the instance is or is not there: late answers
  // belong to later ticks.
  Reading SampleUntil(const std::string& instance, const std::string& counter,
                      bool present) {
    for (;;) {
      Reading reading = Sample("LogicalDisk");
      clock_.Advance(absl::Seconds(1));
      if (reading.Get(instance, counter).has_value() == present) return reading;
    }
  }

  const std::shared_ptr<FakeServers> servers_ = std::make_shared<FakeServers>();

 private:
  std::string mountinfo_;
  std::vector<std::string> mounted_;
};

TEST_F(LogicalDiskTest, CombinesSpaceAndTransfers) {
  Mount("8:1", "data");
  Write("proc/diskstats",
        "8 0 sda 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n"
        "8 1 sda1 100 20 3000 400 500 60 7000 800 9 1000 1100 12 13 14 15 16 "
        "17\n");
  const Reading reading = Sample("LogicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("/data", "_Total"));
  EXPECT_EQ(reading.ids.at("/data"), DeviceNumber(8, 1));
  // As df: 70 of 100 MiB are used, 20 of the remaining 30 available.
  EXPECT_EQ(reading.Get("/data", "% Free Space"), 20 * kMib);
  EXPECT_EQ(reading.Get("/data", "id:1106"), 90 * kMib);
  EXPECT_EQ(reading.Get("/data", "Free Megabytes"), 20);
  EXPECT_EQ(reading.Get("/data", "Disk Reads/sec"), 100);
  EXPECT_EQ(reading.Get("/data", "Disk Write Bytes/sec"), 7000 * 512);
}

TEST_F(LogicalDiskTest, TotalsAddSpaceAndGrowth) {
  Mount("8:1", "a");
  Mount("8:2", "b");
  Write("proc/diskstats", "8 1 sda1 100\n8 2 sda2 50\n");
  Sample("LogicalDisk");
  clock_.Advance(absl::Seconds(1));
  Write("proc/diskstats", "8 1 sda1 107\n8 2 sda2 52\n");
  const Reading reading = Sample("LogicalDisk");
  EXPECT_EQ(reading.Get("_Total", "% Free Space"), 40 * kMib);
  EXPECT_EQ(reading.Get("_Total", "id:1106"), 180 * kMib);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 40);
  EXPECT_EQ(reading.Get("_Total", "Disk Reads/sec"), 7 + 2);
}

// In the agent's unit, which has PrivateDevices=yes.
TEST_F(LogicalDiskTest, FindsMapsWithoutTheirLinksInDev) {
  Mount("0:41", "volume", "btrfs", "/dev/mapper/vg-volume");
  Write("sys/class/block/sda2/dev", "8:2\n");
  Write("sys/class/block/dm-0/dev", "253:0\n");
  Write("sys/class/block/dm-0/dm/name", "vg-root\n");
  Write("sys/class/block/dm-3/dev", "253:3\n");
  Write("sys/class/block/dm-3/dm/name", "vg-volume\n");
  Write("proc/diskstats", "8 2 sda2 22\n253 0 dm-0 30\n253 3 dm-3 33\n");
  EXPECT_EQ(Sample("LogicalDisk").Get("/volume", "Disk Reads/sec"), 33);
}

TEST_F(LogicalDiskTest, FindsTheDeviceOfFilesystemsWithoutANumber) {
  Mount("0:40", "data", "btrfs", "/dev/sda2");
  Mount("0:41", "volume", "btrfs", "/dev/mapper/vg-volume");
  Mount("0:42", "export", "nfs4", "server:/export");
  Write("sys/class/block/sda2/dev", "8:2\n");
  Write("sys/class/block/dm-3/dev", "253:3\n");
  Write("dev/mapper/control", "");
  std::filesystem::create_symlink("../dm-3", PathOf("dev/mapper/vg-volume"));
  Write("proc/diskstats", "8 2 sda2 22\n253 3 dm-3 33\n0 42 wrong 1\n");
  const Reading reading = Sample("LogicalDisk");
  EXPECT_EQ(reading.Get("/data", "Disk Reads/sec"), 22);
  EXPECT_EQ(reading.Get("/volume", "Disk Reads/sec"), 33);
  EXPECT_EQ(reading.Get("/export", "Disk Reads/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("/export", "Free Megabytes"), 20);
}

TEST_F(LogicalDiskTest, ReadsOnlyWhatIsNeeded) {
  Mount("8:1", "data");
  constexpr uint32_t kFreeMegabytes = 21;
  EXPECT_EQ(
      Sample("LogicalDisk", {kFreeMegabytes}).Get("/data", "Free Megabytes"),
      20);  // without /proc/diskstats
  Write("proc/diskstats", "8 1 sda1 100\n");
  servers_->Hang(PathOf("data"));
  clock_.Advance(absl::Seconds(1));
  constexpr uint32_t kReadsPerSec = 12;
  EXPECT_EQ(
      Sample("LogicalDisk", {kReadsPerSec}).Get("/data", "Disk Reads/sec"),
      100);
  EXPECT_EQ(servers_->waiting(), 0);
}

TEST_F(LogicalDiskTest, FollowsMounts) {
  Write("proc/diskstats", "");
  Write("proc/self/mountinfo", "");
  EXPECT_THAT(Sample("LogicalDisk").names, ElementsAre("_Total"));
  Mount("8:1", "usb");
  clock_.Advance(absl::Seconds(30));
  Reading reading = Sample("LogicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("/usb", "_Total"));
  Unmount();
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(Sample("LogicalDisk").names, ElementsAre("_Total"));
  // Another filesystem on the same mount point is another instance.
  Mount("8:17", "usb");
  clock_.Advance(absl::Seconds(30));
  EXPECT_NE(Sample("LogicalDisk").ids.at("/usb"), reading.ids.at("/usb"));
}

TEST_F(LogicalDiskTest, WaitsForNoHangingFilesystem) {
  filesystem_patience_ = absl::Milliseconds(1);
  Write("proc/diskstats", "8 1 sda1 100\n");
  Mount("8:1", "local");
  Mount("0:40", "export", "nfs", "server:/export");
  servers_->Hang(PathOf("export"));
  Reading reading = SampleUntil("/local", "Free Megabytes", true);
  EXPECT_EQ(reading.Get("/export", "Free Megabytes"), std::nullopt);
  EXPECT_EQ(reading.Get("/export", "% Free Space"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 20);
  servers_->Answer(PathOf("export"));
  reading = SampleUntil("/export", "Free Megabytes", true);
  // It hangs again: no old value is repeated.
  servers_->Hang(PathOf("export"));
  SampleUntil("/export", "Free Megabytes", false);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(absl::Seconds(1));
    reading = Sample("LogicalDisk");
    EXPECT_EQ(reading.Get("/export", "Free Megabytes"), std::nullopt);
    EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 40);
    EXPECT_EQ(reading.Get("_Total", "id:1106"), 180 * kMib);
  }
  // It stays so when another filesystem is mounted.
  Mount("8:2", "other");
  clock_.Advance(absl::Seconds(30));
  reading = SampleUntil("/other", "Free Megabytes", true);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 60);
}

TEST_F(LogicalDiskTest, BoundsTheThreadsOfHangingFilesystems) {
  filesystem_patience_ = absl::ZeroDuration();
  Write("proc/diskstats", "");
  for (int i = 0; i < 20; ++i) {
    const std::string path = absl::StrCat("export", i);
    Mount(absl::StrCat("0:", 40 + i), path, "nfs", "server:/");
    servers_->Hang(PathOf(path));
  }
  while (servers_->waiting() < 8) {
    Sample("LogicalDisk");
    clock_.Advance(absl::Seconds(1));
  }
  for (int i = 0; i < 100; ++i) {
    Sample("LogicalDisk");
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(servers_->waiting(), 8);
  // Local filesystems answer nevertheless.
  Mount("8:1", "local");
  clock_.Advance(absl::Seconds(30));
  SampleUntil("/local", "Free Megabytes", true);
  // When the server is back, all answer.
  for (int i = 0; i < 20; ++i) {
    servers_->Answer(PathOf(absl::StrCat("export", i)));
  }
  for (int i = 0; i < 20; ++i) {
    SampleUntil(absl::StrCat("/export", i), "Free Megabytes", true);
  }
}

// At a limit of processes.
TEST_F(LogicalDiskTest, HasNoSpaceUntilAThreadStarts) {
  Mount("8:1", "data");
  Write("proc/diskstats", "8 1 sda1 100\n");
  {
    const testing::LogCapture log;
    const testing::NoNewThreads no_new_threads;
    for (int i = 0; i < 2; ++i) {
      const Reading reading = Sample("LogicalDisk");
      clock_.Advance(absl::Seconds(1));
      EXPECT_EQ(reading.Get("/data", "Disk Reads/sec"), 100);
      EXPECT_EQ(reading.Get("/data", "Free Megabytes"), std::nullopt);
    }
    EXPECT_THAT(log.Lines(),
                ElementsAre(HasSubstr("space of filesystems is absent until a "
                                      "thread starts")));
  }
  SampleUntil("/data", "Free Megabytes", true);
}

}  // namespace
}  // namespace fleetperf::agent
