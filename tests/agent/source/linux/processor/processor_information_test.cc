#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kJiffy;
using testing::Reading;
using testing::Values;

constexpr char kProcessors[] = "Processor Information";

class ProcessorInformationTest : public testing::LinuxFixture {
 protected:
  // Four CPUs on two nodes.
  ProcessorInformationTest() {
    Write("sys/devices/system/node/online", "0-1\n");
    Write("sys/devices/system/node/node0/cpulist", "0,2\n");
    Write("sys/devices/system/node/node1/cpulist", "1,3\n");
    WriteInterrupts("           CPU0       CPU1       CPU2       CPU3\n");
    WriteSoftirqs("           CPU0       CPU1       CPU2       CPU3\n");
  }

  void WriteStat(absl::string_view cpus) {
    Write("proc/stat", absl::StrCat("cpu  9 9 9 9 9 9 9 9 9 9\n", cpus,
                                    "intr 1 2 3\nctxt 4\nbtime 5\n"));
  }
  void WriteInterrupts(absl::string_view text) {
    Write("proc/interrupts", text);
  }
  void WriteSoftirqs(absl::string_view text) { Write("proc/softirqs", text); }
  void WriteCpu(int cpu, const std::string& file, uint64_t value) {
    Write(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/", file),
          absl::StrCat(value, "\n"));
  }
};

TEST_F(ProcessorInformationTest, ReadsTimesOfEachCpu) {
  WriteStat("cpu0 1000 200 300 40000 5000 60 70 800 90 7\n");
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.rows.at("0,0"),
            (Values{
                // An inverse timer: its raw value is the time not busy so far.
                {"% Processor Time", 0},
                {"% User Time", (1000 + 200) * kJiffy},
                {"% Privileged Time", (300 + 60 + 70) * kJiffy},
                {"% Interrupt Time", 60 * kJiffy},
                {"% DPC Time", 70 * kJiffy},
                {"% Idle Time", (40000 + 5000) * kJiffy},
                {"% Steal Time", 800 * kJiffy},
                {"% Guest Time", (90 + 7) * kJiffy},
                {"% IO Wait Time", 5000 * kJiffy},
                // The tables have no rows, and there is no cpufreq or cpuidle.
                {"id:1999", 0},  // the start of its life
            }));
}

TEST_F(ProcessorInformationTest, NamesInstancesByNodeAndIndex) {
  WriteStat("cpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\n");
  const Reading reading = Sample(kProcessors);
  EXPECT_THAT(reading.names, ElementsAre("0,0", "0,1", "0,_Total", "1,0", "1,1",
                                         "1,_Total", "_Total"));
  EXPECT_EQ(reading.ids.at("1,1"), 3);
  std::map<uint32_t, std::string> by_id;
  for (const auto& [name, id] : reading.ids) by_id[id] = name;
  EXPECT_EQ(by_id.size(), 7) << "ids are not unique";
}

// The node has CPUs 0 to 7 and the other one 8 to 15, of which 8 and 10 are
// offline. A node's list has only CPUs that are online, but the directory of
// each present CPU has a link to its node.
TEST_F(ProcessorInformationTest, CountsOfflineCpusInIndexes) {
  Write("sys/devices/system/cpu/possible", "0-15\n");
  Write("sys/devices/system/node/node0/cpulist", "0-7\n");
  Write("sys/devices/system/node/node1/cpulist", "9,11-15\n");
  for (const int cpu : {8, 10}) {
    WriteCpu(cpu, "node1/x", 0);
    WriteCpu(cpu, "online", 0);
  }
  WriteStat("cpu0 1\ncpu7 1\ncpu9 1\ncpu11 1\n");
  Reading reading = Sample(kProcessors);
  EXPECT_THAT(reading.names, ElementsAre("0,0", "0,7", "0,_Total", "1,1", "1,3",
                                         "1,_Total", "_Total"));
  EXPECT_EQ(reading.ids.at("1,1"), 9);
  // A CPU that comes does not rename the others.
  Write("sys/devices/system/node/node1/cpulist", "8-9,11-15\n");
  WriteStat("cpu0 1\ncpu7 1\ncpu8 1\ncpu9 1\ncpu11 1\n");
  reading = Sample(kProcessors);
  EXPECT_EQ(reading.ids.at("1,0"), 8);
  EXPECT_EQ(reading.ids.at("1,1"), 9);
  EXPECT_EQ(reading.ids.at("1,3"), 11);
}

