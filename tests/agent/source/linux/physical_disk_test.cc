#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr uint64_t kMillisecond = 10'000;  // in units of 100 ns
// SimulatedClock starts an hour after its origin.
constexpr uint64_t kNow = 3600 * uint64_t{10'000'000};

// Returns the instance id of a disk: its device number.
constexpr uint32_t DeviceId(uint32_t major, uint32_t minor) {
  return major << 20 | minor;
}

class PhysicalDiskTest : public testing::LinuxFixture {
 protected:
  // Adds a directory in /sys/block, which disks have and partitions lack.
  void AddDisk(const std::string& name) {
    Write("sys/block/" + name + "/size", "1\n");
  }
  // Sets only the fields given: numbers 1 to 17 after the name, as in the
  // kernel's Documentation/admin-guide/iostats.rst.
  static std::string Line(absl::string_view device,
                          const std::map<int, uint64_t>& fields) {
    std::string line = absl::StrCat(device);
    for (int i = 1; i <= 17; ++i) {
      const auto field = fields.find(i);
      absl::StrAppend(&line, " ", field == fields.end() ? 0 : field->second);
    }
    return line + "\n";
  }
};

TEST_F(PhysicalDiskTest, ReadsEveryCounter) {
  AddDisk("sda");
  Write("proc/diskstats",
        "   8       0 sda 100 20 3000 400 500 60 7000 800 9 1000 1100 12 13 "
        "1400 15 16 17\n");
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("sda", "_Total"));
  EXPECT_EQ(reading.ids.at("sda"), DeviceId(8, 0));
  const Values sda = {
      {"% Disk Read Time", 400 * kMillisecond},
      {"% Disk Write Time", 800 * kMillisecond},
      {"% Disk Time", (400 + 800) * kMillisecond},
      {"% Idle Time", kNow - 1000 * kMillisecond},
      {"Current Disk Queue Length", 9},
      {"Avg. Disk Queue Length", 1100 * kMillisecond},
      {"Avg. Disk Read Queue Length", 400 * kMillisecond},
      {"Avg. Disk Write Queue Length", 800 * kMillisecond},
      // In ticks of PerfFreq, which is 10 MHz.
      {"Avg. Disk sec/Transfer", (400 + 800) * kMillisecond},
      {"Avg. Disk sec/Read", 400 * kMillisecond},
      {"Avg. Disk sec/Write", 800 * kMillisecond},
      {"Disk Transfers/sec", 100 + 500},
      {"Disk Reads/sec", 100},
      {"Disk Writes/sec", 500},
      {"Disk Bytes/sec", (3000 + 7000) * 512},
      {"Disk Read Bytes/sec", 3000 * 512},
      {"Disk Write Bytes/sec", 7000 * 512},
      {"Avg. Disk Bytes/Transfer", (3000 + 7000) * 512},
      {"Avg. Disk Bytes/Read", 3000 * 512},
      {"Avg. Disk Bytes/Write", 7000 * 512},
      {"id:1100", kNow},
      {"id:1101", 100 + 500},
      {"id:1102", 100},
      {"id:1103", 500},
      {"Disk Merges/sec", 20 + 60},
      {"Disk Discards/sec", 12},
      {"Disk Discard Bytes/sec", 1400 * 512},
      {"Disk Flushes/sec", 16},
      {"Avg. Disk sec/Discard", 15 * kMillisecond},
      {"Avg. Disk sec/Flush", 17 * kMillisecond},
      {"id:1104", 12},
      {"id:1105", 16},
  };
  EXPECT_EQ(reading.rows.at("sda"), sda);
}

