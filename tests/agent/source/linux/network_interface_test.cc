#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr char kHeader[] =
    "Inter-|   Receive                                                |  "
    "Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes "
    "   packets errs drop fifo colls carrier compressed\n";
constexpr char kNetwork[] = "Network Interface";

class NetworkInterfaceTest : public testing::LinuxFixture {
 protected:
  void WriteDev(absl::string_view lines) {
    Write("proc/net/dev", absl::StrCat(kHeader, lines));
  }
  void WriteLink(const std::string& name, absl::string_view index,
                 absl::string_view speed) {
    Write("sys/class/net/" + name + "/ifindex", absl::StrCat(index, "\n"));
    Write("sys/class/net/" + name + "/speed", absl::StrCat(speed, "\n"));
  }
};

TEST_F(NetworkInterfaceTest, ReadsEveryCounter) {
  WriteLink("eth0", "2", "25000");
  WriteDev(
      "  eth0: 5000000000     700    3    4    5     6          7        80 "
      "9000000000     100   11   12   13    14      15         16\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_THAT(reading.names, ElementsAre("eth0"));
  EXPECT_EQ(reading.ids.at("eth0"), 2);
  EXPECT_EQ(reading.rows.at("eth0"),
            (Values{
                {"Bytes Total/sec", 14'000'000'000},
                {"Packets/sec", 700 + 100},
                {"Packets Received/sec", 700},
                {"Packets Sent/sec", 100},
                {"Current Bandwidth", 25'000'000'000},
                {"Bytes Received/sec", 5'000'000'000},
                {"Packets Received Unicast/sec", 700 - 80},
                {"Packets Received Non-Unicast/sec", 80},
                {"Packets Received Discarded", 4},
                {"Packets Received Errors", 3},
                {"Bytes Sent/sec", 9'000'000'000},
                {"Packets Outbound Discarded", 12},
                {"Packets Outbound Errors", 11},
            }));
}

// Old kernels print no space after the colon when the number is long.
TEST_F(NetworkInterfaceTest, FindsNamesAndNumbersWithoutSpaces) {
  WriteDev(
      "    lo:     111       0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
      "eth0:123 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
      "wlp0s20f3:1234567890 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0\n"
      "br-1.100:7 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_THAT(reading.names,
              ElementsAre("lo", "eth0", "wlp0s20f3", "br-1.100"));
  EXPECT_EQ(reading.Get("lo", "Bytes Received/sec"), 111);
  EXPECT_EQ(reading.Get("eth0", "Bytes Received/sec"), 123);
  EXPECT_EQ(reading.Get("wlp0s20f3", "Bytes Received/sec"), 1234567890);
  EXPECT_EQ(reading.Get("br-1.100", "Bytes Sent/sec"), 4);
}

TEST_F(NetworkInterfaceTest, HasNoBandwidthWithoutASpeed) {
  WriteLink("down", "3", "-1");
  WriteLink("tun0", "4", "");
  WriteDev("down: 1\ntun0: 1\nveth1: 1\n");
  const Reading reading = Sample(kNetwork);
  for (const char* name : {"down", "tun0", "veth1"}) {
    EXPECT_EQ(reading.Get(name, "Current Bandwidth"), 0) << name;
  }
  EXPECT_EQ(reading.ids.at("tun0"), 4);
  EXPECT_EQ(reading.ids.at("veth1"), 0);  // without a directory in /sys
}

TEST_F(NetworkInterfaceTest, ReadsTheSpeedAgainAfterAWhile) {
  WriteLink("eth0", "2", "1000");
  WriteDev("eth0: 1\n");
  EXPECT_EQ(Sample(kNetwork).Get("eth0", "Current Bandwidth"), 1'000'000'000);
  WriteLink("eth0", "2", "10000");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(Sample(kNetwork).Get("eth0", "Current Bandwidth"), 10'000'000'000);
}

TEST_F(NetworkInterfaceTest, FollowsInterfacesThatComeAndGo) {
  WriteLink("eth0", "2", "1000");
  WriteLink("veth7", "7", "10000");
  WriteDev("eth0: 1\nveth7: 1\n");
  EXPECT_THAT(Sample(kNetwork).names, ElementsAre("eth0", "veth7"));
  WriteDev("eth0: 1\n");
  EXPECT_THAT(Sample(kNetwork).names, ElementsAre("eth0"));
  // The name is reassigned to another interface.
  WriteLink("veth7", "9", "40000");
  WriteDev("eth0: 1\nveth7: 1\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_EQ(reading.ids.at("veth7"), 9);
  EXPECT_EQ(reading.Get("veth7", "Current Bandwidth"), 40'000'000'000);
}

// The interface is recreated between two ticks, so its counters are lower.
TEST_F(NetworkInterfaceTest, DetectsRecreatedInterfaces) {
  WriteLink("veth7", "7", "10000");
  WriteDev("veth7: 500 10\n");
  EXPECT_EQ(Sample(kNetwork).ids.at("veth7"), 7);
  WriteLink("veth7", "8", "10000");
  WriteDev("veth7: 100 2\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_EQ(reading.ids.at("veth7"), 8);
  EXPECT_EQ(reading.Get("veth7", "Packets Received Unicast/sec"), 2);
}

// Some drivers count multicast packets before filtering them out.
TEST_F(NetworkInterfaceTest, UnicastPacketsNeverDecrease) {
  const auto unicast = [this](absl::string_view line) {
    WriteDev(line);
    return Sample(kNetwork).Get("eth0", "Packets Received Unicast/sec");
  };
  EXPECT_EQ(unicast("eth0: 0 5 0 0 0 0 0 9\n"), 0);
  EXPECT_EQ(unicast("eth0: 0 50 0 0 0 0 0 9\n"), 41);
  EXPECT_EQ(unicast("eth0: 0 51 0 0 0 0 0 12\n"), 41);
  EXPECT_EQ(unicast("eth0: 0 60 0 0 0 0 0 12\n"), 48);
}

TEST_F(NetworkInterfaceTest, HasNoInstancesOnAMachineWithoutANetwork) {
  WriteDev("");
  const Reading reading = Sample(kNetwork);
  EXPECT_THAT(reading.names, ElementsAre());
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
}

}  // namespace
}  // namespace fleetperf::agent
