#include "base/server/connection_table.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/server/listening_socket.h"

namespace fleetperf {
namespace {

using ::testing::Eq;
using ::testing::Optional;

constexpr absl::Duration kStart = absl::Hours(1);

// The two ends of a connection. `near` is the server's end.
struct Socket {
  Socket() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
      throw std::runtime_error("cannot create a socket pair");
    }
    near.Reset(fds[0]);
    far.Reset(fds[1]);
  }
  // Returns whether the server's end was shut down.
  bool IsShutDown() const {
    pollfd polled = {.fd = far.get(), .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
  }

  OwnedFd near;
  OwnedFd far;
};

Peer MakePeer(const std::string& address, int port) {
  return *ParsePeer(absl::StrCat("ipv4:", address, ":", port));
}

class ConnectionTableTest : public ::testing::Test {
 protected:
  // Admits a new connection, each from another port.
  std::optional<Refusal> Admit(const std::string& address, absl::Duration now) {
    peers_.push_back(MakePeer(address, static_cast<int>(1 + peers_.size())));
    return table_->Admit(sockets_.emplace_back().near.get(), peers_.back(),
                         now);
  }
  void Use(const ConnectionLimits& limits) {
    table_ = std::make_unique<ConnectionTable>(limits);
  }

  std::unique_ptr<ConnectionTable> table_;
  std::vector<Socket> sockets_;
  std::vector<Peer> peers_;
};

TEST_F(ConnectionTableTest, RefusesConnectionsBeyondTheTotalLimit) {
  Use({.max = 2, .max_per_address = 2, .max_unauthenticated = 2});
  EXPECT_THAT(Admit("192.0.2.1", kStart), Eq(std::nullopt));
  EXPECT_THAT(Admit("192.0.2.2", kStart), Eq(std::nullopt));
  EXPECT_THAT(Admit("192.0.2.3", kStart), Optional(Refusal::kTooMany));
  const ConnectionCounts counts = table_->Count(kStart);
  EXPECT_EQ(counts.accepted, 2);
  EXPECT_EQ(counts.refused[static_cast<size_t>(Refusal::kTooMany)], 1);
}

TEST_F(ConnectionTableTest, RefusesConnectionsBeyondTheLimitPerAddress) {
  Use({.max = 9, .max_per_address = 2, .max_unauthenticated = 9});
  EXPECT_THAT(Admit("192.0.2.1", kStart), Eq(std::nullopt));
  EXPECT_THAT(Admit("192.0.2.1", kStart), Eq(std::nullopt));
  EXPECT_THAT(Admit("192.0.2.1", kStart), Optional(Refusal::kTooManyOfAddress));
  EXPECT_THAT(Admit("192.0.2.2", kStart), Eq(std::nullopt));
}

TEST_F(ConnectionTableTest, DetectsClosedConnections) {
  Use({.max = 2, .max_per_address = 2, .max_unauthenticated = 2});
  Admit("192.0.2.1", kStart);
  Admit("192.0.2.1", kStart);
  EXPECT_EQ(table_->Count(kStart).open, 2);
  // The descriptor is reused for a file.
  const int fd = sockets_[0].near.get();
  sockets_[0].near.Reset();
  ASSERT_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), fd);
  const absl::Duration later = kStart + absl::Seconds(2);
  EXPECT_THAT(Admit("192.0.2.1", later), Eq(std::nullopt));
  EXPECT_EQ(table_->Count(later).open, 2);
  close(fd);
}

TEST_F(ConnectionTableTest, DistinguishesConnectionsThatReuseADescriptor) {
  Use({.max = 1, .max_per_address = 1, .max_unauthenticated = 1});
  const Socket socket;
  const Peer first = MakePeer("192.0.2.1", 1);
  const Peer second = MakePeer("192.0.2.1", 2);
  EXPECT_THAT(table_->Admit(socket.near.get(), first, kStart),
              Eq(std::nullopt));
  EXPECT_THAT(table_->Admit(socket.near.get(), second, kStart),
              Eq(std::nullopt));
  EXPECT_FALSE(table_->Close(first));
  EXPECT_TRUE(table_->Close(second));
}

// The connections go to two of the server's addresses.
TEST_F(ConnectionTableTest, AllowsTwoConnectionsFromOnePort) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 99});
  const Peer peer = MakePeer("192.0.2.1", 1);
  const Socket first;
  const absl::Duration later = kStart + absl::Minutes(1);
  {
    const Socket second;
    EXPECT_THAT(table_->Admit(first.near.get(), peer, kStart),
                Eq(std::nullopt));
    EXPECT_THAT(table_->Admit(second.near.get(), peer, kStart),
                Eq(std::nullopt));
    EXPECT_EQ(table_->Count(kStart).open, 2);
  }
  EXPECT_EQ(table_->Count(later).open, 1);
}

