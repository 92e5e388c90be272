#include "agent/source/linux/disk/logical_disk.h"

#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "absl/synchronization/mutex.h"
#include "agent/source/linux/disk/disk_counters.h"
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
  }
}

TEST_F(LogicalDiskTest, TotalsKeepTheLastAnswer) {
  filesystem_patience_ = absl::Milliseconds(1);
  Write("proc/diskstats", "");
  Mount("8:1", "local");
  Mount("8:2", "broken");
  Sample("LogicalDisk");
  SampleUntil("/broken", "Free Megabytes", true);
  SampleUntil("/local", "Free Megabytes", true);
  servers_->Hang(PathOf("broken"));
  SampleUntil("/broken", "Free Megabytes", false);
  Reading reading = SampleUntil("/local", "Free Megabytes", true);
  EXPECT_EQ(reading.Get("/broken", "Free Megabytes"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 40);
  EXPECT_EQ(reading.Get("_Total", "id:1106"), 180 * kMib);
  // It stays so when another filesystem is mounted.
  Mount("8:3", "other");
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

// A fixture whose filesystems answer at once, and that notes who is asked.
class LogicalDiskSpaceTest : public testing::LinuxFixture {
 protected:
  static constexpr uint64_t kMib = FakeServers::kMib;

  LogicalDiskSpaceTest() {
    ask_for_space_ =
        [state = state_](
            const std::string& path) -> std::optional<FilesystemSpace> {
      absl::MutexLock lock(&state->mutex);
      state->asked.insert(path);
      const auto found = state->space.find(path);
      if (found != state->space.end()) return found->second;
      return FilesystemSpace{.bytes = 100 * kMib,
                             .free_bytes = 20 * kMib,
                             .available_bytes = 20 * kMib};
    };
    Write("proc/diskstats", "");
  }

  void SetSpace(const std::string& mount_point, FilesystemSpace space) {
    absl::MutexLock lock(&state_->mutex);
    state_->space[PathOf(mount_point.substr(1))] = space;
  }
  // Returns the mount points asked since the last call.
  std::set<std::string> Asked() {
    absl::MutexLock lock(&state_->mutex);
    std::set<std::string> asked;
    for (const std::string& path : state_->asked) {
      asked.insert("/" + path.substr(PathOf("").size()));
    }
    state_->asked.clear();
    return asked;
  }
  Reading SampleNext(const std::string& counterset = "LogicalDisk") {
    Reading reading = Sample(counterset);
    clock_.Advance(absl::Seconds(30));
    return reading;
  }
  void Select(std::vector<PlannedQuery> queries,
              std::vector<InstanceRule> rules) {
    source().SelectInstances(queries, rules);
  }

 private:
  struct State {
    absl::Mutex mutex;
    std::map<std::string, FilesystemSpace> space ABSL_GUARDED_BY(mutex);
    std::set<std::string> asked ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The sizes are those that zfs shows: what the dataset refers to, and what is
// available in the pool.
TEST_F(LogicalDiskSpaceTest, CountsThePoolOfDatasetsOnce) {
  Write("proc/self/mountinfo",
        "60 1 0:40 / /a rw shared:0 - zfs tank/a rw,xattr\n"
        "61 1 0:41 / /b rw shared:1 - zfs tank/b rw,xattr\n"
        "62 1 0:42 / /c rw shared:2 - zfs tank/c rw,xattr\n");
  for (const char* mount_point : {"/a", "/b"}) {
    SetSpace(mount_point, {.bytes = 70 * kMib,
                           .free_bytes = 60 * kMib,
                           .available_bytes = 60 * kMib});
  }
  // With a quota.
  SetSpace("/c", {.bytes = 25 * kMib,
                  .free_bytes = 5 * kMib,
                  .available_bytes = 5 * kMib});
  Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 60);
  EXPECT_EQ(reading.Get("_Total", "% Free Space"), 60 * kMib);
  EXPECT_EQ(reading.Get("_Total", "id:1106"), (10 + 10 + 20 + 60) * kMib);
  EXPECT_EQ(reading.Get("/c", "Free Megabytes"), 5);
  // Another pool, of which the top is mounted, and a disk.
  Write("proc/self/mountinfo",
        "60 1 0:40 / /a rw shared:0 - zfs tank/a rw,xattr\n"
        "61 1 0:43 / /d rw shared:1 - zfs tank2 rw,xattr\n"
        "62 1 0:44 / /e rw shared:1 - zfs tank2/e rw,xattr\n"
        "63 1 8:1 / / rw shared:2 - ext4 /dev/sda1 rw\n");
  reading = SampleNext();
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 60 + 20 + 20);
  EXPECT_EQ(reading.Get("_Total", "id:1106"),
            (10 + 80 + 80 + 80 + 60 + 20 + 20) * kMib);
}

// Those of the network claim 8 and 16 EiB.
TEST_F(LogicalDiskSpaceTest, LeavesRemoteFilesystemsOutOfTheTotal) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  Write("proc/self/mountinfo",
        "60 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "61 1 0:50 / /efs rw - nfs4 fs-1.efs.example:/ rw\n"
        "62 1 0:51 / /s3 rw - fuse.s3fs s3fs rw\n"
        "63 1 0:52 / /host rw - virtiofs share rw\n"
        "64 1 7:0 / /image rw - ext4 /dev/loop0 rw\n");
  SetSpace("/", {.bytes = 100 * kMib,
                 .free_bytes = 1 * kMib,
                 .available_bytes = 1 * kMib});
  SetSpace("/efs", {.bytes = uint64_t{1} << 63,
                    .free_bytes = (uint64_t{1} << 63) - kMib,
                    .available_bytes = (uint64_t{1} << 63) - kMib});
  SetSpace(
      "/s3",
      {.bytes = kMost, .free_bytes = kMost - kMib, .available_bytes = kMost});
  const Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 1);
  EXPECT_EQ(reading.Get("_Total", "% Free Space"), kMib);
  EXPECT_EQ(reading.Get("_Total", "id:1106"), 100 * kMib);
  EXPECT_EQ(reading.Get("/efs", "Free Megabytes"), (uint64_t{1} << 43) - 1);
  EXPECT_EQ(reading.Get("/s3", "id:1106"), kMost);  // the sum does not wrap
  EXPECT_EQ(reading.Get("/host", "Free Megabytes"), 20);
}

