#include <unistd.h>

#include <filesystem>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;
using testing::Values;

constexpr char kSocket[] = "Linux Socket";

uint64_t Pages(uint64_t pages) {
  return pages * static_cast<uint64_t>(getpagesize());
}

class LinuxSocketTest : public testing::LinuxFixture {
 protected:
  void WriteAll() {
    Write("proc/net/sockstat",
          "sockets: used 290\n"
          "TCP: inuse 14 orphan 2 tw 7 alloc 21 mem 300\n"
          "UDP: inuse 4 mem 50\n"
          "UDPLITE: inuse 1\n"
          "RAW: inuse 3\n"
          "FRAG: inuse 5 memory 6000\n");
    Write("proc/net/sockstat6",
          "TCP6: inuse 8\n"
          "UDP6: inuse 9\n"
          "UDPLITE6: inuse 10\n"
          "RAW6: inuse 11\n"
          "FRAG6: inuse 12 memory 13000\n");
    Write("proc/sys/net/ipv4/tcp_mem", "188700\t251601\t377400\n");
    Write("proc/sys/net/ipv4/udp_mem", "377403\t503205\t754806\n");
  }
};

TEST_F(LinuxSocketTest, ReadsEveryCounter) {
  WriteAll();
  EXPECT_EQ(Sample(kSocket).rows.at(""),
            (Values{
                {"Sockets", 290},
                {"TCP Sockets", 14},
                {"TCP Sockets V6", 8},
                {"TCP Sockets Orphaned", 2},
                {"TCP Sockets Time Wait", 7},
                {"TCP Sockets Allocated", 21},
                {"TCP Memory Bytes", Pages(300)},
                {"% TCP Memory Used", 300},
                {"id:1100", 377400},
                {"UDP Sockets", 4},
                {"UDP Sockets V6", 9},
                {"UDP Memory Bytes", Pages(50)},
                {"% UDP Memory Used", 50},
                {"id:1101", 754806},
                {"UDP-Lite Sockets", 1},
                {"UDP-Lite Sockets V6", 10},
                {"Raw Sockets", 3},
                {"Raw Sockets V6", 11},
                {"Fragment Queues", 5},
                {"Fragment Memory Bytes", 6000},
                {"Fragment Queues V6", 12},
                {"Fragment Memory Bytes V6", 13000},
            }));
}

// As in a container, on a kernel without IPv6.
TEST_F(LinuxSocketTest, OmitsMissingFiles) {
  WriteAll();
  Remove("proc/net/sockstat6");
  Remove("proc/sys");
  const Reading reading = Sample(kSocket);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_EQ(reading.Get("", "TCP Sockets"), 14);
  EXPECT_EQ(reading.Get("", "TCP Sockets V6"), std::nullopt);
  EXPECT_EQ(reading.Get("", "id:1100"), std::nullopt);
}

TEST_F(LinuxSocketTest, ReadsOnlyTheFilesOfTheQueries) {
  WriteAll();
  std::filesystem::remove(PathOf("proc/net/sockstat"));
  std::filesystem::create_directory(PathOf("proc/net/sockstat"));
  constexpr uint32_t kTcpSocketsV6 = 2;
  const Reading reading = Sample(kSocket, {kTcpSocketsV6});
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_EQ(reading.Get("", "TCP Sockets V6"), 8);
  // Reading a directory fails.
  EXPECT_EQ(Sample(kSocket).Get("", "TCP Sockets"), std::nullopt);
  EXPECT_EQ(Sample(kSocket).Get("", "TCP Sockets V6"), 8);
  EXPECT_EQ(source().Limitations().size(), 1);
}

TEST_F(LinuxSocketTest, SkipsMalformedText) {
  Write("proc/net/sockstat", "TCP: inuse x tw 7\nUDP: inuse\nRAW\n\nTCP: tw 5");
  EXPECT_EQ(Sample(kSocket).rows.at(""),
            (Values{{"TCP Sockets Time Wait", 5}}));
}

}  // namespace
}  // namespace fleetperf::agent
