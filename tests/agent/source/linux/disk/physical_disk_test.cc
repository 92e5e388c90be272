#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/log_capture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
      {"id:1999", 0},  // the start of the life
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
  clock_.Advance(absl::Seconds(1));
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
      {4'294'967'294, kWrap + 4'294'967'294},
      {0, 2 * kWrap},
  };
  for (const auto& step : kSteps) {
    clock_.Advance(absl::Seconds(1));
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

// Requests of 300 ms, one after the other, on a kernel that adds the time of a
// request when it ends. The disk is never idle: only the first tick seems so.
TEST_F(PhysicalDiskTest, IdleTimeTakesBackTheTimeOfLateRequests) {
  AddDisk("sda");
  const auto idle = [this](uint64_t busy) {
    clock_.Advance(absl::Seconds(1));
    Write("proc/diskstats", Line("8 0 sda", {{1, 1}, {9, 1}, {10, busy}}));
    return *Sample("PhysicalDisk").Get("sda", "% Idle Time");
  };
  idle(0);
  const int64_t after_first = idle(900);
  for (const uint64_t busy : {2'100, 3'000, 3'900, 5'100, 6'000, 6'900}) {
    EXPECT_EQ(idle(busy), after_first) << busy;
  }
}

TEST_F(PhysicalDiskTest, RestartsWhenADiskIsReplaced) {
  AddDisk("sda");
  Write("proc/diskstats",
        Line("8 0 sda", {{1, 100}, {4, 4'294'967'000}, {5, 100}}));
  Sample("PhysicalDisk");
  clock_.Advance(absl::Seconds(1));
  Write("proc/diskstats", Line("8 0 sda", {{1, 3}, {4, 20}, {5, 2}}));
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("sda", "Disk Reads/sec"), 3);
  EXPECT_EQ(reading.Get("sda", "% Disk Read Time"), 20 * kMillisecond);
  // Another disk gets the device number, with another name.
  AddDisk("sdq");
  clock_.Advance(absl::Seconds(1));
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

// Devices of the kernel's NVMe multipath: a head, and hidden paths that have no
// number.
class PhysicalDiskMultipathTest : public PhysicalDiskTest {
 protected:
  PhysicalDiskMultipathTest() {
    for (const char* name :
         {"nvme0c0n1", "nvme0c1n1", "nvme0n1", "nvme1c1n1", "nvme1n1"}) {
      AddDisk(name);
    }
  }

  // Reads a second later.
  Reading SampleNext(absl::string_view diskstats) {
    Write("proc/diskstats", diskstats);
    Reading reading = Sample("PhysicalDisk");
    clock_.Advance(absl::Seconds(1));
    return reading;
  }
  // Reads and bytes read.
  using Counts = std::pair<uint64_t, uint64_t>;
  static Counts Growth(const Reading& from, const Reading& to,
                       const std::string& instance) {
    const auto growth = [&](const char* counter) {
      return *to.Get(instance, counter) - *from.Get(instance, counter);
    };
    return {growth("Disk Reads/sec"), growth("Disk Read Bytes/sec")};
  }
};

TEST_F(PhysicalDiskMultipathTest, CountsRequestsAtPathsOnce) {
  const auto text = [](int second) {
    const int a = 1000 + 100 * second;
    const int b = 900'000 + 50 * second;
    const auto path = [](int reads) {
      return absl::StrCat(reads, " 0 ", 8 * reads, " ", reads / 10,
                          " 0 0 0 0 0 ", reads / 20, " ", reads / 10,
                          " 0 0 0 0\n");
    };
    const char* const kIdle = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    return absl::StrCat(
        "   0       0 nvme0c0n1 ", path(a), " 259       1 nvme0n1 ", kIdle,
        "   0       0 nvme1c1n1 ", path(b), " 259       3 nvme1n1 ", kIdle);
  };
  const Reading first = SampleNext(text(0));
  EXPECT_THAT(first.names, ElementsAre("nvme0n1", "nvme1n1", "_Total"));
  std::set<uint32_t> ids;
  for (const auto& [name, id] : first.ids) ids.insert(id);
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(first.Get("nvme0n1", "Disk Reads/sec"), 1000);
  const Reading second = SampleNext(text(1));
  EXPECT_EQ(Growth(first, second, "nvme0n1"), Counts(100, 100 * 8 * 512));
  EXPECT_EQ(Growth(first, second, "_Total"), Counts(150, 150 * 8 * 512));
  // The paths are other devices, each with an id of its own.
  const Reading devices = Sample("Linux Block Device");
  EXPECT_THAT(devices.names, ElementsAre("nvme0c0n1", "nvme1c1n1"));
  EXPECT_NE(devices.ids.at("nvme0c0n1"), devices.ids.at("nvme1c1n1"));
}

TEST_F(PhysicalDiskMultipathTest, CountsRequestsAtHeadAndPathsOnce) {
  const auto text = [&](uint64_t reads) {
    return Line("0 0 nvme0c0n1", {{1, reads / 2}, {3, 4 * reads}}) +
           Line("0 0 nvme0c1n1", {{1, reads / 2}, {3, 4 * reads}}) +
           Line("259 1 nvme0n1", {{1, reads}, {3, 8 * reads}});
  };
  const Reading first = SampleNext(text(1000));
  EXPECT_EQ(first.Get("nvme0n1", "Disk Reads/sec"), 1000);
  const Reading second = SampleNext(text(1010));
  EXPECT_EQ(Growth(first, second, "_Total"), Counts(10, 10 * 8 * 512));
}

// Some kernels give the paths numbers, and count only at the head.
TEST_F(PhysicalDiskMultipathTest, CountsRequestsAtTheHead) {
  const auto text = [&](uint64_t reads) {
    return Line("259 0 nvme0c0n1", {}) +
           Line("259 1 nvme0n1", {{1, reads}, {3, 8 * reads}}) +
           Line("259 2 nvme0n1p1", {});
  };
  const Reading first = SampleNext(text(7));
  EXPECT_THAT(first.names, ElementsAre("nvme0n1", "_Total"));
  EXPECT_EQ(Growth(first, SampleNext(text(9)), "_Total"),
            Counts(2, 2 * 8 * 512));
}

TEST_F(PhysicalDiskMultipathTest, KeepsTheCountsOfALostPath) {
  const std::string head = Line("259 1 nvme0n1", {});
  SampleNext(head + Line("0 0 nvme0c0n1", {{1, 100}}) +
             Line("0 0 nvme0c1n1", {{1, 200}}));
  EXPECT_EQ(SampleNext(head + Line("0 0 nvme0c1n1", {{1, 205}}))
                .Get("nvme0n1", "Disk Reads/sec"),
            305);
  EXPECT_EQ(SampleNext(head).Get("nvme0n1", "Disk Reads/sec"), 305);
  // It returns, with counts from 0.
  SampleNext(head + Line("0 0 nvme0c0n1", {{1, 1}}));
  EXPECT_EQ(SampleNext(head + Line("0 0 nvme0c0n1", {{1, 4}}))
                .Get("nvme0n1", "Disk Reads/sec"),
            308);
}

// Each is busy all the time, and then none is.
TEST_F(PhysicalDiskMultipathTest, PathsAreBusyAtTheSameTime) {
  const auto text = [&](uint64_t busy) {
    return Line("259 1 nvme0n1", {}) +
           Line("0 0 nvme0c0n1", {{1, 1}, {10, busy}}) +
           Line("0 0 nvme0c1n1", {{1, 1}, {10, busy}});
  };
  const auto idle = [](const Reading& reading) {
    return *reading.Get("nvme0n1", "% Idle Time");
  };
  const uint64_t begin = idle(SampleNext(text(0)));
  for (const uint64_t busy : {1000, 2000, 3000}) {
    EXPECT_EQ(idle(SampleNext(text(busy))), begin);
  }
  const uint64_t end = idle(SampleNext(text(3000)));
  EXPECT_NEAR(static_cast<double>(end - begin), 1000 * kMillisecond,
              10 * kMillisecond);
}

// Without a head, a path is a disk.
TEST_F(PhysicalDiskMultipathTest, ListsAPathWithoutAHead) {
  const Reading reading = SampleNext(Line("0 0 nvme0c0n1", {{1, 5}}));
  EXPECT_EQ(reading.Get("nvme0c0n1", "Disk Reads/sec"), 5);
  EXPECT_NE(reading.ids.at("nvme0c0n1"), 0u);
}

TEST_F(PhysicalDiskTest, NamesDevicesWithTheSameNumber) {
  AddDisk("sda");
  AddDisk("sdb");
  const auto text = [](uint64_t reads) {
    return Line("8 0 sda", {{1, reads}}) + Line("8 0 sdb", {{1, 1'000'000}});
  };
  Write("proc/diskstats", text(1));
  const testing::LogCapture log;
  Sample("PhysicalDisk");
  Write("proc/diskstats", text(3));
  clock_.Advance(absl::Seconds(1));
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("sda", "_Total"));
  EXPECT_EQ(reading.Get("_Total", "Disk Reads/sec"), 2);
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("sdb has the number 8:0 of sda")));
}

// Layers that are not known by name.
TEST_F(PhysicalDiskTest, ADeviceWithSlavesIsNoDisk) {
  for (const char* name : {"sda", "sdb", "layer0"}) AddDisk(name);
  Write("sys/block/layer0/slaves/sda/dev", "8:0\n");
  std::filesystem::create_directories(PathOf("sys/block/sda/slaves"));
  Write("proc/diskstats", Line("8 0 sda", {}) + Line("240 0 layer0", {}));
  EXPECT_THAT(Sample("PhysicalDisk").names, ElementsAre("sda", "_Total"));
}

// 32 bits, 64 bits, and a minus sign.
TEST_F(PhysicalDiskTest, LeavesOutRequestsInFlightBelowZero) {
  for (const char* name : {"sda", "sdb", "sdc"}) AddDisk(name);
  Write("proc/diskstats",
        "   8       0 sda 10 0 80 1 0 0 0 0 4294967295 5 9\n"
        "   8      16 sdb 10 0 80 1 0 0 0 0 18446744073709551615 5 9\n"
        "   8      32 sdc 10 0 80 1 0 0 0 0 -1 5 9\n");
  Reading reading = Sample("PhysicalDisk");
  for (const char* disk : {"sda", "sdb", "sdc", "_Total"}) {
    EXPECT_EQ(reading.Get(disk, "Current Disk Queue Length"), std::nullopt)
        << disk;
  }
  EXPECT_EQ(reading.Get("sdc", "Avg. Disk Queue Length"), 9 * kMillisecond);
  clock_.Advance(absl::Seconds(1));
  Write("proc/diskstats", Line("8 0 sda", {{9, 2'147'483'647}}) +
                              Line("8 16 sdb", {{9, 2'147'483'648}}));
  reading = Sample("PhysicalDisk");
  EXPECT_EQ(reading.Get("_Total", "Current Disk Queue Length"), 2'147'483'647);
}

TEST_F(PhysicalDiskTest, LeavesOutWhatALineDoesNotTell) {
  for (const char* name : {"sda", "sdb", "sdc", "sdd"}) AddDisk(name);
  std::string all_ones;
  std::string all_ones_of_32_bits;
  for (int i = 0; i < 17; ++i) {
    absl::StrAppend(&all_ones, " 18446744073709551615");
    absl::StrAppend(&all_ones_of_32_bits, " 4294967295");
  }
  Write("proc/diskstats",
        absl::StrCat("8 0 sda\n8 16 sdb 7 8 9\n8 32 sdc", all_ones,
                     "\n8 48 sdd", all_ones_of_32_bits, "\n"));
  const Reading reading = Sample("PhysicalDisk");
  for (const char* disk : {"sda", "sdc", "sdd"}) {
    EXPECT_THAT(reading.rows.at(disk), IsEmpty()) << disk;
  }
  EXPECT_EQ(reading.Get("sdb", "Disk Read Bytes/sec"), 9 * 512);
  for (const char* counter :
       {"% Disk Read Time", "Disk Writes/sec", "Disk Transfers/sec",
        "% Idle Time", "Current Disk Queue Length"}) {
    EXPECT_EQ(reading.Get("sdb", counter), std::nullopt) << counter;
  }
}

// As if another disk had the number and the name.
TEST_F(PhysicalDiskTest, ABusyTimeThatGrowsTooMuchBeginsALife) {
  AddDisk("sda");
  const auto sample = [this](uint64_t busy) {
    Write("proc/diskstats", Line("8 0 sda", {{1, 10}, {10, busy}}));
    clock_.Advance(absl::Minutes(1));
    return Sample("PhysicalDisk");
  };
  sample(1000);
  EXPECT_EQ(sample(61'010).Get("sda", "id:1999"), 0);
  const Reading before = sample(61'020);
  const Reading after = sample(999'000);
  const auto start = after.Get("sda", "id:1999");
  EXPECT_GT(start, 0);
  EXPECT_EQ(sample(999'100).Get("sda", "id:1999"), start);
  // None of it is time of the total.
  EXPECT_EQ(after.Get("_Total", "% Idle Time"),
            before.Get("_Total", "% Idle Time"));
  EXPECT_EQ(after.Get("_Total", "id:1999"), std::nullopt);
}

// Some kernels add the time of a request when it ends.
TEST_F(PhysicalDiskTest, TheTimeOfALongRequestComesAtItsEnd) {
  AddDisk("sda");
  const auto life_start = [this](uint64_t in_flight, uint64_t busy) {
    Write("proc/diskstats",
          Line("8 0 sda", {{1, 10}, {9, in_flight}, {10, busy}}));
    clock_.Advance(absl::Minutes(1));
    return Sample("PhysicalDisk").Get("sda", "id:1999");
  };
  EXPECT_EQ(life_start(0, 1'000), 0);
  EXPECT_EQ(life_start(1, 11'000), 0);
  EXPECT_EQ(life_start(1, 11'000), 0);
  EXPECT_EQ(life_start(0, 180'000), 0);
  EXPECT_GT(life_start(0, 290'000), 0);  // nothing was in flight before
}

TEST_F(PhysicalDiskTest, HasOnlyATotalWithoutDisks) {
  Write("proc/diskstats", "");
  const Reading reading = Sample("PhysicalDisk");
  EXPECT_THAT(reading.names, ElementsAre("_Total"));
  EXPECT_EQ(reading.rows.at("_Total"), Values());
}

}  // namespace
}  // namespace fleetperf::agent