// Sysfs does not tell the node of CPUs that are not present: here 1 and 2.
TEST_F(ProcessorInformationTest, LeavesOutCpusThatAreNotPresent) {
  Write("sys/devices/system/cpu/possible", "0-3\n");
  Write("sys/devices/system/node/node0/cpulist", "0,3\n");
  Write("sys/devices/system/node/node1/cpulist", "\n");
  WriteStat("cpu0 1\ncpu3 1\n");
  EXPECT_THAT(Sample(kProcessors).names,
              ElementsAre("0,0", "0,1", "0,_Total", "_Total"));
}

TEST_F(ProcessorInformationTest, CountsAllPossibleCpusOfOneNode) {
  Write("sys/devices/system/node/online", "0\n");
  Write("sys/devices/system/cpu/possible", "0-3\n");
  Write("sys/devices/system/node/node0/cpulist", "0,3\n");
  WriteStat("cpu0 1\ncpu3 1\n");
  EXPECT_THAT(Sample(kProcessors).names,
              ElementsAre("0,0", "0,3", "0,_Total", "_Total"));
}

TEST_F(ProcessorInformationTest, PutsAllCpusOnNode0WithoutNuma) {
  Remove("sys/devices/system/node");
  WriteStat("cpu0 1\ncpu1 1\n");
  EXPECT_THAT(Sample(kProcessors).names,
              ElementsAre("0,0", "0,1", "0,_Total", "_Total"));
}

