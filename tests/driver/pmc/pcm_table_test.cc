// PCM's formulas. Expected values are worked out by hand.

#include "driver/pmc/pcm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using enum hardware::HardwareCount;
using hardware::HardwareReading;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr uint64_t kHertz = 2'000'000'000;

// Half a second of 2 · 10^9 cycles/s, of which the CPU was active for 0.25 s at
// 3 GHz.
HardwareReading Growth() {
  HardwareReading growth;
  growth[kTimestamp] = 1'000'000'000;
  growth[kReferenceCycles] = 500'000'000;
  growth[kCycles] = 750'000'000;
  growth[kInstructions] = 1'500'000'000;
  growth[kL3References] = 4'000'000;
  growth[kL3Misses] = 1'000'000;
  growth[kL3Instructions] = 1'500'000'000;
  growth[kL2Hits] = 9'000'000;
  growth[kL2Misses] = 3'000'000;
  growth[kPackageMicrojoules] = 12'500'000;
  return growth;
}

TEST(PcmRow, HasPcmsColumns) {
  const PcmRow row = MakePcmRow(Growth(), kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.5);
  EXPECT_DOUBLE_EQ(*row.ipc, 2);
  EXPECT_DOUBLE_EQ(*row.exec, 1.5);
  EXPECT_DOUBLE_EQ(*row.active_frequency, 3);            // CFREQ, in GHz
  EXPECT_DOUBLE_EQ(*row.active_frequency_ratio, 1.5);    // AFREQ
  EXPECT_DOUBLE_EQ(*row.average_frequency_ratio, 0.75);  // FREQ
  EXPECT_DOUBLE_EQ(*row.l3_misses, 1e6);
  EXPECT_DOUBLE_EQ(*row.l3_hit, 0.75);
  EXPECT_DOUBLE_EQ(*row.l2_hit, 0.75);
  EXPECT_NEAR(*row.l3_mpi, 1.0 / 1500, 1e-12);
  EXPECT_NEAR(*row.l2_mpi, 3.0 / 1500, 1e-12);
  EXPECT_DOUBLE_EQ(*row.cpu_joules, 12.5);
  EXPECT_FALSE(row.memory_joules);
  EXPECT_FALSE(row.headroom);
}

// PCM prints CFREQ in GHz; FREQ and AFREQ are ratios to the nominal frequency.
TEST(PcmRow, FrequenciesHavePcmsNames) {
  const PcmRow row = MakePcmRow(Growth(), kHertz);
  const std::map<std::string, double> expected = {
      {"CFREQ", 3}, {"AFREQ", 1.5}, {"FREQ", 0.75}};
  size_t found = 0;
  for (const PcmColumn& column : PcmColumns()) {
    const auto value = expected.find(column.title);
    if (value == expected.end()) continue;
    ++found;
    EXPECT_DOUBLE_EQ(*(row.*column.value), value->second) << column.title;
  }
  EXPECT_EQ(found, expected.size());
}

// The cache of four CPUs counts at the first one: its misses are divided by the
// instructions of all four.
TEST(PcmRow, MissesOfASharedCacheAreThoseOfAllItsCpus) {
  HardwareReading growth = Growth();
  growth[kL3Instructions] = 4'000'000'000;
  EXPECT_DOUBLE_EQ(*MakePcmRow(growth, kHertz).l3_mpi, 1e6 / 4e9);
  growth[kL3Instructions].reset();
  EXPECT_FALSE(MakePcmRow(growth, kHertz).l3_mpi);
}

TEST(PcmRow, ACpuThatWasHaltedHasNoIpc) {
  HardwareReading growth = Growth();
  growth[kCycles] = growth[kReferenceCycles] = growth[kInstructions] = 0;
  const PcmRow row = MakePcmRow(growth, kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0);
  EXPECT_FALSE(row.ipc);
  EXPECT_FALSE(row.active_frequency);
  EXPECT_FALSE(row.active_frequency_ratio);
  EXPECT_DOUBLE_EQ(*row.average_frequency_ratio, 0);
}

TEST(PcmRow, HasNoFrequencyWithoutThatOfTheTimestampCounter) {
  const PcmRow row = MakePcmRow(Growth(), 0);
  EXPECT_FALSE(row.active_frequency);
  EXPECT_DOUBLE_EQ(*row.active_frequency_ratio, 1.5);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.5);
}

TEST(PcmRow, GrowthIsThatOfCountsWhichBothReadingsHave) {
  HardwareReading before;
  before[kInstructions] = 10;
  before[kCycles] = 5;
  before.time = absl::Seconds(1);
  HardwareReading after;
  after[kInstructions] = 25;
  after[kL3Misses] = 7;
  after.time = absl::Seconds(3);
  after.temperature = 50;
  const HardwareReading growth = GrowthOf(before, after);
  EXPECT_EQ(growth[kInstructions], 15u);
  EXPECT_FALSE(growth[kCycles]);
  EXPECT_FALSE(growth[kL3Misses]);
  EXPECT_EQ(growth.time, absl::Seconds(2));
  EXPECT_EQ(growth.temperature, 50u);
}

