#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr char kSoftnet[] = "Linux Softnet";

class LinuxSoftnetTest : public testing::LinuxFixture {
 protected:
  void WriteLines(absl::string_view lines) {
    Write("proc/net/softnet_stat", lines);
  }
};

TEST_F(LinuxSoftnetTest, ReadsEveryCounter) {
  WriteLines(
      "000000ff 00000002 00000003 00000091 00000092 00000093 00000094 00000095 "
      "00000096 0000000a 0000000b 0000000c 00000000 00000097 00000098\n"
      "00000100 00000004 00000005 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000006 00000007 00000008 00000002 00000000 00000000\n");
  const Reading reading = Sample(kSoftnet);
  EXPECT_THAT(reading.names, ElementsAre("0", "2", "_Total"));
  EXPECT_EQ(reading.ids.at("2"), 2);
  EXPECT_EQ(reading.rows.at("0"), (Values{
                                      {"Packets/sec", 255},
                                      {"Packets Dropped", 2},
                                      {"Time Squeezes/sec", 3},
                                      {"RPS Wakeups/sec", 10},
                                      {"Flow Limit Drops", 11},
                                      {"Backlog Length", 12},
                                  }));
  EXPECT_EQ(reading.rows.at("2"), (Values{
                                      {"Packets/sec", 256},
                                      {"Packets Dropped", 4},
                                      {"Time Squeezes/sec", 5},
                                      {"RPS Wakeups/sec", 6},
                                      {"Flow Limit Drops", 7},
                                      {"Backlog Length", 8},
                                  }));
  EXPECT_EQ(reading.Get("_Total", "Backlog Length"), 12 + 8);
}

// Linux 4.18 prints neither the backlog nor the CPU. Its lines are those of the
// online CPUs.
TEST_F(LinuxSoftnetTest, FindsTheCpusOfOldKernels) {
  Write("sys/devices/system/cpu/online", "0-1,3\n");
  const std::string zeros = " 0 0 0 0 0 0 0 00000005 00000006\n";
  WriteLines("00000001 00000000" + zeros + "00000002 00000000" + zeros +
             "00000003 00000000" + zeros);
  const Reading reading = Sample(kSoftnet);
  EXPECT_THAT(reading.names, ElementsAre("0", "1", "3", "_Total"));
  EXPECT_EQ(reading.rows.at("3"), (Values{{"Packets/sec", 3},
                                          {"Packets Dropped", 0},
                                          {"Time Squeezes/sec", 0},
                                          {"RPS Wakeups/sec", 5},
                                          {"Flow Limit Drops", 6}}));
}

TEST_F(LinuxSoftnetTest, NumbersLinesWithoutAListOfCpus) {
  WriteLines("00000001\n00000002\n");
  EXPECT_THAT(Sample(kSoftnet).names, ElementsAre("0", "1", "_Total"));
}

// The kernel's counters have 32 bits. A CPU that goes offline keeps them.
TEST_F(LinuxSoftnetTest, NeitherWrapsNorFalls) {
  const auto line = [](absl::string_view packets, absl::string_view cpu) {
    return absl::StrCat(packets, " 0 0 0 0 0 0 0 0 0 0 0 ", cpu, "\n");
  };
  WriteLines(line("fffffffe", "0") + line("00000010", "1"));
  Sample(kSoftnet);
  WriteLines(line("00000003", "0") + line("00000018", "1"));
  Reading reading = Sample(kSoftnet);
  EXPECT_EQ(reading.Get("0", "Packets/sec"), 0x100000003);
  EXPECT_EQ(reading.Get("1", "Packets/sec"), 0x18);
  EXPECT_EQ(reading.Get("_Total", "Packets/sec"), 5 + 8);
  WriteLines(line("00000004", "0"));
  reading = Sample(kSoftnet);
  EXPECT_THAT(reading.names, ElementsAre("0", "_Total"));
  EXPECT_EQ(reading.Get("_Total", "Packets/sec"), 5 + 8 + 1);
  WriteLines(line("00000004", "0") + line("00000018", "1"));
  EXPECT_EQ(Sample(kSoftnet).Get("_Total", "Packets/sec"), 5 + 8 + 1);
}

TEST_F(LinuxSoftnetTest, HasNoInstancesWithoutTheFile) {
  const Reading reading = Sample(kSoftnet);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_THAT(reading.names, ElementsAre());
}

TEST_F(LinuxSoftnetTest, SkipsMalformedText) {
  WriteLines("x\n00000007 y\n1 2 3 4 5 6 7 8 9 a b c ffffffff d e\n");
  const Reading reading = Sample(kSoftnet);
  EXPECT_THAT(reading.names, ElementsAre("_Total"));
  EXPECT_EQ(reading.rows.at("_Total"), Values{});
}

}  // namespace
}  // namespace fleetperf::agent
