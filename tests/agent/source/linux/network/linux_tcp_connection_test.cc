#include "agent/source/linux/network/linux_tcp_connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "perflib/utf16.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

std::string NetlinkMessage(uint16_t type, const std::string& payload) {
  nlmsghdr header = {};
  header.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(payload.size()));
  header.nlmsg_type = type;
  std::string message(reinterpret_cast<const char*>(&header), sizeof(header));
  message += payload;
  message.resize(NLMSG_ALIGN(message.size()));
  return message;
}

// A socket at the address of four words.
std::string SocketMessage(uint8_t family, uint8_t state, uint32_t receive_queue,
                          uint32_t send_queue,
                          const std::array<uint32_t, 4>& address = {1}) {
  inet_diag_msg socket = {};
  socket.idiag_family = family;
  socket.idiag_state = state;
  socket.idiag_rqueue = receive_queue;
  socket.idiag_wqueue = send_queue;
  for (size_t i = 0; i < address.size(); ++i) {
    socket.id.idiag_src[i] = htonl(address[i]);
  }
  return NetlinkMessage(
      SOCK_DIAG_BY_FAMILY,
      std::string(reinterpret_cast<const char*>(&socket), sizeof(socket)) +
          "attributes");
}

TEST(AddTcpSocketsTest, CountsStatesAndQueues) {
  TcpCountsByFamily counts;
  EXPECT_THAT(
      AddTcpSockets(SocketMessage(AF_INET, TCP_ESTABLISHED, 10, 20) +
                        SocketMessage(AF_INET, TCP_ESTABLISHED, 100, 200) +
                        SocketMessage(AF_INET, TCP_CLOSE_WAIT, 1, 2) +
                        SocketMessage(AF_INET6, TCP_TIME_WAIT, 0, 0),
                    &counts),
      IsOkAndHolds(false));
  EXPECT_THAT(AddTcpSockets(SocketMessage(AF_INET6, TCP_LISTEN, 3, 128) +
                                SocketMessage(AF_INET6, TCP_LISTEN, 6, 5) +
                                NetlinkMessage(NLMSG_DONE, "") + "ignored",
                            &counts),
              IsOkAndHolds(true));
  TcpCounts v4;
  v4.sockets[TCP_ESTABLISHED] = 2;
  v4.sockets[TCP_CLOSE_WAIT] = 1;
  v4.receive_queue_bytes = 111;
  v4.send_queue_bytes = 222;
  EXPECT_EQ(counts.v4, v4);
  TcpCounts v6;
  v6.sockets[TCP_TIME_WAIT] = 1;
  v6.sockets[TCP_LISTEN] = 2;
  v6.accept_queue = 9;
  v6.full_accept_queues = 1;
  EXPECT_EQ(counts.v6, v6);
}

// ::ffff:127.0.0.1, but not ::.
TEST(AddTcpSocketsTest, CountsMappedAddressesAsV4) {
  TcpCountsByFamily counts;
  EXPECT_THAT(
      AddTcpSockets(SocketMessage(AF_INET6, TCP_ESTABLISHED, 0, 0,
                                  {0, 0, 0xFFFF, 0x7F000001}) +
                        SocketMessage(AF_INET6, TCP_LISTEN, 0, 0, {0, 0, 0, 0}),
                    &counts),
      IsOkAndHolds(false));
  EXPECT_EQ(counts.v4.sockets[TCP_ESTABLISHED], 1);
  EXPECT_EQ(counts.v6.sockets[TCP_LISTEN], 1);
}

