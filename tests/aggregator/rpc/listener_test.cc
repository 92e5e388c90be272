#include "aggregator/rpc/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/support/log_capture.h"
#include "tests/support/raw_connection.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using testing::LogCapture;
using testing::RawConnection;
using testing::StatusIs;

// How long anything may take that a test waits for.
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr Listener::Probes kNoProbes = {.every = absl::InfiniteDuration()};

// Keeps what it is given.
class Taken {
 public:
  Listener::Take Take() {
    return [this](int, int fd) {
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

// Connects again and again until so many were taken. From another address:
// while nothing listens at the port, a socket of the same could be given this
// port, connect to itself, and keep it.
bool ConnectUntilTaken(int port, Taken* taken, size_t count) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const RawConnection connection(port, "127.0.0.2");
    if (taken->Has(count)) return true;
  }
  return false;
}

// The first descriptor that is not open.
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

TEST(Listener, AcceptsAgainAfterAllDescriptorsWereTaken) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer's own checks need descriptors";
#endif
#endif
  const LogCapture log;
  Taken taken;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  std::vector<RawConnection> flood;
  for (int i = 0; i < 20; ++i) flood.emplace_back(listener->port());
  {
    const DescriptorLimit limit(static_cast<rlim_t>(NextDescriptor()) + 4);
    listener->Start(taken.Take(), kNoProbes);
    ASSERT_TRUE(taken.WaitFor(4));
    // There are descriptors for four. All others are closed at once, so that
    // none waits in the system's queue; the last may not be counted yet.
    EXPECT_TRUE(flood.back().WaitUntilClosed());
    EXPECT_GE(
        listener->Count().refused[static_cast<size_t>(Refusal::kNoDescriptors)],
        15);
  }
  EXPECT_TRUE(ConnectUntilTaken(listener->port(), &taken, 5));
}

// Ends the listening at a port without telling the one that listens.
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

TEST(Listener, ListensAnewWhenItsSocketIsBroken) {
  const LogCapture log;
  Taken taken;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(taken.Take(), kNoProbes);
  BreakSocketsAt(listener->port());
  EXPECT_TRUE(ConnectUntilTaken(listener->port(), &taken, 1));
}

TEST(Listener, NoticesThatItAcceptsNothing) {
  absl::Notification may_go_on;
  Taken taken;
  LogCapture log;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(
      [&, take = taken.Take()](int listening_fd, int fd) {
        may_go_on.WaitForNotification();
        take(listening_fd, fd);
      },
      {.every = absl::Milliseconds(1), .patience = absl::Milliseconds(1)});
  const RawConnection stuck(listener->port());
  const absl::Time deadline = absl::Now() + kPatience;
  while (listener->failed_probes() == 0 && absl::Now() < deadline) {
  }
  EXPECT_GT(listener->failed_probes(), 0);
  may_go_on.Notify();
  EXPECT_TRUE(ConnectUntilTaken(listener->port(), &taken, 2));
  listener->Stop();
  EXPECT_THAT(log.Lines(),
              ::testing::Contains(HasSubstr("was not accepted within")));
}

TEST(Listener, ItsOwnProbesAreNoConnections) {
  const LogCapture log;
  Taken taken;
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  listener->Start(taken.Take(), {.every = absl::Microseconds(1)});
  for (int i = 0; i < 20; ++i) {
    const RawConnection connection(listener->port());
    ASSERT_TRUE(taken.WaitFor(i + 1));
  }
  listener->Stop();
  EXPECT_EQ(listener->Count().accepted, 20);
  EXPECT_EQ(listener->failed_probes(), 0);
}

TEST(Listener, ListensWhereItIsTold) {
  for (const std::string host : {"127.0.0.1", "localhost", "0.0.0.0", ""}) {
    Taken taken;
    const auto listener = Listener::Open(host + ":0", {});
    ASSERT_OK(listener) << host;
    (*listener)->Start(taken.Take(), kNoProbes);
    const RawConnection connection((*listener)->port());
    EXPECT_TRUE(taken.WaitFor(1)) << host;
  }
}

TEST(Listener, SaysWhyItCannot) {
  const auto listener = *Listener::Open("127.0.0.1:0", {});
  const std::string taken = absl::StrCat("127.0.0.1:", listener->port());
  EXPECT_THAT(Listener::Open(taken, {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot listen on " + taken +
                                 ": the port is taken by another process")));
  // TEST-NET-1 (RFC 5737) is no machine's.
  EXPECT_THAT(Listener::Open("192.0.2.1:0", {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("the address is not this machine's")));
  EXPECT_THAT(Listener::Open("no.such.host.invalid:0", {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot listen on no.such.host.invalid:0")));
}

}  // namespace
}  // namespace fleetperf::aggregator