TEST_F(ConnectionTableTest,
       EvictsFromTheHostWithMostUnauthenticatedConnections) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 4});
  for (int i = 0; i < 4; ++i) Admit("192.0.2.66", kStart);
  EXPECT_THAT(Admit("192.0.2.1", kStart), Eq(std::nullopt));
  EXPECT_TRUE(sockets_[0].IsShutDown());
  EXPECT_THAT(Admit("192.0.2.1", kStart), Eq(std::nullopt));
  EXPECT_TRUE(sockets_[1].IsShutDown());
  // Both hosts have two, so neither evicts the other's connections.
  EXPECT_THAT(Admit("192.0.2.1", kStart),
              Optional(Refusal::kTooManyUnauthenticated));
  EXPECT_THAT(Admit("192.0.2.66", kStart),
              Optional(Refusal::kTooManyUnauthenticated));
  EXPECT_FALSE(sockets_[2].IsShutDown());
  EXPECT_EQ(table_->Count(kStart).evicted, 2);
}

TEST_F(ConnectionTableTest, EvictsTheOldestConnectionAfterItsMinimumTime) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 2});
  Admit("192.0.2.1", kStart);
  Admit("192.0.2.2", kStart + absl::Seconds(1));
  EXPECT_THAT(Admit("192.0.2.3", kStart + absl::Seconds(2)),
              Optional(Refusal::kTooManyUnauthenticated));
  EXPECT_THAT(Admit("192.0.2.3", kStart + absl::Seconds(3)), Eq(std::nullopt));
  EXPECT_TRUE(sockets_[0].IsShutDown());
  EXPECT_FALSE(sockets_[1].IsShutDown());
}

TEST_F(ConnectionTableTest, ReusesPlacesOfClosedUnauthenticatedConnections) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 2});
  Admit("192.0.2.1", kStart);
  Admit("192.0.2.1", kStart);
  sockets_[1].near.Reset();
  const Socket socket;
  // Uses another descriptor, since reusing the closed one would show that it
  // was closed.
  const int fd = fcntl(socket.near.get(), F_DUPFD_CLOEXEC, 500);
  EXPECT_THAT(table_->Admit(fd, MakePeer("192.0.2.1", 99), kStart),
              Eq(std::nullopt));
  EXPECT_FALSE(sockets_[0].IsShutDown());
  close(fd);
}

TEST_F(ConnectionTableTest, DoesNotEvictAConnectionWithACall) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 1});
  Admit("192.0.2.1", kStart);
  table_->MarkAuthenticated(peers_[0]);
  EXPECT_EQ(table_->Count(kStart).unauthenticated, 0);
  Admit("192.0.2.1", kStart);
  Admit("192.0.2.1", kStart + absl::Seconds(5));
  EXPECT_FALSE(sockets_[0].IsShutDown());
  EXPECT_TRUE(sockets_[1].IsShutDown());
}

TEST_F(ConnectionTableTest,
       TreatsConnectionsOlderThanAHandshakeAsAuthenticated) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 1});
  Admit("192.0.2.1", kStart);
  const absl::Duration later = kStart + kHandshakeTime + absl::Seconds(1);
  EXPECT_THAT(Admit("192.0.2.1", later), Eq(std::nullopt));
  EXPECT_FALSE(sockets_[0].IsShutDown());
  EXPECT_EQ(table_->Count(later).unauthenticated, 1);
}

TEST_F(ConnectionTableTest, ClosesTheConnectionOfAPeer) {
  Use({.max = 99, .max_per_address = 99, .max_unauthenticated = 99});
  Admit("192.0.2.1", kStart);
  Admit("192.0.2.1", kStart);
  EXPECT_TRUE(table_->Close(peers_[1]));
  EXPECT_FALSE(sockets_[0].IsShutDown());
  EXPECT_TRUE(sockets_[1].IsShutDown());
  EXPECT_FALSE(table_->Close(MakePeer("192.0.2.9", 1)));
}

TEST(FitLimits, FitsLimitsToTheDescriptors) {
  const ConnectionLimits small = FitLimits({}, 1000);
  EXPECT_EQ(small.max, 750);
  EXPECT_EQ(small.max_per_address, 563);
  EXPECT_EQ(small.max_unauthenticated, 187);
  EXPECT_EQ(FitLimits({.sixteenths_of_descriptors = 1}, 1600).max, 100);
  const ConnectionLimits large = FitLimits({}, 1 << 20);
  EXPECT_EQ(large.max, 65'536);
  EXPECT_EQ(large.max_per_address, 49'152);
  EXPECT_EQ(large.max_unauthenticated, 4'096);
  const ConnectionLimits configured = FitLimits(
      {.max = 100, .max_per_address = 7, .max_unauthenticated = 5}, 1000);
  EXPECT_EQ(configured.max, 100);
  EXPECT_EQ(configured.max_per_address, 7);
  EXPECT_EQ(configured.max_unauthenticated, 5);
}

}  // namespace
}  // namespace fleetperf
