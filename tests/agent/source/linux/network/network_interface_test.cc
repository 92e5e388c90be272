#include <filesystem>
#include <fstream>
#include <map>
#include <string>

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
    WriteAttribute(name, "ifindex", index);
    WriteAttribute(name, "speed", speed);
  }
  void WriteAttribute(const std::string& name, const std::string& file,
                      absl::string_view text) {
    Write("sys/class/net/" + name + "/" + file, absl::StrCat(text, "\n"));
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
                {"Receive FIFO Errors", 5},
                {"Receive Frame Errors", 6},
                {"Transmit FIFO Errors", 13},
                {"Collisions", 14},
                {"Transmit Carrier Errors", 15},
                {"Packets Received Compressed/sec", 7},
                {"Packets Sent Compressed/sec", 16},
            }));
}

TEST_F(NetworkInterfaceTest, ReadsTheLink) {
  WriteLink("eth0", "2", "25000");
  WriteAttribute("eth0", "carrier", "1");
  WriteAttribute("eth0", "operstate", "up");
  WriteAttribute("eth0", "duplex", "full");
  WriteAttribute("eth0", "carrier_changes", "5");
  WriteAttribute("eth0", "carrier_down_count", "2");
  WriteAttribute("eth0", "statistics/rx_nohandler", "21");
  WriteAttribute("eth0", "statistics/rx_missed_errors", "22");
  WriteAttribute("eth0", "statistics/rx_crc_errors", "23");
  WriteDev("eth0: 1\n");
  Reading reading = Sample(kNetwork);
  const auto expect = [&](const std::string& counter, uint64_t value) {
    EXPECT_EQ(reading.Get("eth0", counter), value) << counter;
  };
  expect("Link Up", 1);
  expect("Operational State", 6);
  expect("Full Duplex", 1);
  expect("Link Changes", 5);
  expect("Link Downs", 2);
  expect("Receive No Handler", 21);
  expect("Receive Missed", 22);
  expect("Receive CRC Errors", 23);
  WriteAttribute("eth0", "carrier", "0");
  WriteAttribute("eth0", "operstate", "lowerlayerdown");
  WriteAttribute("eth0", "duplex", "half");
  WriteAttribute("eth0", "carrier_changes", "6");
  clock_.Advance(absl::Minutes(1));
  reading = Sample(kNetwork);
  expect("Link Up", 0);
  expect("Operational State", 3);
  expect("Full Duplex", 0);
  expect("Link Changes", 6);
}