TEST_F(LogicalDiskSpaceTest, HasNoTotalSpaceOfTheNetworkAlone) {
  Write("proc/self/mountinfo", "61 1 0:50 / / rw - nfs4 server:/root rw\n");
  const Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("/", "Free Megabytes"), 20);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), std::nullopt);
}

TEST_F(LogicalDiskSpaceTest, AddsTheSpaceOfDisksWithoutWrapping) {
  Write("proc/self/mountinfo",
        "60 1 8:1 / /a rw - xfs /dev/sda1 rw\n"
        "61 1 8:2 / /b rw - xfs /dev/sda2 rw\n");
  for (const char* mount_point : {"/a", "/b"}) {
    SetSpace(mount_point, {.bytes = uint64_t{3} << 62,
                           .free_bytes = uint64_t{3} << 62,
                           .available_bytes = uint64_t{3} << 62});
  }
  EXPECT_EQ(SampleNext().Get("_Total", "% Free Space"),
            std::numeric_limits<uint64_t>::max());
}

constexpr char kAutomounts[] =
    "60 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "61 60 0:50 / /data rw - autofs /etc/auto.direct rw,direct\n"
    "62 61 8:17 / /data rw - ext4 /dev/sdb1 rw\n"
    "63 60 0:51 / /net rw - autofs -hosts rw,indirect\n"
    "64 63 0:52 / /net/server/export rw - nfs4 server:/export rw\n";

TEST_F(LogicalDiskSpaceTest, DoesNotTouchAutomounts) {
  Write("proc/self/mountinfo", kAutomounts);
  Write("proc/diskstats", "8 1 sda1 7\n8 17 sdb1 9\n");
  for (const char* counterset : {"LogicalDisk", "Linux Filesystem"}) {
    const Reading reading = SampleNext(counterset);
    EXPECT_THAT(Asked(), ElementsAre("/")) << counterset;
    EXPECT_THAT(reading.names,
                ::testing::IsSupersetOf({"/", "/data", "/net/server/export"}));
  }
  const Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("/data", "Free Megabytes"), std::nullopt);
  EXPECT_EQ(reading.Get("/data", "Disk Reads/sec"), 9);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 20);
}

TEST_F(LogicalDiskSpaceTest, TouchesAutomountsThatAPlanNames) {
  Write("proc/self/mountinfo", kAutomounts);
  Select({{.counterset = "LogicalDisk", .instances = {"/data"}}}, {});
  EXPECT_EQ(SampleNext().Get("/data", "Free Megabytes"), 20);
  EXPECT_THAT(Asked(), ElementsAre("/", "/data"));
  Select({{.counterset = "*Disk"}},
         {{.counterset = "LogicalDisk", .include = {"/", "/net/*"}}});
  const Reading reading = SampleNext();
  EXPECT_THAT(reading.names, ElementsAre("/", "/net/server/export", "_Total"));
  EXPECT_THAT(Asked(), ElementsAre("/", "/net/server/export"));
  // A query of all instances names none.
  Select({{.counterset = "LogicalDisk"}}, {});
  SampleNext();
  EXPECT_THAT(Asked(), ElementsAre("/"));
}

