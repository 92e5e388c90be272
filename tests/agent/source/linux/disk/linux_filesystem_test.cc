#include "agent/source/linux/disk/linux_filesystem.h"

#include <sys/statvfs.h>

#include "agent/source/linux/disk/disk_counters.h"
#include "perflib/utf16.h"
#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/patience.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

class LinuxFilesystemTest : public testing::LinuxFixture {};

TEST_F(LinuxFilesystemTest, ReadsEveryCounter) {
  ask_for_space_ = [this](const std::string& path) {
    EXPECT_EQ(path, PathOf("data"));
    return FilesystemSpace{.bytes = 1000,
                           .free_bytes = 300,
                           .available_bytes = 250,
                           .inodes = 64,
                           .free_inodes = 60};
  };
  Write("proc/self/mountinfo",
        "1 2 8:1 / /data rw - ext4 /dev/sda1 ro,errors=remount-ro\n");
  Write("sys/dev/block/8:1/uevent", "MAJOR=8\nMINOR=1\nDEVNAME=sda1\n");
  Write("sys/fs/ext4/sda1/errors_count", "5\n");
  const Reading reading = Sample("Linux Filesystem");
  EXPECT_THAT(reading.names, ElementsAre("/data"));
  EXPECT_EQ(reading.ids.at("/data"), DeviceNumber(8, 1));
  const Values data = {
      {"Size Bytes", 1000},     {"Used Bytes", 700}, {"Free Bytes", 300},
      {"Available Bytes", 250}, {"% Used", 700},     {"id:1100", 950},
      {"Inodes", 64},           {"Inodes Free", 60}, {"% Inodes Used", 4},
      {"id:1101", 64},          {"Read Only", 1},    {"Device Errors", 5}};
  EXPECT_EQ(reading.rows.at("/data"), data);
}

TEST_F(LinuxFilesystemTest, ShowsTheMountsOfTheMachineToAContainer) {
  ask_for_space_ = [this](const std::string& path) {
    EXPECT_EQ(path, PathOf("var"));
    return FilesystemSpace{.bytes = 1000};
  };
  Write("proc/self/mountinfo",
        "1 2 8:1 / /host/var rw - ext4 /dev/sda1 rw\n"
        "1 2 8:2 / /certificates rw - ext4 /dev/sda2 rw\n");
  Write("proc/1/mountinfo", "1 2 8:1 / /var rw - ext4 /dev/sda1 rw\n");
  EXPECT_THAT(Sample("Linux Filesystem").names, ElementsAre("/var"));
}

TEST_F(LinuxFilesystemTest, LeavesOutWhatAFilesystemDoesNotTell) {
  ask_for_space_ =
      [this](const std::string& path) -> std::optional<FilesystemSpace> {
    if (path == PathOf("denied")) return std::nullopt;
    return FilesystemSpace{.bytes = 1000, .free_bytes = 1001};  // btrfs
  };
  Write("proc/self/mountinfo",
        "1 2 0:40 / /data rw - btrfs /dev/sda2 rw\n"
        "1 2 8:1 / /denied rw - xfs /dev/sda1 rw\n");
  const Reading reading = Sample("Linux Filesystem");
  const Values data = {{"Size Bytes", 1000}, {"Used Bytes", 0},
                       {"Free Bytes", 1001}, {"Available Bytes", 0},
                       {"% Used", 0},        {"id:1100", 0},
                       {"Read Only", 0}};
  EXPECT_EQ(reading.rows.at("/data"), data);
  EXPECT_EQ(reading.rows.at("/denied"), (Values{{"Read Only", 0}}));
}

// The size, the available space and the files of a filesystem.
std::vector<uint64_t> SpaceAt(const char* path) {
  struct statvfs space = {};
  EXPECT_EQ(statvfs(path, &space), 0) << path;
  return {space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize,
          space.f_files};
}

// The same from the sample. Empty if the filesystem is not in it.
std::vector<uint64_t> SpaceIn(const CountersetSample& sample,
                              const std::string& name) {
  for (size_t row = 0; row < sample.rows(); ++row) {
    if (perflib::Utf8FromUtf16(sample.Utf16Name(row)) != name) continue;
    return {sample.Value(row, 0), sample.Value(row, 3), sample.Value(row, 6)};
  }
  return {};
}

// The root filesystem of this machine, unless it is a container's.
TEST(LinuxFilesystemLiveTest, AgreesWithStatvfs) {
  const auto filesystems = std::make_shared<Filesystems>(
      "", SpaceOf, /*patience=*/absl::Seconds(60));
  LinuxFilesystem provider("", filesystems);
  CountersetSample sample;
  std::vector<uint64_t> before;
  std::vector<uint64_t> actual;
  std::vector<uint64_t> after;
  int64_t ticks = 0;
  testing::Retry([&] {  // other processes write and remove files
    before = SpaceAt("/");
    sample.Reset(provider.registration().counters.size());
    EXPECT_OK(
        provider.Sample(~ColumnSet{0}, {.perf_time_stamp = ++ticks}, &sample));
    after = SpaceAt("/");
    actual = SpaceIn(sample, "/");
    return actual.empty() || (before == after && actual == before) ||
           HasFailure();
  });
  if (actual.empty()) GTEST_SKIP() << "the root filesystem is no device";
  if (before != after) GTEST_SKIP() << "other processes write all the time";
  EXPECT_EQ(actual, before);
}

}  // namespace
}  // namespace fleetperf::agent