// Two CPUs: one as above, one halted all the time.
TEST(PcmRow, ATotalIsThatOfSummedCounts) {
  HardwareReading halted;
  halted[kTimestamp] = 1'000'000'000;
  halted[kReferenceCycles] = halted[kCycles] = halted[kInstructions] = 0;
  halted.temperature_headroom = 60;
  HardwareReading active = Growth();
  active.temperature_headroom = 20;
  HardwareReading total;
  AddToTotal(active, &total);
  AddToTotal(halted, &total);
  const PcmRow row = MakePcmRow(total, kHertz);
  EXPECT_DOUBLE_EQ(*row.utilization, 0.25);
  EXPECT_DOUBLE_EQ(*row.ipc, 2);
  EXPECT_DOUBLE_EQ(*row.headroom, 20);
}

std::vector<std::string> Words(const std::string& line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

// Four CPUs of two sockets at a time. Each executes 2, 4, 6 or 8 instructions
// a cycle; the first CPU of each socket has the memory's counts.
Readings ReadingsAt(int second, bool has_sockets = true) {
  Readings readings;
  for (int cpu = 0; cpu < 4; ++cpu) {
    HardwareReading& reading = readings[cpu];
    reading.cpu = cpu;
    reading.time = absl::Seconds(second);
    if (has_sockets) reading.package = cpu / 2;
    reading[kCycles] = 1'000 * second;
    reading[kInstructions] = 2'000 * (cpu + 1) * second;
    if (cpu % 2 != 0) continue;
    const uint64_t socket = cpu / 2;
    reading[kMemoryReadBytes] = (3 - socket) * 1'500'000'000 * second;
    reading[kMemoryWriteBytes] = 250'000'000 * second;
    reading[kLocalMemoryBytes] = 40'000'000 * second;
    reading[kRemoteMemoryBytes] = 2'000'000 * (socket + 1) * second;
    reading.l3_occupancy_bytes = 1'024 * (100 + socket);
    reading.uncore_hertz = 1'000'000'000 * (socket + 1);
  }
  return readings;
}

TEST(PcmTable, HasARowForEachCpuAndSocketAndATotal) {
  const std::vector<std::string> lines = absl::StrSplit(
      PcmTable(ReadingsAt(1), ReadingsAt(2), 0), '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(8));
  EXPECT_THAT(Words(lines[0]), ElementsAre("CPU", "SKT", "IPC", "L3OCC", "LMB",
                                           "RMB", "READ", "WRITE", "UncFREQ"));
  EXPECT_THAT(Words(lines[1]), ElementsAre("0", "0", "2.00", "100", "40", "2",
                                           "4.50", "0.25", "1.00"));
  EXPECT_THAT(Words(lines[2]),
              ElementsAre("1", "0", "4.00", "-", "-", "-", "-", "-", "-"));
  EXPECT_THAT(Words(lines[3]), ElementsAre("2", "1", "6.00", "101", "40", "4",
                                           "3.00", "0.25", "2.00"));
  EXPECT_THAT(Words(lines[5]), ElementsAre("SKT0", "3.00", "100", "40", "2",
                                           "4.50", "0.25", "1.00"));
  EXPECT_THAT(Words(lines[6]), ElementsAre("SKT1", "7.00", "101", "40", "4",
                                           "3.00", "0.25", "2.00"));
  EXPECT_THAT(Words(lines[7]), ElementsAre("TOTAL", "5.00", "201", "80", "6",
                                           "7.50", "0.50", "2.00"));
}

TEST(PcmTable, HasNoSocketsIfTheyAreUnknown) {
  const std::vector<std::string> lines =
      absl::StrSplit(PcmTable(ReadingsAt(1, false), ReadingsAt(2, false), 0),
                     '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(6));
  EXPECT_EQ(Words(lines[0])[1], "IPC");
  EXPECT_EQ(Words(lines[5])[0], "TOTAL");
}

TEST(PcmJson, HasAnObjectForEachRow) {
  std::vector<nlohmann::json> rows;
  const std::string text = PcmJson(ReadingsAt(1), ReadingsAt(3), 0);
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    rows.push_back(nlohmann::json::parse(line));
  }
  ASSERT_THAT(rows, SizeIs(7));
  EXPECT_EQ(rows[0].at("cpu"), "0");
  EXPECT_EQ(rows[0].at("seconds"), 2);
  EXPECT_EQ(rows[0].at("memory_read_gigabytes"), 9);
  EXPECT_FALSE(rows[1].contains("memory_read_gigabytes"));
  EXPECT_EQ(rows[5].at("socket"), 1);
  EXPECT_FALSE(rows[5].contains("cpu"));
  EXPECT_EQ(rows[5].at("remote_memory_megabytes"), 8);
  EXPECT_EQ(rows[6].at("cpu"), "all");
  EXPECT_EQ(rows[6].at("l3_occupancy_kilobytes"), 201);
}

// A CPU that came meanwhile has no growth.
TEST(PcmTable, LeavesOutCpusThatWereOffline) {
  Readings before = ReadingsAt(1);
  before.erase(3);
  const std::vector<std::string> lines = absl::StrSplit(
      PcmTable(before, ReadingsAt(2), 0), '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(7));
  EXPECT_THAT(Words(lines[5]), ElementsAre("SKT1", "6.00", "101", "40", "4",
                                           "3.00", "0.25", "2.00"));
}

}  // namespace

}  // namespace fleetperf::pmc
