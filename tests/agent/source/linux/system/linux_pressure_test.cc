#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

class LinuxPressureTest : public testing::LinuxFixture {};

TEST_F(LinuxPressureTest, ReadsEveryResource) {
  Write("proc/pressure/cpu",
        "some avg10=1.23 avg60=0.50 avg300=0.10 total=1000001\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  Write("proc/pressure/memory",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=20\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=10\n");
  Write("proc/pressure/io",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=40\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=30\n");
  Write("proc/pressure/irq",
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  const Reading reading = Sample("Linux Pressure");
  EXPECT_THAT(reading.names, ElementsAre("cpu", "memory", "io", "irq"));
  // Microseconds become units of 100 ns.
  EXPECT_EQ(reading.rows.at("cpu"),
            (Values{{"% Some Stall Time", 10'000'010}}));
  EXPECT_EQ(reading.rows.at("io"),
            (Values{{"% Some Stall Time", 400}, {"% Full Stall Time", 300}}));
  EXPECT_EQ(reading.rows.at("irq"), (Values{{"% Full Stall Time", 70}}));
}

// Linux 5.4 has no "full" of CPUs.
TEST_F(LinuxPressureTest, LeavesOutWhatAKernelLacks) {
  EXPECT_THAT(Sample("Linux Pressure").names, ElementsAre());
  Write("proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  EXPECT_THAT(Sample("Linux Pressure").names, ElementsAre());
  clock_.Advance(absl::Seconds(10));  // it looks rarely for missing files
  const Reading reading = Sample("Linux Pressure");
  EXPECT_EQ(reading.rows.at("cpu"), (Values{{"% Some Stall Time", 50}}));
}

TEST_F(LinuxPressureTest, IgnoresMalformedLines) {
  Write("proc/pressure/cpu", "some\nfull total=\nother total=3\n\ntotal=4");
  EXPECT_EQ(Sample("Linux Pressure").rows.at("cpu"), Values());
}

}  // namespace
}  // namespace fleetperf::agent