TEST_F(ProcessorInformationTest, AveragesTimesAndAddsEventsInTotals) {
  const auto write = [this](uint64_t step) {
    std::string stat;
    for (uint64_t cpu = 0; cpu < 4; ++cpu) {
      // Per step, CPU n is idle for 100 * (n + 1) jiffies.
      absl::StrAppend(&stat, "cpu", cpu, " 5 0 0 ",
                      1000 + step * 100 * (cpu + 1), " 0 0 0 0 0 0\n");
      WriteCpu(static_cast<int>(cpu), "cpufreq/scaling_cur_freq",
               (cpu + 1) * 1'000'000);
    }
    WriteStat(stat);
    const uint64_t n = 10 + step;
    WriteInterrupts(absl::StrCat("  CPU0 CPU1 CPU2 CPU3\n  1: ", n, " ", 2 * n,
                                 " ", 3 * n, " ", 4 * n, " IO-APIC timer\n"));
  };
  write(0);
  Sample(kProcessors);
  clock_.Advance(absl::Seconds(4));
  write(1);
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,_Total", "% Idle Time"), (100 + 300) / 2 * kJiffy);
  EXPECT_EQ(reading.Get("1,_Total", "% Idle Time"), (200 + 400) / 2 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Idle Time"),
            (100 + 200 + 300 + 400) / 4 * kJiffy);
  // All were idle for 4 s, whatever idle times the kernel counted.
  EXPECT_EQ(reading.Get("_Total", "% Processor Time"), 400 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% User Time"), 0);
  EXPECT_EQ(reading.Get("0,_Total", "Interrupts/sec"), 1 + 3);
  EXPECT_EQ(reading.Get("_Total", "Interrupts/sec"), 1 + 2 + 3 + 4);
  EXPECT_EQ(reading.Get("1,_Total", "Processor Frequency"), (2000 + 4000) / 2);
  EXPECT_EQ(reading.Get("_Total", "Processor Frequency"), 2500);
}

// Of 2 s, CPU 0 is busy for 62 jiffies by the kernel's count: all but idle, I/O
// wait and the guest times, which user times include. The kernel counts another
// 100 as idle and 38 not at all. CPU 1 is idle.
TEST_F(ProcessorInformationTest, BusyTimeIsTheSumOfTheBusyTimes) {
  WriteStat("cpu0 100 200 300 4000 500 60 70 80 90 9\ncpu1 0 0 0 50\n");
  Sample(kProcessors);
  clock_.Advance(absl::Seconds(2));
  WriteStat("cpu0 120 210 307 4060 540 66 74 95 95 11\ncpu1 0 0 0 240\n");
  const Reading reading = Sample(kProcessors);
  // 100 % less this part of 200 jiffies is 31 %.
  EXPECT_EQ(reading.Get("0,0", "% Processor Time"), (200 - 62) * kJiffy);
  EXPECT_EQ(reading.Get("1,0", "% Processor Time"), 200 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Processor Time"), 169 * kJiffy);
}

TEST_F(ProcessorInformationTest, BusyTimeAheadOfTheClockCountsInTheNextTick) {
  const auto not_busy = [this](uint64_t busy) {
    const uint64_t user = busy / 2;  // neither half grows by too much
    WriteStat(absl::StrCat("cpu0 ", user, " 0 ", busy - user, "\n"));
    const auto value = *Sample(kProcessors).Get("0,0", "% Processor Time");
    clock_.Advance(absl::Seconds(1));
    return value / kJiffy;
  };
  EXPECT_EQ(not_busy(1000), 0);
  EXPECT_EQ(not_busy(1090), 10);
  EXPECT_EQ(not_busy(1193), 10);  // 103 of 100 jiffies
  EXPECT_EQ(not_busy(1273), 27);  // 80, and the 3 left over
  // An excess beyond rounding is not held against later times.
  EXPECT_EQ(not_busy(1453), 27);
  EXPECT_EQ(not_busy(1453), 27 + 90);
  EXPECT_EQ(not_busy(1453), 27 + 190);
}

// The aggregator divides by the wall clock.
TEST_F(ProcessorInformationTest, BusyTimeFollowsTheWallClock) {
  const auto not_busy = [this] {
    return *Sample(kProcessors).Get("0,0", "% Processor Time") / kJiffy;
  };
  WriteStat("cpu0 1\n");
  not_busy();
  clock_.Advance(absl::Seconds(10));
  clock_.Step(absl::Milliseconds(-20));  // slewed
  EXPECT_EQ(not_busy(), 998);
  // A step makes no value, so it may not distort the values after it.
  for (const int hours : {-5, 5}) {
    clock_.Advance(absl::Seconds(1));
    clock_.Step(absl::Hours(hours));
    not_busy();
  }
  EXPECT_EQ(not_busy(), 998 + 200);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(not_busy(), 998 + 300);
}

// While it is offline, a CPU is neither busy nor idle. Its times may start
// over.
TEST_F(ProcessorInformationTest, BusyTimeContinuesAfterACpuWasOffline) {
  const auto not_busy = [this](absl::string_view stat) {
    WriteStat(stat);
    clock_.Advance(absl::Seconds(1));
    const auto value = Sample(kProcessors).Get("1,0", "% Processor Time");
    return value.has_value() ? std::optional(*value / kJiffy) : std::nullopt;
  };
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 5000\n"), 0);
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 5030\n"), 70);
  EXPECT_EQ(not_busy("cpu0 1\n"), std::nullopt);
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 5040\n"), 70);
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 5080\n"), 130);
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 20\n"), 130);
  EXPECT_EQ(not_busy("cpu0 1\ncpu1 50\n"), 200);
}

// Idle and I/O wait are estimates by the kernel and may step back slightly.
TEST_F(ProcessorInformationTest, IgnoresSmallDecreasesAndFollowsLargeOnes) {
  const struct {
    uint64_t idle;
    uint64_t io_wait;
    uint64_t idle_expected;
    uint64_t io_wait_expected;
  } kSteps[] = {
      {1000, 500, 1000, 500}, {999, 499, 1000, 500},  {701, 498, 1000, 500},
      {1001, 497, 1001, 500}, {1001, 501, 1001, 501}, {500, 501, 500, 501},
      {501, 0, 501, 0},
  };
  for (const auto& step : kSteps) {
    WriteStat(absl::StrCat("cpu0 0 0 0 ", step.idle, " ", step.io_wait,
                           " 0 0 0 0 0\n"));
    const Reading reading = Sample(kProcessors);
    EXPECT_EQ(reading.Get("0,0", "% IO Wait Time"),
              step.io_wait_expected * kJiffy);
    EXPECT_EQ(reading.Get("0,0", "% Idle Time"),
              (step.idle_expected + step.io_wait_expected) * kJiffy);
  }
}

TEST_F(ProcessorInformationTest, TotalsContinueWhileCpusComeAndGo) {
  const auto cpu = [](int number, uint64_t idle) {
    return absl::StrCat("cpu", number, " 0 0 0 ", idle, " 0 0 0 0 0 0\n");
  };
  const auto total = [this] {
    clock_.Advance(absl::Seconds(1));
    return *Sample(kProcessors).Get("_Total", "% Idle Time") / kJiffy;
  };
  WriteStat(cpu(0, 1000) + cpu(1, 1000));
  EXPECT_EQ(total(), 0);
  WriteStat(cpu(0, 1100) + cpu(1, 1100));
  EXPECT_EQ(total(), 100);
  WriteStat(cpu(0, 1200));
  EXPECT_EQ(total(), 200);
  EXPECT_THAT(Sample(kProcessors).names,
              ElementsAre("0,0", "0,_Total", "_Total"));
  // The CPU comes back: its earlier count is not growth, and the mean is the
  // growth of the other CPU.
  WriteStat(cpu(0, 1300) + cpu(1, 1101));
  EXPECT_EQ(total(), 300);
  WriteStat(cpu(0, 1400) + cpu(1, 3));  // or starts over
  EXPECT_EQ(total(), 400);
  WriteStat(cpu(0, 1500) + cpu(1, 103));
  EXPECT_EQ(total(), 500);
}

TEST_F(ProcessorInformationTest, CountsInterruptsPerCpu) {
  WriteStat("cpu0 1\ncpu1 1\n");
  WriteInterrupts(R"(           CPU0       CPU1
   0:         22          0  IR-IO-APIC    2-edge      timer
   8:          0          1  IR-IO-APIC    8-edge      rtc0
 NMI:         10          5   Non-maskable interrupts
 LOC:       1000       2000   Local timer interrupts
 RES:          3          4   Rescheduling interrupts
 ERR:          7
 MIS:          8
)");
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "Interrupts/sec"), 22 + 10 + 1000 + 3);
  EXPECT_EQ(reading.Get("1,0", "Interrupts/sec"), 1 + 5 + 2000 + 4);
  EXPECT_EQ(reading.Get("0,0", "Clock Interrupts/sec"), 1000);
  EXPECT_EQ(reading.Get("1,0", "Clock Interrupts/sec"), 2000);
}

