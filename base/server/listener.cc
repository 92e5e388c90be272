#include "base/server/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The number of connections accepted from one socket before the others get
// their turn.
constexpr int kMaxAcceptsAtOnce = 128;
// The pause after a failure for lack of memory or descriptors.
constexpr absl::Duration kPause = absl::Milliseconds(100);
constexpr absl::Duration kReopenPause = absl::Seconds(1);
constexpr absl::Duration kLogEvery = absl::Minutes(1);

absl::Duration Now() { return Clock::Real().Monotonic(); }

size_t DescriptorLimit() {
  constexpr rlim_t kMaxDescriptors = 1 << 30;  // in case of RLIM_INFINITY
  rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0
             ? std::min(limit.rlim_cur, kMaxDescriptors)
             : 1024;
}

OwnedFd OpenReserve() {
  return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// Closes a connection with a reset, so that the system retains no state for it.
void Reset(int fd) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

// Whether the client has closed the connection without sending anything.
bool HasEnded(int fd) {
  char byte;
  const ssize_t size = recv(fd, &byte, 1, MSG_PEEK);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

std::string ReasonOf(Refusal refusal, const ConnectionLimits& limits) {
  switch (refusal) {
    case Refusal::kTooMany:
      return absl::StrCat(limits.max, " connections are open");
    case Refusal::kTooManyOfAddress:
      return absl::StrCat(limits.max_per_address,
                          " connections from this address are open");
    case Refusal::kTooManyUnauthenticated:
      return absl::StrCat(limits.max_unauthenticated,
                          " connections have not shown a certificate yet");
    case Refusal::kNoDescriptors:
      return "the process has no file descriptor left";
  }
  return "";
}

// Returns the address at which this machine reaches a socket bound to
// `address`.
sockaddr_storage Reachable(sockaddr_storage address) {
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  if (address.ss_family == AF_INET6) {
    // A socket bound to all addresses also serves IPv4, which works even if the
    // loopback interface has no IPv6 address.
    if (!IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) return address;
    const in_port_t port = v6.sin6_port;
    address = {};
    v4.sin_family = AF_INET;
    v4.sin_port = port;
  }
  if (v4.sin_addr.s_addr == 0) v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

socklen_t SizeOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                       : sizeof(sockaddr_in);
}

// Opens a socket at a free port of the same address. The result has no
// descriptor on failure.
OwnedFd OpenProbe(sockaddr_storage address) {
  OwnedFd fd(
      socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = 0;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = 0;
  }
  if (fd.get() >= 0 && bind(fd.get(), reinterpret_cast<sockaddr*>(&address),
                            SizeOf(address)) != 0) {
    fd.Reset();
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(
    const std::string& host_port, const ConnectionLimits& limits) {
  ASSIGN_OR_RETURN(std::vector<OwnedFd> sockets, ListenAt(host_port));
  const ConnectionLimits fitting = FitLimits(limits, DescriptorLimit());
  return std::unique_ptr<Listener>(
      new Listener(host_port, fitting, std::move(sockets)));
}

Listener::Listener(const std::string& host_port, const ConnectionLimits& limits,
                   std::vector<OwnedFd> sockets)
    : port_(PeerOf(BoundAddress(sockets.front().get()))->port),
      host_port_(
          absl::StrCat(host_port.substr(0, host_port.rfind(':')), ":", port_)),
      connections_(limits),
      wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      sockets_(std::move(sockets)),
      reserve_(OpenReserve()),
      probed_(Reachable(BoundAddress(sockets_.front().get()))) {}

Listener::~Listener() { Stop(); }

void Listener::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Notify();
  WakeUp();
  if (accepting_.joinable()) accepting_.join();
  if (probing_.joinable()) probing_.join();
  sockets_.clear();
}

void Listener::Start(Handler handler, const Probes& probes) {
  handler_ = std::move(handler);
  accepting_ = std::thread([this] { Run(); });
  probing_ = std::thread([this, probes] { RunProbes(probes); });
}

ConnectionCounts Listener::Count() { return connections_.Count(Now()); }

void Listener::WakeUp() {
  const uint64_t one = 1;
  if (write(wake_up_.get(), &one, sizeof one) < 0) return;  // already awake
}

bool Listener::ShouldStop() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Listener::Run() {
  while (!ShouldStop()) {
    if (is_broken_ || must_reopen_.exchange(false)) Reopen();
    WaitForConnections();
    for (size_t i = 0; i < sockets_.size() && pause_ == absl::ZeroDuration();
         ++i) {
      if (polled_[i].revents != 0) AcceptFrom(polled_[i].fd);
    }
  }
}

void Listener::WaitForConnections() {
  polled_.clear();
  const bool pauses = pause_ > absl::ZeroDuration();
  for (const OwnedFd& socket : sockets_) {
    // poll() ignores negative descriptors.
    polled_.push_back({.fd = pauses ? -1 : socket.get(), .events = POLLIN});
  }
  polled_.push_back({.fd = wake_up_.get(), .events = POLLIN});
  const int timeout =
      pauses ? static_cast<int>(absl::ToInt64Milliseconds(pause_)) : -1;
  pause_ = absl::ZeroDuration();
  if (poll(polled_.data(), polled_.size(), timeout) < 0) {
    for (pollfd& polled : polled_) polled.revents = 0;
    if (errno != EINTR) pause_ = kPause;
  }
  uint64_t count;
  if (read(wake_up_.get(), &count, sizeof count) < 0) return;  // no wake-up
}

void Listener::AcceptFrom(int listening_fd) {
  // Takes a descriptor that has become free before a connection can.
  if (reserve_.get() < 0) reserve_ = OpenReserve();
  for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    const int fd = accept4(listening_fd, reinterpret_cast<sockaddr*>(&address),
                           &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      HandleConnection(listening_fd, fd, address);
      continue;
    }
    if (errno == EAGAIN) return;
    HandleError(listening_fd, errno);
    if (is_broken_ || pause_ > absl::ZeroDuration()) return;
  }
}

void Listener::HandleConnection(int listening_fd, int fd,
                                const sockaddr_storage& address) {
  const std::optional<Peer> peer = PeerOf(address);
  if (!peer.has_value()) {
    close(fd);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    if (*peer == probe_) {
      probe_accepted_ = true;
      changed_.Notify();
      close(fd);
      return;
    }
  }
  if (HasEnded(fd)) {
    close(fd);
    return;
  }
  const auto refusal = connections_.Admit(fd, *peer, Now());
  if (refusal.has_value()) {
    Reset(fd);
    LogRefusal(*refusal, AddressText(peer->address));
  } else {
    handler_(listening_fd, fd, *peer);
  }
}

void Listener::HandleError(int listening_fd, int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
      RefuseForDescriptors(listening_fd);
      break;
    case ENOBUFS:
    case ENOMEM:
      pause_ = kPause;
      break;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP:
      LogError("cannot accept connections at ", host_port_, ": ",
               std::strerror(error), "; reopening the port");
      is_broken_ = true;
      break;
    default:
      break;  // An error of the connection, which failed before accept4().
  }
}

void Listener::RefuseForDescriptors(int listening_fd) {
  reserve_.Reset();
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  const int fd = accept4(listening_fd, reinterpret_cast<sockaddr*>(&address),
                         &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  // accept4() reports EMFILE even if no connection is pending. With a free
  // descriptor, it reports EAGAIN in that case.
  const bool nothing_waits = fd < 0 && errno == EAGAIN;
  if (fd >= 0) {
    Reset(fd);
    const auto peer = PeerOf(address);
    LogRefusal(Refusal::kNoDescriptors,
               peer.has_value() ? AddressText(peer->address) : "");
  }
  if (!nothing_waits) connections_.RefuseForDescriptors();
  reserve_ = OpenReserve();
  // Without a reserve, another thread has taken the descriptor.
  if (nothing_waits || reserve_.get() < 0) pause_ = kPause;
}

void Listener::LogRefusal(Refusal refusal, const std::string& address) {
  Logged& logged = logged_[static_cast<size_t>(refusal)];
  ++logged.since;
  const absl::Duration now = Now();
  if (now - logged.at < kLogEvery) return;
  LogWarning("refused a connection from ", address, ": ",
             ReasonOf(refusal, connections_.limits()), " (", logged.since,
             " refused for this reason since the last such message)");
  logged = {.at = now};
}

void Listener::Reopen() {
  sockets_.clear();
  auto sockets = ListenAt(host_port_);
  is_broken_ = !sockets.ok();
  if (is_broken_) {
    LogError(sockets.status().message());
    pause_ = kReopenPause;
    return;
  }
  sockets_ = std::move(*sockets);
  LogWarning("listening on ", host_port_, " again");
  absl::MutexLock lock(&mutex_);
  probed_ = Reachable(BoundAddress(sockets_.front().get()));
}

void Listener::RunProbes(Probes probes) {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_;
      };
      if (changed_.Await(&mutex_, probes.every, stops)) return;
    }
    if (Probe(probes.patience)) continue;
    LogError("a probe connection to this process's port at ", host_port_,
             " was not accepted within ", absl::FormatDuration(probes.patience),
             "; reopening the port");
    ++failed_probes_;
    must_reopen_ = true;
    WakeUp();
  }
}

bool Listener::Probe(absl::Duration patience) {
  sockaddr_storage address;
  {
    absl::MutexLock lock(&mutex_);
    address = probed_;
  }
  const OwnedFd fd = OpenProbe(address);
  // A probe needs a descriptor. The thread that accepts reports the lack.
  if (fd.get() < 0) return true;
  absl::MutexLock lock(&mutex_);
  probe_ = *PeerOf(BoundAddress(fd.get()));
  probe_accepted_ = false;
  connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
          SizeOf(address));
  // Is accepted at once, if the connection is open by now; else after the delay
  // of silent connections.
  send(fd.get(), "", 1, MSG_NOSIGNAL);
  const bool done = changed_.Await(
      &mutex_, patience, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return probe_accepted_ || stopping_;
      });
  if (!stopping_) probe_ = {};
  return done;
}

}  // namespace fleetperf
