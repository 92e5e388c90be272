#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::kJiffy;
using testing::Reading;
using testing::Values;

class ProcessorTest : public testing::LinuxFixture {
 protected:
  ProcessorTest() {
    Write("proc/interrupts",
          "  CPU0 CPU2\n 24: 10 30 IO-APIC 5-edge disk\n LOC: 1 2 Timer\n");
    Write("proc/softirqs", "  CPU0 CPU1 CPU2\n HI: 4 0 6\n");
    Write("proc/stat",
          "cpu  9 9 9\ncpu0 1000 200 300 40000 5000 60 70 800 90 7\n"
          "cpu2 1\nintr 1 2\n");
  }
};

TEST_F(ProcessorTest, ReadsEveryCounter) {
  const std::string idle = "sys/devices/system/cpu/cpu0/cpuidle/state0/";
  Write(idle + "name", "C1\n");
  Write(idle + "latency", "2\n");
  Write(idle + "time", "50\n");
  Write(idle + "usage", "6\n");
  const Reading reading = Sample("Processor");
  EXPECT_THAT(reading.names, ElementsAre("0", "2", "_Total"));
  EXPECT_EQ(reading.ids.at("2"), 2);
  EXPECT_EQ(reading.rows.at("0"),
            (Values{
                {"% Processor Time", 0},
                {"% User Time", (1000 + 200) * kJiffy},
                {"% Privileged Time", (300 + 60 + 70) * kJiffy},
                {"Interrupts/sec", 10 + 1},
                {"% DPC Time", 70 * kJiffy},
                {"% Interrupt Time", 60 * kJiffy},
                {"DPCs Queued/sec", 4},
                {"% Idle Time", (40000 + 5000) * kJiffy},
                {"% C1 Time", 50 * 10},
                {"C1 Transitions/sec", 6},
                {"% Steal Time", 800 * kJiffy},
                {"% Guest Time", (90 + 7) * kJiffy},
                {"% IO Wait Time", 5000 * kJiffy},
                {"id:1999", 0},  // the start of its life
            }));
}

TEST_F(ProcessorTest, AveragesTimesAndAddsEventsInTheTotal) {
  Sample("Processor");
  clock_.Advance(absl::Seconds(1));
  Write("proc/stat", "cpu0 1020 200 300 40000 5000 60 70 800 90 7\ncpu2 41\n");
  Write("proc/softirqs", "  CPU0 CPU1 CPU2\n HI: 5 0 16\n");
  const Reading reading = Sample("Processor");
  EXPECT_EQ(reading.Get("0", "% Processor Time"), 80 * kJiffy);
  EXPECT_EQ(reading.Get("2", "% Processor Time"), 60 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% Processor Time"), 70 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "% User Time"), 30 * kJiffy);
  EXPECT_EQ(reading.Get("_Total", "DPCs Queued/sec"), 1 + 10);
}

TEST_F(ProcessorTest, OmitsOfflineCpus) {
  Sample("Processor");
  Write("proc/stat", "cpu0 1\n");
  EXPECT_THAT(Sample("Processor").names, ElementsAre("0", "_Total"));
}

}  // namespace
}  // namespace fleetperf::agent