TEST(AddTcpSocketsTest, ReturnsErrors) {
  TcpCountsByFamily counts;
  nlmsgerr error = {};
  error.error = -ENOENT;
  EXPECT_THAT(
      AddTcpSockets(NetlinkMessage(NLMSG_ERROR,
                                   std::string(reinterpret_cast<char*>(&error),
                                               sizeof(error))),
                    &counts),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("TCP sockets")));
  const std::string socket = SocketMessage(AF_INET, TCP_ESTABLISHED, 0, 0);
  EXPECT_THAT(AddTcpSockets(socket.substr(0, socket.size() / 2), &counts),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  EXPECT_THAT(AddTcpSockets(std::string(64, '\0'), &counts),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  EXPECT_THAT(
      AddTcpSockets(NetlinkMessage(SOCK_DIAG_BY_FAMILY, "short"), &counts),
      IsOkAndHolds(false));
  EXPECT_EQ(counts.v4, TcpCounts());
}

CountersetSample SampleTcp(LinuxTcpConnection* provider) {
  CountersetSample sample;
  sample.Reset(provider->registration().counters.size());
  EXPECT_OK(provider->Sample(~ColumnSet{0}, {}, &sample));
  return sample;
}

TEST(LinuxTcpConnectionTest, HasARowPerFamily) {
  LinuxTcpConnection provider([]() -> absl::StatusOr<TcpCountsByFamily> {
    TcpCountsByFamily counts;
    for (size_t i = 0; i < TcpCounts::kNumStates; ++i) {
      counts.v4.sockets[i] = 100 + i;
      counts.v6.sockets[i] = 200 + i;
    }
    counts.v4.receive_queue_bytes = 1;
    counts.v4.send_queue_bytes = 2;
    counts.v4.accept_queue = 3;
    counts.v4.full_accept_queues = 4;
    return counts;
  });
  const CountersetSample sample = SampleTcp(&provider);
  ASSERT_EQ(sample.rows(), 2);
  EXPECT_EQ(perflib::Utf8FromUtf16(sample.Utf16Name(0)), "IPv4");
  EXPECT_EQ(perflib::Utf8FromUtf16(sample.Utf16Name(1)), "IPv6");
  const auto value = [&](size_t row, absl::string_view name) {
    const auto& counters = provider.registration().counters;
    for (size_t i = 0; i < counters.size(); ++i) {
      if (counters[i].name == name) return sample.Value(row, i);
    }
    return uint64_t{0};
  };
  EXPECT_EQ(value(0, "Established"), 100 + TCP_ESTABLISHED);
  EXPECT_EQ(value(0, "SYN Sent"), 100 + TCP_SYN_SENT);
  EXPECT_EQ(value(0, "SYN Received"), 100 + TCP_SYN_RECV);
  EXPECT_EQ(value(0, "FIN Wait 1"), 100 + TCP_FIN_WAIT1);
  EXPECT_EQ(value(0, "FIN Wait 2"), 100 + TCP_FIN_WAIT2);
  EXPECT_EQ(value(0, "Time Wait"), 100 + TCP_TIME_WAIT);
  EXPECT_EQ(value(0, "Closed"), 100 + TCP_CLOSE);
  EXPECT_EQ(value(0, "Close Wait"), 100 + TCP_CLOSE_WAIT);
  EXPECT_EQ(value(0, "Last ACK"), 100 + TCP_LAST_ACK);
  EXPECT_EQ(value(0, "Listen"), 100 + TCP_LISTEN);
  EXPECT_EQ(value(0, "Closing"), 100 + TCP_CLOSING);
  EXPECT_EQ(value(0, "Receive Queue Bytes"), 1);
  EXPECT_EQ(value(0, "Send Queue Bytes"), 2);
  EXPECT_EQ(value(0, "Accept Queue Length"), 3);
  EXPECT_EQ(value(0, "Accept Queues Full"), 4);
  EXPECT_EQ(value(1, "Closing"), 200 + TCP_CLOSING);
}

TEST(LinuxTcpConnectionTest, HasNoInstancesWithoutDiagnostics) {
  LinuxTcpConnection provider([]() -> absl::StatusOr<TcpCountsByFamily> {
    return absl::NotFoundError("no tcp_diag");
  });
  EXPECT_EQ(SampleTcp(&provider).rows(), 0);
}

using TcpStates = std::array<uint64_t, TcpCounts::kNumStates>;

// Sockets of this machine by state, without TIME-WAIT, which ends at any
// time, from the text that the kernel also has.
TcpStates ReadLiveTcpStates() {
  TcpStates sockets = {};
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string position, local, remote, state;
      words >> position >> local >> remote >> state;
      const size_t number = std::stoul(state, nullptr, 16);
      if (number != TCP_TIME_WAIT) ++sockets.at(number);
    }
  }
  return sockets;
}

TEST(LinuxTcpConnectionTest, AgreesWithThisMachine) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, name, size), 0);
  ASSERT_EQ(listen(listener, 5), 0);
  ASSERT_EQ(getsockname(listener, name, &size), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, name, size), 0);

  TcpStates before = {};
  TcpStates actual = {};
  TcpStates after = {};
  absl::StatusOr<TcpCountsByFamily> counts;
  testing::Retry([&] {  // other processes open and close sockets
    before = ReadLiveTcpStates();
    counts = CountTcpSockets();
    after = ReadLiveTcpStates();
    if (!counts.ok()) return true;
    for (size_t state = 1; state < actual.size(); ++state) {
      actual[state] = counts->v4.sockets[state] + counts->v6.sockets[state];
    }
    actual[TCP_TIME_WAIT] = 0;
    return before == after && actual == before;
  });
  close(client);
  close(listener);
  if (absl::IsNotFound(counts.status())) GTEST_SKIP() << counts.status();
  ASSERT_OK(counts);
  EXPECT_GE(counts->v4.accept_queue, 1);
  EXPECT_GE(counts->v4.sockets[TCP_LISTEN], 1);
  EXPECT_GE(counts->v4.sockets[TCP_ESTABLISHED], 2);
  if (before != after) GTEST_SKIP() << "other sockets change all the time";
  EXPECT_EQ(actual, before);
}

}  // namespace
}  // namespace fleetperf::agent