// Each number in the files has 32 bits.
TEST_F(ProcessorInformationTest, EventsContinueWhenKernelNumbersWrap) {
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  const struct {
    uint64_t timer;
    uint64_t disk;
    uint64_t expected;
  } kSteps[] = {
      {kWrap - 10, kWrap - 2, 2 * kWrap - 12},
      {5, kWrap - 2, 2 * kWrap + 3},  // one wraps
      {6, 2, 2 * kWrap + 8},          // the other one
      {10, 4, 2 * kWrap + 14},        // none wraps
  };
  WriteStat("cpu0 1\n");
  for (const auto& step : kSteps) {
    const std::string rows =
        absl::StrCat("  CPU0\n 1: ", step.timer, "\n 2: ", step.disk, "\n");
    WriteInterrupts(rows);
    WriteSoftirqs(rows);
    const Reading reading = Sample(kProcessors);
    EXPECT_EQ(reading.Get("0,0", "Interrupts/sec"), step.expected);
    EXPECT_EQ(reading.Get("0,0", "DPCs Queued/sec"), step.expected);
  }
}

// Unloading a driver removes its row.
TEST_F(ProcessorInformationTest, EventsContinueWhenARowDisappears) {
  WriteStat("cpu0 1\n");
  WriteInterrupts("  CPU0\n 1: 1000\n 2: 500\n");
  EXPECT_EQ(Sample(kProcessors).Get("0,0", "Interrupts/sec"), 1500);
  WriteInterrupts("  CPU0\n 1: 1010\n");
  EXPECT_EQ(Sample(kProcessors).Get("0,0", "Interrupts/sec"), 1500);
  WriteInterrupts("  CPU0\n 1: 1017\n");
  EXPECT_EQ(Sample(kProcessors).Get("0,0", "Interrupts/sec"), 1507);
}

TEST_F(ProcessorInformationTest, EventsContinueAfterACpuWasOffline) {
  const auto read = [this](absl::string_view stat, absl::string_view table) {
    WriteStat(stat);
    WriteInterrupts(table);
    return Sample(kProcessors).Get("1,0", "Interrupts/sec");
  };
  const char kBoth[] = "cpu0 1\ncpu1 1\n";
  EXPECT_EQ(read(kBoth, "  CPU0 CPU1\n 1: 1 700\n"), 700);
  read("cpu0 1\n", "  CPU0\n 1: 1\n");
  EXPECT_EQ(read(kBoth, "  CPU0 CPU1\n 1: 1 705\n"), 705);
}