// Linux 4.18 added discards, and 5.5 flushes.
TEST_F(PhysicalDiskTest, LeavesOutWhatOldKernelsDoNotCount) {
  AddDisk("sda");
  Write("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
  Reading reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("sda", "Avg. Disk Queue Length"), 11 * kMillisecond);
  EXPECT_EQ(reading.Get("sda", "Disk Discards/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("sda", "Disk Flushes/sec"), std::nullopt);
  Write("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
  reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("sda", "Disk Discard Bytes/sec"), 14 * 512);
  EXPECT_EQ(reading.Get("sda", "Avg. Disk sec/Flush"), std::nullopt);
}

TEST_F(PhysicalDiskTest, ListsWholeDisksOnly) {
  for (const char* whole :
       {"sda", "vdb", "xvda", "nvme0n1", "mmcblk0", "cciss!c0d0", "loop0",
        "ram0", "zram0", "dm-0", "md0", "sr0", "fd0", "rbd0"}) {
    AddDisk(whole);
  }
  Write("proc/diskstats",
        Line("7 0 loop0", {}) + Line("1 0 ram0", {}) + Line("8 0 sda", {}) +
            Line("8 1 sda1", {}) + Line("254 16 vdb", {}) +
            Line("253 0 dm-0", {}) + Line("252 0 zram0", {}) +
            Line("9 0 md0", {}) + Line("11 0 sr0", {}) + Line("2 0 fd0", {}) +
            Line("259 0 nvme0n1", {}) + Line("259 1 nvme0n1p1", {}) +
            Line("179 0 mmcblk0", {}) + Line("104 0 cciss/c0d0", {}) +
            Line("250 0 rbd0", {}) + Line("202 0 xvda", {}));
  EXPECT_THAT(Sample("PhysicalDisk").names,
              ElementsAre("sda", "vdb", "nvme0n1", "mmcblk0", "cciss/c0d0",
                          "rbd0", "xvda", "_Total"));
}

// The fields that the kernel prints with 32 bits.
class PhysicalDiskTimes
    : public PhysicalDiskTest,
      public ::testing::WithParamInterface<std::pair<int, const char*>> {};

TEST_P(PhysicalDiskTimes, ExtendBeyond32Bits) {
  const auto [field, counter] = GetParam();
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  AddDisk("sda");
  const struct {
    uint64_t printed;
    uint64_t milliseconds;
  } kSteps[] = {
      {3'000'000'000, 3'000'000'000},  // at the agent's start
      {4'294'967'000, 4'294'967'000},
      {500, kWrap + 500},
      {499, kWrap + 500},  // a small step back
      {501, kWrap + 501},
      {2'147'483'700, kWrap + 2'147'483'700},
      {4'294'967'295, kWrap + 4'294'967'295},
      {0, 2 * kWrap},
  };
  for (const auto& step : kSteps) {
    Write("proc/diskstats", Line("8 0 sda", {{field, step.printed}}));
    EXPECT_EQ(Sample("PhysicalDisk").Get("sda", counter),
              step.milliseconds * kMillisecond)
        << step.printed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, PhysicalDiskTimes,
    ::testing::Values(std::pair(4, "% Disk Read Time"),
                      std::pair(8, "% Disk Write Time"),
                      std::pair(15, "Avg. Disk sec/Discard"),
                      std::pair(17, "Avg. Disk sec/Flush"),
                      std::pair(11, "Avg. Disk Queue Length")));

TEST_F(PhysicalDiskTest, IdleTimeFallsBehindTheClockByTheBusyTime) {
  constexpr uint64_t kSecond = 1000 * kMillisecond;
  AddDisk("sda");
  Write("proc/diskstats", Line("8 0 sda", {{10, 100'000}}));
  const Reading first = Sample("PhysicalDisk");
  clock_.Advance(absl::Seconds(10));
  Write("proc/diskstats", Line("8 0 sda", {{10, 103'000}}));  // busy for 3 s
  const Reading second = Sample("PhysicalDisk");
  EXPECT_EQ(*second.Get("sda", "id:1100") - *first.Get("sda", "id:1100"),
            10 * kSecond);
  EXPECT_EQ(
      *second.Get("sda", "% Idle Time") - *first.Get("sda", "% Idle Time"),
      7 * kSecond);
}

// The busy time advances in steps of the kernel's timer.
TEST_F(PhysicalDiskTest, IdleTimeOfABusyDiskNeverDecreases) {
  AddDisk("sda");
  AddDisk("sdb");
  const auto sample = [this](uint64_t busy) {
    Write("proc/diskstats",
          Line("8 0 sda", {{10, busy}}) + Line("8 16 sdb", {}));
    return Sample("PhysicalDisk");
  };
  const Reading first = sample(100'000);
  clock_.Advance(absl::Seconds(1));
  const Reading second = sample(101'004);  // 4 ms ahead of the clock
  const auto growth = [&](const Reading& from, const Reading& to,
                          const char* disk) {
    return *to.Get(disk, "% Idle Time") - *from.Get(disk, "% Idle Time");
  };
  EXPECT_EQ(growth(first, second, "sda"), 0);
  EXPECT_EQ(growth(first, second, "_Total"), 500 * kMillisecond);
  clock_.Advance(absl::Seconds(1));
  const Reading third = sample(101'504);  // idle for half of the time
  EXPECT_EQ(growth(second, third, "sda"), 496 * kMillisecond);
}

TEST_F(PhysicalDiskTest, RestartsWhenADiskIsReplaced) {
  AddDisk("sda");
  Write("proc/diskstats",
        Line("8 0 sda", {{1, 100}, {4, 4'294'967'000}, {5, 100}}));
  Sample("PhysicalDisk");
  Write("proc/diskstats", Line("8 0 sda", {{1, 3}, {4, 20}, {5, 2}}));
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("sda", "Disk Reads/sec"), 3);
  EXPECT_EQ(reading.Get("sda", "% Disk Read Time"), 20 * kMillisecond);
  // Another disk gets the device number, with another name.
  AddDisk("sdq");
  Write("proc/diskstats", Line("8 0 sdq", {{1, 5}, {4, 10}, {5, 2}}));
  EXPECT_EQ(Sample("PhysicalDisk").Get("sdq", "% Disk Read Time"),
            10 * kMillisecond);
}

TEST_F(PhysicalDiskTest, TotalsAddCountsAndAveragePercentages) {
  AddDisk("sda");
  AddDisk("sdb");
  Write("proc/diskstats", Line("8 0 sda", {{1, 100}, {4, 1000}, {10, 50}}) +
                              Line("8 16 sdb", {{1, 200}, {4, 9000}}));
  Sample("PhysicalDisk");
  clock_.Advance(absl::Seconds(1));
  Write("proc/diskstats",
        Line("8 0 sda", {{1, 110}, {3, 8}, {4, 1300}, {9, 2}, {10, 250}}) +
            Line("8 16 sdb", {{1, 205}, {4, 9100}, {9, 3}}));
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("_Total", "Disk Reads/sec"), 10 + 5);
  EXPECT_EQ(reading.Get("_Total", "id:1102"), 10 + 5);
  EXPECT_EQ(reading.Get("_Total", "Disk Read Bytes/sec"), 8 * 512);
  EXPECT_EQ(reading.Get("_Total", "Avg. Disk sec/Read"), 400 * kMillisecond);
  EXPECT_EQ(reading.Get("_Total", "Current Disk Queue Length"), 5);
  EXPECT_EQ(reading.Get("_Total", "% Disk Read Time"),
            (300 + 100) / 2 * kMillisecond);
  EXPECT_EQ(reading.Get("_Total", "% Idle Time"),
            (800 + 1000) / 2 * kMillisecond);
  EXPECT_EQ(reading.Get("_Total", "id:1100"), 1000 * kMillisecond);
}

// The new disk's clock has run for an hour, which is not growth of the total.
TEST_F(PhysicalDiskTest, TotalsContinueWhenADiskIsAdded) {
  AddDisk("sda");
  Write("proc/diskstats", Line("8 0 sda", {}));
  Sample("PhysicalDisk");
  clock_.Advance(absl::Seconds(1));
  AddDisk("sdb");
  Write("proc/diskstats", Line("8 0 sda", {}) + Line("8 16 sdb", {}));
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("_Total", "id:1100"), 1000 * kMillisecond);
  EXPECT_EQ(reading.Get("_Total", "% Idle Time"), 1000 * kMillisecond);
}

TEST_F(PhysicalDiskTest, HasOnlyATotalWithoutDisks) {
  Write("proc/diskstats", "");
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("_Total"));
  EXPECT_EQ(reading.rows.at("_Total"), Values());
}

}  // namespace
}  // namespace fleetperf::agent
