#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/daemon/service_notifier.h"
#include "tests/support/gate.h"
#include "tests/support/patience.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

// The socket on which systemd receives reports; see sd_notify(3).
class NotifySocket {
 public:
  // `name`: a path, or an abstract name that begins with "@".
  explicit NotifySocket(const std::string& name)
      : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(
        bind(fd_, reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(sizeof address.sun_family + name.size())),
        0)
        << std::strerror(errno);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~NotifySocket() {
    close(fd_);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
  }

  // Waits for the next report. Returns "none" if there is none.
  std::string Next() { return Receive(testing::kPatience); }
  std::string NextNow() { return Receive(absl::ZeroDuration()); }

 private:
  std::string Receive(absl::Duration patience) {
    pollfd incoming = {.fd = fd_, .events = POLLIN, .revents = 0};
    const auto timeout = absl::ToInt64Milliseconds(patience);
    if (poll(&incoming, 1, static_cast<int>(timeout)) != 1) return "none";
    char report[256];
    const ssize_t size = recv(fd_, report, sizeof report, 0);
    return size < 0 ? "error" : std::string(report, static_cast<size_t>(size));
  }

  const int fd_;
};

TEST(ServiceNotifier, ReportsReadinessAndStop) {
  const testing::TempDirectory directory;
  NotifySocket socket(directory.File("notify"));
  {
    const ServiceNotifier notifier([] { FAIL() << "without a watchdog"; });
    EXPECT_EQ(socket.Next(), "READY=1");
    EXPECT_EQ(socket.NextNow(), "none");
  }
  EXPECT_EQ(socket.Next(), "STOPPING=1");
}

TEST(ServiceNotifier, ReportsToAnAbstractSocket) {
  NotifySocket socket(absl::StrCat("@fleetperf_test.", getpid()));
  const ServiceNotifier notifier([] {});
  EXPECT_EQ(socket.Next(), "READY=1");
}

TEST(ServiceNotifier, ReportsToTheWatchdogAfterEachProbe) {
  const testing::TempDirectory directory;
  NotifySocket socket(directory.File("notify"));
  setenv("WATCHDOG_USEC", "2000", 1);
  setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  testing::Gate gate;
  gate.Close();
  const ServiceNotifier notifier([&gate] { gate.Pass(); });
  EXPECT_EQ(socket.Next(), "READY=1");
  ASSERT_TRUE(gate.AwaitStopped());
  EXPECT_EQ(socket.NextNow(), "none");  // the probe has not returned
  gate.Open();
  EXPECT_EQ(socket.Next(), "WATCHDOG=1");
  EXPECT_EQ(socket.Next(), "WATCHDOG=1");
}

// systemd must not end a daemon that takes a while to stop.
TEST(ServiceNotifier, ReportsToTheWatchdogBeforeItStops) {
  const testing::TempDirectory directory;
  NotifySocket socket(directory.File("notify"));
  setenv("WATCHDOG_USEC", "3600000000", 1);
  {
    const ServiceNotifier notifier([] {});
  }
  EXPECT_EQ(socket.Next(), "READY=1");
  EXPECT_EQ(socket.Next(), "WATCHDOG=1");
  EXPECT_EQ(socket.Next(), "STOPPING=1");
}

TEST(ServiceNotifier, IgnoresTheWatchdogOfAnotherProcess) {
  const testing::TempDirectory directory;
  NotifySocket socket(directory.File("notify"));
  setenv("WATCHDOG_USEC", "3600000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  {
    const ServiceNotifier notifier([] {});
  }
  EXPECT_EQ(socket.Next(), "READY=1");
  EXPECT_EQ(socket.Next(), "STOPPING=1");
}

TEST(ServiceNotifier, RunsWithoutSystemd) {
  unsetenv("NOTIFY_SOCKET");
  const ServiceNotifier notifier([] {});
}

TEST(ServiceNotifier, RunsIfTheSocketIsGone) {
  const testing::TempDirectory directory;
  setenv("NOTIFY_SOCKET", directory.File("absent").c_str(), 1);
  {
    const ServiceNotifier notifier([] {});
  }
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  {
    const ServiceNotifier notifier([] {});
  }
  unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace fleetperf