TEST_F(ProcessorInformationTest, HasNoEventsOfMaskedFiles) {
  WriteStat("cpu0 1\n");
  const std::string table = "  CPU0\n 1: 1000\nLOC: 500\n";
  const std::vector<uint32_t> ids = {3, 6, 20};
  const auto expect_none = [&](absl::string_view text) {
    WriteInterrupts(text);
    WriteSoftirqs(text);
    EXPECT_EQ(Sample(kProcessors, ids).rows.at("0,0"), Values{}) << text;
    EXPECT_EQ(Sample(kProcessors, ids).rows.at("_Total"), Values{}) << text;
  };
  for (const char* text : {"", "  CPU0\n", "  CPU0\n 1: 0\nLOC: 0\n",
                           "  CPU0\n 1: 4294967295\nLOC: 4294967295\n"}) {
    expect_none(text);
  }
  WriteInterrupts(table);
  WriteSoftirqs(table);
  EXPECT_EQ(Sample(kProcessors, ids).Get("0,0", "Interrupts/sec"), 1500);
  // Masked, and shown again.
  expect_none("");
  WriteInterrupts("  CPU0\n 1: 1001\nLOC: 502\n");
  EXPECT_EQ(Sample(kProcessors, ids).Get("0,0", "Interrupts/sec"), 1503);
}

TEST_F(ProcessorInformationTest, HasNoTimesOfASandboxsStub) {
  Write("proc/stat",
        "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\n");
  EXPECT_EQ(Sample(kProcessors).rows.at("0,0"), Values{});
  EXPECT_EQ(Sample(kProcessors).rows.at("_Total"), Values{});
}

// With one CPU, such rows look like those of the CPU.
TEST_F(ProcessorInformationTest, IgnoresMachineWideRows) {
  WriteStat("cpu0 1\n");
  WriteInterrupts("  CPU0\n 1: 10 x\nERR: 7\nMIS: 8\n");
  EXPECT_EQ(Sample(kProcessors).Get("0,0", "Interrupts/sec"), 10);
}

// The columns of the files are the online or possible CPUs.
TEST_F(ProcessorInformationTest, FindsColumnsByTheHeader) {
  WriteStat("cpu0 1\ncpu3 1\n");
  WriteInterrupts("  CPU0 CPU3\n  1: 10 30 x\n");
  WriteSoftirqs(R"(                    CPU0       CPU1       CPU2       CPU3
          HI:          1          0          0          2
       TIMER:        100          0          0        200
)");
  const Reading reading = Sample(kProcessors);
  EXPECT_THAT(reading.names,
              ElementsAre("0,0", "0,_Total", "1,1", "1,_Total", "_Total"));
  EXPECT_EQ(reading.Get("1,1", "Interrupts/sec"), 30);
  EXPECT_EQ(reading.Get("0,0", "DPCs Queued/sec"), 101);
  EXPECT_EQ(reading.Get("1,1", "DPCs Queued/sec"), 202);
}

TEST_F(ProcessorInformationTest, LimitsTheLengthOfLists) {
  Write("sys/devices/system/node/online", "0-18446744073709551615\n");
  Write("sys/devices/system/node/node0/cpulist",
        "0-4000000000,0-4000000000,1\n");
  WriteStat("cpu0 1\ncpu1 1\ncpu2 1\n");
  EXPECT_THAT(
      Sample(kProcessors).names,
      ElementsAre("0,0", "0,1", "0,_Total", "1,0", "1,_Total", "_Total"));
}

// A node's cpulist names a CPU only while it is online.
TEST_F(ProcessorInformationTest, FindsTheNodeOfALaterCpu) {
  Write("sys/devices/system/node/node1/cpulist", "1\n");
  WriteSoftirqs("  CPU0 CPU1 CPU2 CPU3\n  HI: 1 2 3 4\n");
  WriteStat("cpu0 1\ncpu1 1\n");
  Sample(kProcessors);
  Write("sys/devices/system/node/node1/cpulist", "1,3\n");
  WriteStat("cpu0 1\ncpu1 1\ncpu3 1\n");
  EXPECT_THAT(
      Sample(kProcessors).names,
      ElementsAre("0,0", "0,_Total", "1,0", "1,1", "1,_Total", "_Total"));
}

