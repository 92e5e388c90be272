// What the reader of Linux takes from /sys, on made-up files after the kernel's
// documentation: packages, the uncore's frequency, and what resctrl monitors.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/hardware/linux/cache_monitoring.h"
#include "driver/hardware/linux/cpu_topology.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/hardware/linux/uncore_frequency.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/simulation/simulated_system.h"

namespace fleetperf::hardware {
namespace {

using enum HardwareCount;

constexpr char kCpus[] = "/sys/devices/system/cpu/";
constexpr char kUncore[] = "/sys/devices/system/cpu/intel_uncore_frequency/";
constexpr char kResctrl[] = "/sys/fs/resctrl/";

class SysfsReadingsTest : public ::testing::Test {
 protected:
  // Four CPUs; 0 and 2 are in package 0, 1 and 3 in package 1. Each package has
  // a last-level cache, 10 and 11.
  SysfsReadingsTest() {
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string directory = absl::StrCat(kCpus, "cpu", cpu);
      Write(directory + "/topology/physical_package_id", cpu % 2);
      Write(directory + "/cache/index3/id", 10 + cpu % 2);
    }
  }

  void Write(const std::string& path, uint64_t number) {
    machine_.SetFile(path, absl::StrCat(number, "\n"));
  }
  // Writes what a group has in a cache, and loaded through it.
  void WriteGroup(const std::string& group, int cache, uint64_t occupancy,
                  uint64_t total, uint64_t local) {
    const std::string directory =
        absl::StrCat(kResctrl, group, "mon_data/mon_L3_", cache, "/");
    Write(directory + "llc_occupancy", occupancy);
    Write(directory + "mbm_total_bytes", total);
    Write(directory + "mbm_local_bytes", local);
  }
  void RemoveGroup(const std::string& group, int cache) {
    for (const char* file :
         {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"}) {
      machine_.RemoveFile(
          absl::StrCat(kResctrl, group, "mon_data/mon_L3_", cache, "/", file));
    }
  }
  HardwareReading Monitored(int cpu) {
    HardwareReading reading{.cpu = cpu};
    caches_.AddTo(&reading);
    return reading;
  }

  perf_event::SimulatedSystem machine_{{.cpus = 4, .hardware_counters = 8}};
  CacheMonitoring caches_{machine_};
};

TEST_F(SysfsReadingsTest, FindsThePackagesOfCpus) {
  machine_.SetFile(absl::StrCat(kCpus, "cpu3/topology/physical_package_id"),
                   "-1\n");
  CpuPackages packages(machine_);
  packages.Update({0, 1, 2, 3});
  EXPECT_EQ(packages.Of(0), 0);
  EXPECT_EQ(packages.Of(2), 0);
  EXPECT_EQ(packages.Of(1), 1);
  EXPECT_EQ(packages.Of(3), std::nullopt);
  EXPECT_EQ(packages.Of(4), std::nullopt);
  EXPECT_TRUE(packages.IsFirst(0));
  EXPECT_TRUE(packages.IsFirst(1));
  EXPECT_FALSE(packages.IsFirst(2));
  packages.Update({1, 2, 3});
  EXPECT_TRUE(packages.IsFirst(2));
}

TEST_F(SysfsReadingsTest, ReadsTheUncoreFrequencyOfDies) {
  Write(absl::StrCat(kUncore, "package_00_die_00/current_freq_khz"), 2'400'000);
  Write(absl::StrCat(kUncore, "package_01_die_00/current_freq_khz"), 800'000);
  Write(absl::StrCat(kUncore, "package_01_die_01/current_freq_khz"), 1'200'000);
  const UncoreFrequency uncore(machine_);
  EXPECT_EQ(uncore.Of(0), 2'400'000'000);
  EXPECT_EQ(uncore.Of(1), 1'200'000'000);
  EXPECT_EQ(uncore.Of(2), std::nullopt);
}

TEST_F(SysfsReadingsTest, ReadsTheUncoreFrequencyOfParts) {
  const uint64_t frequencies[] = {1'000'000, 1'600'000, 0};
  for (int part = 0; part < 3; ++part) {
    const std::string directory = absl::StrCat(kUncore, "uncore0", part, "/");
    Write(directory + "package_id", part / 2);
    Write(directory + "domain_id", part % 2);
    Write(directory + "current_freq_khz", frequencies[part]);
  }
  const UncoreFrequency uncore(machine_);
  EXPECT_EQ(uncore.Of(0), 1'600'000'000);
  EXPECT_EQ(uncore.Of(1), std::nullopt);  // 0 is no frequency
}

TEST_F(SysfsReadingsTest, HasNoUncoreFrequencyWithoutTheDriver) {
  EXPECT_EQ(UncoreFrequency(machine_).Of(0), std::nullopt);
}

// Of a cache, the root and each control group have a part; a monitoring group
// is a part of its control group.
TEST_F(SysfsReadingsTest, AddsUpTheControlGroupsOfACache) {
  const auto write = [this](uint64_t second) {
    WriteGroup("", 10, 1'000'000, 700 + 500 * second, 600 + 400 * second);
    WriteGroup("batch/", 10, 50'000, 30 * second, 10 * second);
    WriteGroup("batch/mon_groups/a/", 10, 20'000, 9 * second, 9 * second);
    WriteGroup("", 11, 7'000, 4 * second, 4 * second);
  };
  write(0);
  caches_.Update({0, 1, 2, 3});
  write(2);
  caches_.Update({0, 1, 2, 3});
  EXPECT_EQ(Monitored(0).l3_occupancy_bytes, 1'050'000);
  EXPECT_EQ(Monitored(0)[kLocalMemoryBytes], 2 * (400 + 10));
  EXPECT_EQ(Monitored(0)[kRemoteMemoryBytes], 2 * (100 + 20));
  EXPECT_EQ(Monitored(1).l3_occupancy_bytes, 7'000);
  EXPECT_EQ(Monitored(1)[kLocalMemoryBytes], 8);
  EXPECT_EQ(Monitored(1)[kRemoteMemoryBytes], 0);
  // The other CPUs share these caches.
  EXPECT_FALSE(Monitored(2).l3_occupancy_bytes);
  EXPECT_FALSE(Monitored(3)[kLocalMemoryBytes]);
}

TEST_F(SysfsReadingsTest, TrafficNeverFallsWhenGroupsComeAndGo) {
  WriteGroup("", 10, 1, 1'000, 1'000);
  WriteGroup("batch/", 10, 1, 5'000, 5'000);
  caches_.Update({0});
  WriteGroup("", 10, 1, 1'010, 1'010);
  RemoveGroup("batch/", 10);
  WriteGroup("new/", 10, 1, 300, 200);
  caches_.Update({0});
  EXPECT_EQ(Monitored(0)[kLocalMemoryBytes], 10);
  WriteGroup("new/", 10, 1, 340, 210);
  WriteGroup("", 10, 1, 5, 5);  // started over
  caches_.Update({0});
  EXPECT_EQ(Monitored(0)[kLocalMemoryBytes], 20);
  EXPECT_EQ(Monitored(0)[kRemoteMemoryBytes], 30);
}

TEST_F(SysfsReadingsTest, HasNoValueForATextAndWithoutResctrl) {
  const std::string cache = absl::StrCat(kResctrl, "mon_data/mon_L3_10/");
  machine_.SetFile(cache + "llc_occupancy", "Unavailable\n");
  machine_.SetFile(cache + "mbm_total_bytes", "Error\n");
  machine_.SetFile(cache + "mbm_local_bytes", "Unassigned\n");
  caches_.Update({0});
  EXPECT_FALSE(Monitored(0).l3_occupancy_bytes);
  EXPECT_FALSE(Monitored(0)[kLocalMemoryBytes]);
  Write(cache + "llc_occupancy", 77);
  caches_.Update({0});
  EXPECT_EQ(Monitored(0).l3_occupancy_bytes, 77);
  RemoveGroup("", 10);  // unmounted
  caches_.Update({0});
  EXPECT_FALSE(Monitored(0).l3_occupancy_bytes);
}

TEST_F(SysfsReadingsTest, TheReaderHasThemAtTheFirstCpus) {
  Write(absl::StrCat(kUncore, "package_01_die_00/current_freq_khz"), 800'000);
  WriteGroup("", 11, 7'000, 0, 0);
  machine_.SetRate(*perf_event::ParseEvent("instructions", machine_), 1);
  const auto reader = MakePerfEventReader(machine_, 100);
  ASSERT_TRUE(reader->Update().ok());
  EXPECT_EQ(reader->ReadingOf(1).package, 1);
  EXPECT_EQ(reader->ReadingOf(1).uncore_hertz, 800'000'000);
  EXPECT_EQ(reader->ReadingOf(1).l3_occupancy_bytes, 7'000);
  EXPECT_EQ(reader->ReadingOf(3).package, 1);
  EXPECT_FALSE(reader->ReadingOf(3).uncore_hertz);
  EXPECT_FALSE(reader->ReadingOf(3).l3_occupancy_bytes);
  EXPECT_EQ(reader->ReadingOf(0).package, 0);
  EXPECT_FALSE(reader->ReadingOf(0).uncore_hertz);
}

// The PMU of client CPUs before Tiger Lake counts in units of 64 bytes.
TEST_F(SysfsReadingsTest, CountsTheMemoryOfClientCpus) {
  machine_.SetFile("/proc/cpuinfo",
                   "vendor_id\t: GenuineIntel\ncpu family\t: 6\n"
                   "model\t\t: 94\nstepping\t: 3\n");  // Skylake
  machine_.AddPmu("uncore_imc", 30, {{"event", "config:0-7"}}, "0");
  for (const char* name : {"data_reads", "data_writes"}) {
    const std::string file =
        absl::StrCat("/sys/bus/event_source/devices/uncore_imc/events/", name);
    machine_.SetFile(file, name[5] == 'r' ? "event=0x1\n" : "event=0x2\n");
    machine_.SetFile(file + ".scale", "6.103515625e-5\n");
    machine_.SetFile(file + ".unit", "MiB\n");
  }
  const auto set_rate = [this](const char* name, uint64_t rate) {
    machine_.SetRate(*perf_event::ParseEvent(name, machine_), rate);
  };
  set_rate("instructions", 1);
  set_rate("uncore_imc/data_reads/", 1'000'000);
  set_rate("uncore_imc/data_writes/", 250'000);
  const auto reader = MakePerfEventReader(machine_, 100);
  ASSERT_TRUE(reader->Update().ok());
  machine_.Advance(absl::Seconds(2));
  ASSERT_TRUE(reader->Update().ok());
  EXPECT_EQ(reader->ReadingOf(0)[kMemoryReadBytes], 2 * 64'000'000);
  EXPECT_EQ(reader->ReadingOf(0)[kMemoryWriteBytes], 2 * 16'000'000);
}

}  // namespace
}  // namespace fleetperf::hardware