TEST_F(LogicalDiskSpaceTest, DoesNotTouchWhatAPlanExcludes) {
  Write("proc/self/mountinfo",
        "60 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "61 1 8:2 / /tape rw - ext4 /dev/sda2 rw\n"
        "62 1 0:60 / /mnt/nas rw - nfs4 nas:/ rw\n"
        "63 1 0:61 / /mnt/x[1] rw - nfs4 nas:/x rw\n");
  Select({}, {{.counterset = "LogicalDisk",
               .exclude = {"/TAPE", "/mnt/n*", "_Total"}}});
  for (const char* counterset : {"LogicalDisk", "Linux Filesystem"}) {
    const Reading reading = SampleNext(counterset);
    EXPECT_THAT(Asked(), ElementsAre("/", "/mnt/x[1]"));
    EXPECT_EQ(reading.rows.count("/tape"), 0) << counterset;
    EXPECT_EQ(reading.rows.count("/mnt/nas"), 0) << counterset;
  }
  EXPECT_EQ(SampleNext().Get("_Total", "Free Megabytes"), 20);
  // Another plan, which names the other counterset by its GUID.
  Select({}, {{.counterset = "{0f528fe7-a6a5-5080-9522-86e3da899435}",
               .include = {"/t*"}}});
  EXPECT_THAT(SampleNext().names, ElementsAre("/tape", "_Total"));
  Select({}, {});
  EXPECT_EQ(SampleNext().names.size(), 5u);
}

// The kernel counts their requests at the hidden paths only.
TEST_F(LogicalDiskSpaceTest, HasTheTransfersOfNvmeMultipath) {
  Write("proc/self/mountinfo",
        "60 1 259:1 / /whole rw - xfs /dev/nvme0n1 rw\n"
        "61 1 259:4 / /only rw - xfs /dev/nvme1n1p1 rw\n"
        "62 1 259:6 / /first rw - xfs /dev/nvme2n1p1 rw\n"
        "63 1 259:8 / /plain rw - xfs /dev/nvme3n1p1 rw\n");
  const auto text = [](int a) {
    return absl::StrCat("0 0 nvme0c0n1 ", a, " 0 8\n0 0 nvme0c1n1 ", 2 * a,
                        " 0 8\n259 1 nvme0n1 0 0 0\n"
                        "0 0 nvme1c0n1 ",
                        3 * a,
                        " 0 8\n259 3 nvme1n1 0 0 0\n"
                        "259 4 nvme1n1p1 0 0 0\n"
                        "0 0 nvme2c0n1 ",
                        4 * a,
                        " 0 8\n259 5 nvme2n1 0 0 0\n"
                        "259 6 nvme2n1p1 0 0 0\n259 7 nvme2n1p2 0 0 0\n"
                        "259 9 nvme3n1 ",
                        9 * a, " 0 8\n259 8 nvme3n1p1 ", 5 * a, " 0 8\n");
  };
  Write("proc/diskstats", text(10));
  SampleNext();
  Write("proc/diskstats", text(11));
  const Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("/whole", "Disk Reads/sec"), 33);
  EXPECT_EQ(reading.Get("/only", "Disk Reads/sec"), 33);
  EXPECT_EQ(reading.Get("/first", "Disk Reads/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("/plain", "Disk Reads/sec"), 55);
  EXPECT_EQ(reading.Get("_Total", "Disk Reads/sec"), 3 + 3 + 5);
}

// A filesystem in a file is on another filesystem.
TEST_F(LogicalDiskSpaceTest, TotalsAreWithoutLoopDevices) {
  Write("proc/self/mountinfo",
        "60 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "61 1 7:0 / /image rw - ext4 /dev/loop0 rw\n");
  Write("proc/diskstats", "8 1 sda1 100\n7 0 loop0 50\n");
  SampleNext();
  Write("proc/diskstats", "8 1 sda1 110\n7 0 loop0 60\n");
  const Reading reading = SampleNext();
  EXPECT_EQ(reading.Get("/image", "Disk Reads/sec"), 60);
  EXPECT_EQ(reading.Get("_Total", "Disk Reads/sec"), 10);
  EXPECT_EQ(reading.Get("_Total", "Free Megabytes"), 20);
}

// Sandboxes give their filesystems no numbers.
TEST_F(LogicalDiskSpaceTest, IdsAreUniqueWithoutDeviceNumbers) {
  Write("proc/self/mountinfo",
        "60 1 0:0 / / rw - 9p none rw\n61 1 0:0 / /data rw - 9p none rw\n");
  const Reading reading = SampleNext();
  EXPECT_THAT(reading.names, ElementsAre("/", "/data", "_Total"));
  EXPECT_NE(reading.ids.at("/"), reading.ids.at("/data"));
  EXPECT_NE(reading.ids.at("/"), reading.ids.at("_Total"));
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