TEST_F(ProcessorInformationTest, ReadsFrequenciesIfPresent) {
  WriteStat("cpu0 1\ncpu1 1\ncpu2 1\n");
  WriteCpu(0, "cpufreq/scaling_cur_freq", 2'400'999);
  WriteCpu(0, "cpufreq/cpuinfo_max_freq", 3'600'000);
  WriteCpu(1, "cpufreq/scaling_cur_freq", 1'200'000);
  Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "Processor Frequency"), 2400);
  EXPECT_EQ(reading.Get("0,0", "% of Maximum Frequency"), 66);
  EXPECT_EQ(reading.Get("1,0", "Processor Frequency"), 1200);
  EXPECT_EQ(reading.Get("1,0", "% of Maximum Frequency"), std::nullopt);
  EXPECT_EQ(reading.Get("0,1", "Processor Frequency"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Processor Frequency"), 1800);
  WriteCpu(0, "cpufreq/scaling_cur_freq", 800'000);
  EXPECT_EQ(Sample(kProcessors).Get("0,0", "Processor Frequency"), 800);
}

TEST_F(ProcessorInformationTest, ReadsLimitsAndThrottlingIfPresent) {
  WriteStat("cpu0 1\ncpu1 1\ncpu2 1\n");
  for (const int cpu : {0, 1}) {
    WriteCpu(cpu, "cpufreq/cpuinfo_max_freq", 4'000'000);
    WriteCpu(cpu, "cpufreq/scaling_max_freq", cpu == 0 ? 4'000'000 : 3'000'000);
  }
  WriteCpu(0, "thermal_throttle/core_throttle_count", 12);
  WriteCpu(0, "thermal_throttle/core_throttle_total_time_ms", 345);
  WriteCpu(1, "thermal_throttle/core_throttle_count", 7);  // before Linux 5.6
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "% Performance Limit"), 100);
  EXPECT_EQ(reading.Get("1,0", "% Performance Limit"), 75);
  EXPECT_EQ(reading.Get("_Total", "% Performance Limit"), 87);
  EXPECT_EQ(reading.Get("0,0", "Thermal Throttles"), 12);
  EXPECT_EQ(reading.Get("0,0", "% Thermal Throttle Time"), 345 * 10'000);
  EXPECT_EQ(reading.Get("1,0", "Thermal Throttles"), 7);
  EXPECT_EQ(reading.Get("1,0", "% Thermal Throttle Time"), std::nullopt);
  for (const char* counter : {"% Performance Limit", "Thermal Throttles",
                              "% Thermal Throttle Time"}) {
    EXPECT_EQ(reading.Get("0,1", counter), std::nullopt) << counter;
  }
}

// An offline CPU is not an instance, but counts in the total.
TEST_F(ProcessorInformationTest, CountsOfflineCpusInTheTotal) {
  Write("sys/devices/system/cpu/present", "0-3\n");
  Write("sys/devices/system/cpu/online", "0\n");
  WriteStat("cpu0 1\n");
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "Parking Status"), 0);
  EXPECT_EQ(reading.Get("0,_Total", "Parking Status"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Parking Status"), 3);
}

// Idle states count in C1, C2 or C3 by their exit latency in microseconds:
// below 10, below 100, and the rest. A polling CPU is busy.
TEST_F(ProcessorInformationTest, MapsIdleStatesByTheirLatency) {
  WriteStat("cpu0 1\n");
  const uint64_t latencies[] = {0, 2, 9, 10, 99, 100, 890};
  uint64_t weight = 1;
  for (int state = 0; state < 7; ++state, weight *= 10) {
    const std::string directory = absl::StrCat("cpuidle/state", state, "/");
    Write(absl::StrCat("sys/devices/system/cpu/cpu0/", directory, "name"),
          state == 0 ? "POLL\n" : "C1E\n");
    WriteCpu(0, directory + "latency", latencies[state]);
    WriteCpu(0, directory + "time", weight);
    WriteCpu(0, directory + "usage", 2 * weight);
  }
  const Reading reading = Sample(kProcessors);
  // From microseconds to 100 ns.
  EXPECT_EQ(reading.Get("0,0", "% C1 Time"), 110 * 10);
  EXPECT_EQ(reading.Get("0,0", "% C2 Time"), 11'000 * 10);
  EXPECT_EQ(reading.Get("0,0", "% C3 Time"), 1'100'000 * 10);
  EXPECT_EQ(reading.Get("0,0", "C1 Transitions/sec"), 220);
  EXPECT_EQ(reading.Get("0,0", "C2 Transitions/sec"), 22'000);
  EXPECT_EQ(reading.Get("0,0", "C3 Transitions/sec"), 2'200'000);
  EXPECT_EQ(reading.Get("0,0", "Idle Break Events/sec"), 2'222'220);
}

// 3 s in 1,000 stays are 3 ms, or 30,000 units of 100 ns, each; with the 20 of
// the other CPU, which take 100 ms each, 5 s in 1,020. The type of the counter,
// PERF_PRECISION_100NS_TIMER, multiplies by 100.
TEST_F(ProcessorInformationTest, DividesIdleTimesByStays) {
  const auto read = [this](uint64_t second) {
    WriteStat("cpu0 1\ncpu1 1\n");
    for (const int cpu : {0, 1}) {
      for (int state = 0; state < 2; ++state) {
        const std::string directory = absl::StrCat("cpuidle/state", state, "/");
        WriteCpu(cpu, directory + "latency", state);
        // Microseconds; of CPU 0, one second in one state, two in the other.
        WriteCpu(cpu, directory + "time",
                 7 + second * (cpu == 0 ? 1 + state : 1) * 1'000'000);
        WriteCpu(cpu, directory + "usage", 3 + second * (cpu == 0 ? 500 : 10));
      }
    }
    clock_.Advance(absl::Seconds(1));
    return Sample(kProcessors);
  };
  const Reading first = read(0);
  const Reading second = read(1);
  const auto value = [&](const char* instance) {
    const auto growth = [&](const char* counter) {
      return static_cast<double>(*second.Get(instance, counter) -
                                 *first.Get(instance, counter));
    };
    return 100 * growth("Average Idle Time") / growth("id:22");
  };
  EXPECT_EQ(value("0,0"), 30'000);
  EXPECT_EQ(value("1,0"), 1'000'000);
  EXPECT_DOUBLE_EQ(value("_Total"), 50'000'000.0 / 1'020);
}

TEST_F(ProcessorInformationTest, HasNoAverageIdleTimeWithoutIdleStates) {
  WriteStat("cpu0 1\n");
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "Average Idle Time"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "Average Idle Time"), std::nullopt);
}

// On arm64, state 0 is WFI, which does not poll.
TEST_F(ProcessorInformationTest, CountsANonPollingState0) {
  WriteStat("cpu0 1\n");
  Write("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "WFI\n");
  WriteCpu(0, "cpuidle/state0/latency", 1);
  WriteCpu(0, "cpuidle/state0/time", 30);
  WriteCpu(0, "cpuidle/state0/usage", 4);
  const Reading reading = Sample(kProcessors);
  EXPECT_EQ(reading.Get("0,0", "% C1 Time"), 30 * 10);
  EXPECT_EQ(reading.Get("0,0", "C1 Transitions/sec"), 4);
}

// The PMU "msr" of a simulated machine with a nominal frequency of 2 GHz.
class ProcessorPerformanceTest : public ProcessorInformationTest {
 protected:
  static constexpr uint64_t kNominal = 2'000'000'000;

  explicit ProcessorPerformanceTest(perf_event::SimulatedMachine machine =
                                        {.cpus = 2, .hardware_counters = 0})
      : owned_(std::make_shared<perf_event::SimulatedSystem>(machine)) {
    events_ = owned_;
    WriteStat("cpu0 1\ncpu1 1\n");
    machine_.AddPmu("msr", 10, {{"event", "config:0-63"}});
  }

  void AddEvent(const std::string& name, int number) {
    machine_.SetFile("/sys/bus/event_source/devices/msr/events/" + name,
                     absl::StrCat("event=0x", number, "\n"));
  }
  void SetRate(const std::string& name, int cpu, uint64_t per_second) {
    machine_.SetRate(*perf_event::ParseEvent("msr/" + name + "/", machine_),
                     cpu, per_second);
  }
  Reading After(absl::Duration time) {
    machine_.Advance(time);
    clock_.Advance(time);
    return Sample(kProcessors);
  }

  const std::shared_ptr<perf_event::SimulatedSystem> owned_;
  perf_event::SimulatedSystem& machine_ = *owned_;
};

TEST_F(ProcessorPerformanceTest, ComparesCyclesWithTheNominalFrequency) {
  AddEvent("tsc", 0);
  AddEvent("aperf", 1);
  AddEvent("mperf", 2);
  // CPU 0 is busy half of the time, at 3 GHz; CPU 1 a quarter, at 1 GHz.
  for (const int cpu : {0, 1}) SetRate("tsc", cpu, kNominal);
  SetRate("mperf", 0, kNominal / 2);
  SetRate("aperf", 0, 1'500'000'000);
  SetRate("mperf", 1, kNominal / 4);
  SetRate("aperf", 1, 250'000'000);
  const Reading first = After(absl::ZeroDuration());
  // CPU 0 works 20 of 50 jiffies in the kernel, CPU 1 5 of 25.
  WriteStat("cpu0 31 0 10 0 0 3 7\ncpu1 11 10 4 0 0 0 1\n");
  const Reading second = After(absl::Seconds(1));
  const auto percent = [&](const char* instance, const char* counter,
                           const char* base) {
    const auto growth = [&](const char* name) {
      return *second.Get(instance, name) - *first.Get(instance, name);
    };
    return static_cast<double>(growth(counter)) /
           static_cast<double>(growth(base));
  };
  constexpr char kPerformance[] = "% Processor Performance";
  constexpr char kUtility[] = "% Processor Utility";
  EXPECT_EQ(percent("0,0", kPerformance, "id:25"), 150);
  EXPECT_EQ(percent("0,0", kUtility, "id:27"), 75);
  EXPECT_EQ(percent("1,0", kPerformance, "id:25"), 50);
  EXPECT_EQ(percent("1,0", kUtility, "id:27"), 12.5);
  // (1500 + 250) of (1000 + 500) and of (2000 + 2000) million cycles.
  EXPECT_NEAR(percent("_Total", kPerformance, "id:25"), 350.0 / 3, 0.001);
  EXPECT_EQ(percent("_Total", kUtility, "id:27"), 43.75);
  // 75 % * 20 / 50, 12.5 % * 5 / 25, and their mean.
  constexpr char kPrivileged[] = "% Privileged Utility";
  EXPECT_EQ(percent("0,0", kPrivileged, "id:27"), 30);
  EXPECT_EQ(percent("1,0", kPrivileged, "id:27"), 2.5);
  EXPECT_EQ(percent("_Total", kPrivileged, "id:27"), 16.25);
}

// As in this virtual machine and most others.
TEST_F(ProcessorPerformanceTest, IsAbsentWithoutTheRegisters) {
  AddEvent("tsc", 0);
  for (const int cpu : {0, 1}) SetRate("tsc", cpu, kNominal);
  After(absl::ZeroDuration());
  const Reading reading = After(absl::Seconds(1));
  EXPECT_EQ(reading.Get("0,0", "% Processor Performance"), std::nullopt);
  EXPECT_EQ(reading.Get("_Total", "% Processor Utility"), std::nullopt);
  EXPECT_EQ(reading.Get("0,0", "% Privileged Utility"), std::nullopt);
  EXPECT_EQ(machine_.open_descriptors(), 0);
}

// Three events on two CPUs; a quarter of the descriptors are for them.
TEST_F(ProcessorPerformanceTest, ReportsTooFewDescriptors) {
  for (const char* event : {"tsc", "aperf", "mperf"}) AddEvent(event, 1);
  max_event_descriptors_ = 20;
  std::vector<PlannedQuery> queries = {
      {.counterset = kProcessors, .counters = {"% User Time"}},
      {.counterset = kProcessors, .counters = {"% Privileged Utility"}},
      {.counterset = "Memory"}};
  const DefinedCounters defined = source().DefineCounters(&queries);
  ASSERT_EQ(defined.problems.size(), 1);
  EXPECT_EQ(defined.problems[0].query, 1);
  EXPECT_THAT(
      defined.problems[0].message,
      AllOf(
          HasSubstr("% Processor Utility and % Privileged Utility are absent"),
          HasSubstr("needs 6 descriptors"), HasSubstr("than the 5 that"),
          HasSubstr("raise RLIMIT_NOFILE")));
}

// The other counters need no event.
TEST_F(ProcessorPerformanceTest, OpensNoEventsThatNoCounterNeeds) {
  for (const char* event : {"tsc", "aperf", "mperf"}) AddEvent(event, 1);
  Sample(kProcessors, {0, 1, 23});
  EXPECT_EQ(machine_.open_descriptors(), 0);
}

TEST_F(ProcessorInformationTest, ReadsOnlyTheFilesOfNeededCounters) {
  constexpr uint32_t kUserTime = 1;
  constexpr uint32_t kInterrupts = 3;
  constexpr uint32_t kDpcsQueued = 6;
  WriteStat("cpu0 7\n");
  Remove("proc/interrupts");
  Remove("proc/softirqs");
  EXPECT_EQ(Sample(kProcessors, {kUserTime}).Get("0,0", "% User Time"),
            7 * kJiffy);
  for (const uint32_t id : {kInterrupts, kDpcsQueued}) {
    EXPECT_EQ(Sample(kProcessors, {id}).rows.at("0,0"), Values{});
  }
}

}  // namespace
}  // namespace fleetperf::agent
