#include "aggregator/web/web_server.h"

#include <sys/epoll.h>

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr int kMaxEvents = 256;
// The steps of TLS handshakes, of up to a millisecond each, before other
// connections get their turn.
constexpr int kMaxHandshakesAtOnce = 4;
// The interval of looks for clients that take too long.
constexpr absl::Duration kConnectionCheckInterval = absl::Seconds(1);
// Stands for the waker among the numbers of connections.
constexpr uint64_t kWakerNumber = 0;

}  // namespace

// Connections on the way from the thread that accepts to the one that serves.
struct WebServer::Accepted {
  struct One {
    OwnedFd fd;
    Peer peer;
  };
  absl::Mutex mutex;
  std::vector<One> waiting ABSL_GUARDED_BY(mutex);
};

WebServer::WebServer(std::unique_ptr<TlsServer> tls,
                     std::shared_ptr<ClientCertificates> clients,
                     CallerQuota* quota, Router* router)
    : tls_(std::move(tls)),
      clients_(std::move(clients)),
      quota_(*quota),
      router_(*router),
      waker_(std::make_shared<Waker>()),
      accepted_(std::make_unique<Accepted>()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(
    const Options& options, std::unique_ptr<TlsServer> tls,
    std::shared_ptr<ClientCertificates> clients, CallerQuota* quota,
    Router* router) {
  std::unique_ptr<WebServer> server(
      new WebServer(std::move(tls), std::move(clients), quota, router));
  ASSIGN_OR_RETURN(server->listener_,
                   Listener::Open(options.listen, options.limits));
  server->clients_->SetLimit(ClientCertificates::Port::kPage,
                             server->listener_->connections().limits().max);
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = kWakerNumber}};
  if (epoll_ctl(server->epoll_.get(), EPOLL_CTL_ADD, server->waker_->fd(),
                &event) != 0) {
    return absl::InternalError("cannot watch connections with epoll");
  }
  server->address_ =
      absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":",
                   server->listener_->port());
  server->thread_ = std::thread([self = server.get()] { self->Run(); });
  server->listener_->Start(
      [self = server.get()](int, int fd, const Peer& peer) {
        {
          absl::MutexLock lock(&self->accepted_->mutex);
          self->accepted_->waiting.push_back({OwnedFd(fd), peer});
        }
        self->waker_->Wake(kWakerNumber);
      },
      Listener::Probes());
  if (!options.address_file.empty()) {
    RETURN_IF_ERROR(WriteFile(options.address_file, server->address_ + "\n"));
  }
  LogInfo("serving the page at https://", server->address_);
  return server;
}

WebServer::~WebServer() {
  if (listener_ != nullptr) listener_->Stop();
  is_stopping_ = true;
  waker_->Wake(kWakerNumber);
  if (thread_.joinable()) thread_.join();
}

void WebServer::Run() {
  absl::Duration look = Clock::Real().Monotonic() + kConnectionCheckInterval;
  epoll_event events[kMaxEvents];
  while (!is_stopping_) {
    const int count = epoll_wait(
        epoll_.get(), events, kMaxEvents,
        static_cast<int>(absl::ToInt64Milliseconds(kConnectionCheckInterval)));
    int handshakes = 0;
    for (int i = 0; i < count; ++i) {
      const uint64_t number = events[i].data.u64;
      if (number == kWakerNumber) continue;
      // epoll reports the others again, after those that it reports now.
      if (IsInHandshake(number) && ++handshakes > kMaxHandshakesAtOnce) {
        continue;
      }
      if ((events[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
        HangUp(number);
      } else {
        Advance(number);
      }
    }
    for (const uint64_t number : waker_->Take()) Advance(number);
    Adopt();
    if (Clock::Real().Monotonic() < look) continue;
    look = Clock::Real().Monotonic() + kConnectionCheckInterval;
    EndLate();
  }
  connections_.clear();
}

void WebServer::Adopt() {
  std::vector<Accepted::One> accepted;
  {
    absl::MutexLock lock(&accepted_->mutex);
    accepted.swap(accepted_->waiting);
  }
  for (Accepted::One& one : accepted) {
    const int fd = one.fd.get();
    SSL* const ssl = tls_->Accept(fd);
    if (ssl == nullptr) continue;
    const uint64_t number = ++last_number_;
    epoll_event event = {.events = EPOLLIN | EPOLLRDHUP,
                         .data = {.u64 = number}};
    auto connection = std::make_unique<Connection>(
        std::move(one.fd), one.peer, ssl, &router_, clients_.get(), &quota_,
        [waker = waker_, number] { waker->Wake(number); },
        Clock::Real().Monotonic());
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) continue;
    connections_[number] = {.connection = std::move(connection),
                            .interest = {.read = true}};
  }
}

bool WebServer::IsInHandshake(uint64_t number) const {
  const auto found = connections_.find(number);
  return found != connections_.end() &&
         !found->second.connection->has_handshake();
}

void WebServer::Advance(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (!found->second.connection->Advance(Clock::Real().Monotonic())) {
    connections_.erase(found);
    return;
  }
  SetInterest(number, *found->second.connection);
}

void WebServer::HangUp(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (!found->second.connection->OnHangUp(Clock::Real().Monotonic())) {
    connections_.erase(found);
    return;
  }
  SetInterest(number, *found->second.connection);
}

void WebServer::SetInterest(uint64_t number, const Connection& connection) {
  Entry& entry = connections_[number];
  if (connection.is_identified() && !std::exchange(entry.is_identified, true)) {
    listener_->connections().MarkAuthenticated(connection.peer());
  }
  const Connection::Interest interest = connection.interest();
  if (interest == entry.interest) return;
  entry.interest = interest;
  epoll_event event = {.events = EPOLLRDHUP, .data = {.u64 = number}};
  if (interest.read) event.events |= EPOLLIN;
  if (interest.write) event.events |= EPOLLOUT;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event);
}

void WebServer::EndLate() {
  const absl::Duration now = Clock::Real().Monotonic();
  absl::erase_if(connections_, [&](const auto& entry) {
    return !entry.second.connection->MayGoOn(now);
  });
}

}  // namespace fleetperf::aggregator::web