TEST_F(NetworkInterfaceTest, OmitsWhatALinkDoesNotKnow) {
  WriteLink("dummy0", "2", "-1");
  WriteAttribute("dummy0", "operstate", "strange");
  WriteAttribute("dummy0", "duplex", "unknown");
  // Reading a directory fails, as reading the carrier does while the interface
  // is off.
  std::filesystem::create_directory(PathOf("sys/class/net/dummy0/carrier"));
  WriteDev("dummy0: 1\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_EQ(reading.Get("dummy0", "Link Up"), 0);
  for (const char* counter :
       {"Operational State", "Full Duplex", "Link Changes", "Link Downs"}) {
    EXPECT_EQ(reading.Get("dummy0", counter), std::nullopt) << counter;
  }
}

TEST_F(NetworkInterfaceTest, ServesNetworkAdapterToo) {
  WriteLink("eth0", "2", "25000");
  WriteAttribute("eth0", "carrier", "1");
  WriteDev("eth0: 500 6 0 0 0 0 0 1 30 4\n");
  const Reading adapter = Sample("Network Adapter");
  EXPECT_EQ(adapter.ids.at("eth0"), 2);
  EXPECT_EQ(adapter.Get("eth0", "Bytes Total/sec"), 530);
  EXPECT_EQ(adapter.rows, Sample(kNetwork).rows);
}

// Two interfaces exchange their names without falling counters.
TEST_F(NetworkInterfaceTest, DetectsRenamedInterfaces) {
  WriteLink("eth0", "2", "1000");
  WriteDev("eth0: 1\n");
  EXPECT_EQ(Sample(kNetwork).ids.at("eth0"), 2);
  WriteLink("eth0", "3", "1000");
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(Sample(kNetwork).ids.at("eth0"), 3);
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

// Old kernels list the addresses of an interface as aliases.
TEST_F(NetworkInterfaceTest, DoesNotTakeAnAliasForItsInterface) {
  WriteLink("eth0", "2", "1000");
  WriteDev(
      "eth0:5000 7 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
      "eth0:1:111 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
      "eth0:web: 222 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_THAT(reading.names, ElementsAre("eth0", "eth0:1", "eth0:web"));
  EXPECT_EQ(reading.Get("eth0", "Bytes Received/sec"), 5000);
  EXPECT_EQ(reading.Get("eth0:1", "Bytes Received/sec"), 111);
  EXPECT_EQ(reading.Get("eth0:web", "Bytes Sent/sec"), 3);
}

TEST_F(NetworkInterfaceTest, KeepsTheLinksWithoutTheCounts) {
  WriteLink("eth0", "2", "1000");
  WriteAttribute("eth0", "carrier", "1");
  Write("sys/class/net/bonding_masters", "\n");
  const Reading reading = Sample(kNetwork);
  EXPECT_EQ(reading.rows.at("eth0"),
            (Values{{"Current Bandwidth", 1'000'000'000}, {"Link Up", 1}}));
  EXPECT_THAT(reading.names, ElementsAre("eth0"));
  ASSERT_EQ(source().Limitations().size(), 1);
  EXPECT_THAT(source().Limitations()[0].reason,
              ::testing::HasSubstr(PathOf("proc/net/dev")));
}

TEST_F(NetworkInterfaceTest, HasNoBandwidthWithoutASpeed) {
  WriteLink("down", "3", "-1");
  WriteLink("tun0", "4", "");
  WriteLink("unknown", "5", "4294967295");
  WriteLink("zero", "6", "0");
  WriteLink("old", "7", "65535");
  WriteDev("down: 1\ntun0: 1\nveth1: 1\nunknown: 1\nzero: 1\nold: 1\n");
  const Reading reading = Sample(kNetwork);
  for (const char* name : {"down", "tun0", "veth1", "unknown", "zero", "old"}) {
    EXPECT_EQ(reading.Get(name, "Current Bandwidth"), std::nullopt) << name;
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
  WriteDev("veth7: 500 10 0 0 0 0 0 0 0\n");
  EXPECT_EQ(Sample(kNetwork).ids.at("veth7"), 7);
  WriteLink("veth7", "8", "10000");
  WriteDev("veth7: 100 2 0 0 0 0 0 0 0\n");
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

// This machine's counts as sysfs shows them, by "interface file".
std::map<std::string, uint64_t> ReadLiveLinks() {
  std::map<std::string, uint64_t> numbers;
  for (const auto& link :
       std::filesystem::directory_iterator("/sys/class/net")) {
    std::error_code ignored;  // it was removed, or is no interface
    for (const auto& file : std::filesystem::directory_iterator(
             link.path() / "statistics", ignored)) {
      uint64_t number = 0;
      if (!(std::ifstream(file.path()) >> number)) continue;
      numbers[link.path().filename().string() + " " +
              file.path().filename().string()] = number;
    }
  }
  return numbers;
}

TEST_F(NetworkInterfaceTest, AgreesWithThisMachine) {
  std::filesystem::create_directory_symlink("/proc", PathOf("proc"));
  std::filesystem::create_directory_symlink("/sys", PathOf("sys"));
  const auto before = ReadLiveLinks();
  const Reading reading = Sample(kNetwork);
  const auto after = ReadLiveLinks();
  ASSERT_GT(reading.names.size(), 0);
  const std::map<std::string, std::string> kFiles = {
      {"Bytes Received/sec", "rx_bytes"},
      {"Bytes Sent/sec", "tx_bytes"},
      {"Packets Received/sec", "rx_packets"},
      {"Packets Sent/sec", "tx_packets"},
      {"Packets Received Errors", "rx_errors"},
      {"Packets Outbound Discarded", "tx_dropped"},
      {"Receive FIFO Errors", "rx_fifo_errors"},
      {"Receive No Handler", "rx_nohandler"},
      {"Receive CRC Errors", "rx_crc_errors"},
      {"Collisions", "collisions"}};
  for (const auto& [counter, file] : kFiles) {
    for (const std::string& name : reading.names) {
      const std::string key = name + " " + file;
      if (before.count(key) == 0 || after.count(key) == 0) continue;
      EXPECT_LE(before.at(key), reading.Get(name, counter)) << key;
      EXPECT_GE(after.at(key), reading.Get(name, counter)) << key;
    }
  }
}

}  // namespace
}  // namespace fleetperf::agent
