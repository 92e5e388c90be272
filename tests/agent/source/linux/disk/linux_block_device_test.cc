#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;

class LinuxBlockDeviceTest : public testing::LinuxFixture {
 protected:
  // A device with the given number of reads.
  static std::string Line(absl::string_view device, int reads) {
    return absl::StrCat(device, " ", reads,
                        " 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
  }
};

TEST_F(LinuxBlockDeviceTest, ListsWhatIsNotAPhysicalDisk) {
  for (const char* disk : {"sda", "dm-0", "md0", "zram0", "loop1"}) {
    Write(absl::StrCat("sys/block/", disk, "/size"), "1\n");
  }
  Write("sys/block/dm-0/dm/name", "vg0-root\n");
  Write("proc/diskstats", Line("8 0 sda", 1) + Line("8 1 sda1", 1) +
                              Line("253 0 dm-0", 1) + Line("253 1 dm-1", 1) +
                              Line("9 0 md0", 1) + Line("252 0 zram0", 1) +
                              // Without a read or write.
                              "7 1 loop1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  const Reading reading = Sample("Linux Block Device");
  EXPECT_THAT(reading.names,
              ElementsAre("sda1", "vg0-root", "dm-1", "md0", "zram0"));
  EXPECT_EQ(reading.ids.at("vg0-root"), 253u << 20);
  EXPECT_THAT(Sample("PhysicalDisk").names, ElementsAre("sda", "_Total"));
}

TEST_F(LinuxBlockDeviceTest, HasTheCountersOfPhysicalDisk) {
  Write("proc/diskstats", Line("8 1 sda1", 100));
  const Reading reading = Sample("Linux Block Device");
  EXPECT_EQ(reading.Get("sda1", "Disk Reads/sec"), 100);
  EXPECT_EQ(reading.Get("sda1", "Disk Write Bytes/sec"), 7 * 512);
  EXPECT_EQ(reading.Get("sda1", "Avg. Disk sec/Write"), 8 * 10'000);
  EXPECT_EQ(Registration("Linux Block Device").counters.size(),
            Registration("PhysicalDisk").counters.size());
}

TEST_F(LinuxBlockDeviceTest, ReadsTheNameOfAReusedDeviceAgain) {
  Write("sys/block/dm-0/dm/name", "vg0-old\n");
  Write("proc/diskstats", Line("253 0 dm-0", 100));
  Sample("Linux Block Device");
  clock_.Advance(absl::Seconds(1));
  Write("sys/block/dm-0/dm/name", "vg0-snapshot\n");
  Write("proc/diskstats", Line("253 0 dm-0", 3));
  Reading reading = Sample("Linux Block Device");
  EXPECT_THAT(reading.names, ElementsAre("vg0-snapshot"));
  EXPECT_EQ(reading.Get("vg0-snapshot", "Disk Reads/sec"), 3);
  clock_.Advance(absl::Seconds(1));
  Write("proc/diskstats", "");
  EXPECT_THAT(Sample("Linux Block Device").names, ElementsAre());
}

}  // namespace
}  // namespace fleetperf::agent
