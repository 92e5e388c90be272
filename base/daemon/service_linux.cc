#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/daemon/service.h"
#include "base/log.h"
#include "base/os/os_error.h"

namespace fleetperf {
namespace {

absl::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status Send(absl::string_view socket_name, absl::string_view report) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_name.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError("the path in NOTIFY_SOCKET is too long");
  }
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  // "@" stands for the NUL byte of an abstract name.
  if (socket_name[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return StatusFromErrno(errno, "cannot create a socket");
  const absl::Cleanup close_socket = [fd] { close(fd); };
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                           socket_name.size());
  if (sendto(fd, report.data(), report.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size) < 0) {
    return StatusFromErrno(errno, absl::StrCat("cannot send to ", socket_name));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasServiceManager() { return false; }

absl::Status RunAsService(const std::string&, StopSignal&,
                          const std::function<absl::Status()>& run) {
  return run();
}

void ReportToSystemd(absl::string_view report) {
  const absl::string_view socket_name = Environment("NOTIFY_SOCKET");
  if (socket_name.empty()) return;
  const absl::Status status = Send(socket_name, report);
  if (status.ok()) return;
  LogWarning("cannot report to systemd: ", status.message());
}

std::optional<absl::Duration> SystemdWatchdogInterval() {
  int64_t microseconds;
  if (!absl::SimpleAtoi(Environment("WATCHDOG_USEC"), &microseconds) ||
      microseconds <= 0) {
    return std::nullopt;
  }
  // Another process, if a parent left its environment to this one.
  const absl::string_view watched = Environment("WATCHDOG_PID");
  int64_t pid;
  if (!watched.empty() &&
      (!absl::SimpleAtoi(watched, &pid) || pid != getpid())) {
    return std::nullopt;
  }
  return absl::Microseconds(microseconds);
}

}  // namespace fleetperf
