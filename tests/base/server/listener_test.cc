#include "base/server/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/support/log_capture.h"
#include "tests/support/patience.h"
#include "tests/support/raw_connection.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using testing::LogCapture;
using testing::RawConnection;
using testing::StatusIs;

constexpr Listener::Probes kNoProbes = {.every = absl::InfiniteDuration()};

// Owns the accepted connections.
class AcceptedConnections {
 public:
  Listener::Handler Handler() {
    return [this](int, int fd, const Peer&) {
      absl::MutexLock lock(&mutex_);
      fds_.emplace_back(fd);
    };
  }
  bool WaitFor(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto has = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return fds_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&has), kPatience);
  }
  bool Has(size_t count) {
    absl::MutexLock lock(&mutex_);
    return fds_.size() >= count;
  }

 private:
  absl::Mutex mutex_;
  std::vector<OwnedFd> fds_ ABSL_GUARDED_BY(mutex_);
};

// Opens a connection that sends a byte at once, as all clients do.
RawConnection Connect(int port, const std::string& from = "127.0.0.1") {
  RawConnection connection(port, from);
  connection.SendByte();
  return connection;
}

// Connects repeatedly until `count` connections were accepted. Connects from
// another address: while nothing listens at the port, a socket of the same
// address could get this port, connect to itself and keep the port.
bool ConnectUntilAccepted(int port, AcceptedConnections* accepted,
                          size_t count) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const RawConnection connection = Connect(port, "127.0.0.2");
    if (accepted->Has(count)) return true;
  }
  return false;
}

// Returns the lowest free descriptor.
int NextDescriptor() { return OwnedFd(dup(STDERR_FILENO)).get(); }

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = limit;
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(Listener, AcceptsAgainAfterRunningOutOfDescriptors) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer itself needs descriptors";
#endif
#endif
  const LogCapture log;
  AcceptedConnections accepted;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  std::vector<RawConnection> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(Connect(listener->port()));
  {
    const DescriptorLimit limit(static_cast<rlim_t>(NextDescriptor()) + 4);
    listener->Start(accepted.Handler(), kNoProbes);
    ASSERT_TRUE(accepted.WaitFor(4));
    // Descriptors are left for four connections. All others are closed at once,
    // so that none waits in the system's queue. The last one may not be counted
    // yet.
    EXPECT_TRUE(flood.back().WaitUntilClosed());
    EXPECT_GE(
        listener->Count().refused[static_cast<size_t>(Refusal::kNoDescriptors)],
        15);
  }
  EXPECT_TRUE(ConnectUntilAccepted(listener->port(), &accepted, 5));
}

// Shuts down the sockets listening at a port, without the listener's knowledge.
void BreakSocketsAt(int port) {
  const int end = NextDescriptor();
  for (int fd = 0; fd < end; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    if (listens != 0 && PeerOf(BoundAddress(fd))->port == port) {
      shutdown(fd, SHUT_RDWR);
    }
  }
}

TEST(Listener, ReopensABrokenSocket) {
  const LogCapture log;
  AcceptedConnections accepted;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(accepted.Handler(), kNoProbes);
  BreakSocketsAt(listener->port());
  EXPECT_TRUE(ConnectUntilAccepted(listener->port(), &accepted, 1));
}

TEST(Listener, DetectsThatItDoesNotAcceptConnections) {
  absl::Notification unblocked;
  AcceptedConnections accepted;
  LogCapture log;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(
      [&, handler = accepted.Handler()](int listening_fd, int fd,
                                        const Peer& peer) {
        unblocked.WaitForNotification();
        handler(listening_fd, fd, peer);
      },
      {.every = absl::Milliseconds(1), .patience = absl::Milliseconds(1)});
  const RawConnection stuck = Connect(listener->port());
  const absl::Time deadline = absl::Now() + kPatience;
  while (listener->failed_probes() == 0 && absl::Now() < deadline) {
  }
  EXPECT_GT(listener->failed_probes(), 0);
  unblocked.Notify();
  EXPECT_TRUE(ConnectUntilAccepted(listener->port(), &accepted, 2));
  listener->Stop();
  EXPECT_THAT(log.Lines(),
              ::testing::Contains(HasSubstr("was not accepted within")));
}

TEST(Listener, DoesNotCountItsOwnProbes) {
  const LogCapture log;
  AcceptedConnections accepted;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(accepted.Handler(), {.every = absl::Microseconds(1)});
  for (int i = 0; i < 20; ++i) {
    const RawConnection connection = Connect(listener->port());
    ASSERT_TRUE(accepted.WaitFor(i + 1));
  }
  listener->Stop();
  EXPECT_EQ(listener->Count().accepted, 20);
  EXPECT_EQ(listener->failed_probes(), 0);
}

TEST(Listener, IgnoresConnectionsThatEndWithoutAByte) {
  AcceptedConnections accepted;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(accepted.Handler(), kNoProbes);
  for (int i = 0; i < 20; ++i) const RawConnection silent(listener->port());
  const RawConnection connection = Connect(listener->port());
  ASSERT_TRUE(accepted.WaitFor(1));
  EXPECT_EQ(listener->Count().accepted, 1);
}

TEST(Listener, AcceptsASilentConnectionAfterAWhile) {
  AcceptedConnections accepted;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(accepted.Handler(), kNoProbes);
  const RawConnection silent(listener->port());
  EXPECT_TRUE(accepted.WaitFor(1));
}

TEST(Listener, ListensAtTheGivenAddress) {
  for (const std::string host : {"127.0.0.1", "localhost", "0.0.0.0", ""}) {
    AcceptedConnections accepted;
    const auto listener = Listener::Open(host + ":0", {});
    ASSERT_OK(listener) << host;
    (*listener)->Start(accepted.Handler(), kNoProbes);
    const RawConnection connection = Connect((*listener)->port());
    EXPECT_TRUE(accepted.WaitFor(1)) << host;
  }
}

TEST(Listener, ReportsWhyItCannotListen) {
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  const std::string address = absl::StrCat("127.0.0.1:", listener->port());
  EXPECT_THAT(Listener::Open(address, {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot listen on " + address +
                                 ": the port is in use by another process")));
  // TEST-NET-1 (RFC 5737) belongs to no machine.
  EXPECT_THAT(
      Listener::Open("192.0.2.1:0", {}),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("the address does not belong to this machine")));
  EXPECT_THAT(Listener::Open("no.such.host.invalid:0", {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot listen on no.such.host.invalid:0")));
}

}  // namespace
}  // namespace fleetperf
