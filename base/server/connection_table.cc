#include "base/server/connection_table.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace fleetperf {
namespace {

// The minimum age of the oldest connection for its eviction, unless its host
// has the most. A handshake takes milliseconds; the rest allows for time in a
// queue.
constexpr absl::Duration kMinEvictionAge = absl::Seconds(3);
// The age by which gRPC has closed connections with an unfinished handshake
// (kHandshakeTime).
constexpr absl::Duration kMaxUnauthenticatedAge = absl::Seconds(11);
// Minimum intervals between checks for closed connections. Checking 65,536
// connections takes 20 ms.
constexpr absl::Duration kSweepEvery = absl::Seconds(1);
constexpr absl::Duration kSweepUnauthenticatedEvery = absl::Milliseconds(100);

std::optional<ino_t> SocketInode(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

void Decrease(absl::flat_hash_map<IpAddress, int64_t>* counts,
              const IpAddress& network) {
  const auto it = counts->find(network);
  if (--it->second == 0) counts->erase(it);
}

int64_t Get(const absl::flat_hash_map<IpAddress, int64_t>& counts,
            const IpAddress& network) {
  const auto it = counts.find(network);
  return it == counts.end() ? 0 : it->second;
}

}  // namespace

ConnectionLimits FitLimits(ConnectionLimits limits, size_t descriptors) {
  const int64_t room =
      static_cast<int64_t>(descriptors) * limits.sixteenths_of_descriptors / 16;
  limits.max = std::max<int64_t>(std::min(limits.max, room), 1);
  if (limits.max_per_address == 0) {
    limits.max_per_address = limits.max - limits.max / 4;
  }
  limits.max_unauthenticated = std::max<int64_t>(
      std::min(limits.max_unauthenticated, limits.max / 4), 1);
  return limits;
}

std::optional<Refusal> ConnectionTable::Admit(int fd, const Peer& peer,
                                              absl::Duration now) {
  const IpAddress network = NetworkOf(peer.address);
  absl::MutexLock lock(&mutex_);
  // A descriptor belongs to one connection at a time. A peer's port may have
  // one connection to each address of this machine.
  Forget(fd);
  if (const auto it = by_peer_.find(peer);
      it != by_peer_.end() &&
      !IsOpen(it->second, connections_.at(it->second))) {
    Forget(it->second);
  }
  Settle(now);
  const auto refusal = FindRefusal(network, now);
  if (refusal.has_value()) {
    ++counts_.refused[static_cast<size_t>(*refusal)];
    return refusal;
  }
  ++counts_.accepted;
  connections_[fd] = {
      .peer = peer,
      .inode = SocketInode(fd).value_or(0),
      .since = now,
      .place = unauthenticated_.insert(unauthenticated_.end(), fd)};
  by_peer_[peer] = fd;
  ++open_of_[network];
  ++unauthenticated_of_[network];
  return std::nullopt;
}

std::optional<Refusal> ConnectionTable::FindRefusal(const IpAddress& network,
                                                    absl::Duration now) {
  const auto is_full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::ssize(connections_) >= limits_.max;
  };
  const auto is_host_full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Get(open_of_, network) >= limits_.max_per_address;
  };
  if (is_full() || is_host_full()) Sweep(now);
  if (is_full()) return Refusal::kTooMany;
  if (is_host_full()) return Refusal::kTooManyOfAddress;
  if (std::ssize(unauthenticated_) >= limits_.max_unauthenticated &&
      !MakeRoom(network, now)) {
    return Refusal::kTooManyUnauthenticated;
  }
  return std::nullopt;
}

bool ConnectionTable::MakeRoom(const IpAddress& network, absl::Duration now) {
  const auto [largest, count] = FindLargest();
  if (count >= Get(unauthenticated_of_, network) + 2) {
    EvictOldestOf(largest);
    return true;
  }
  const int oldest = unauthenticated_.front();
  const Connection& connection = connections_.at(oldest);
  if (now - connection.since >= kMinEvictionAge ||
      !IsOpen(oldest, connection)) {
    Evict(oldest);
    return true;
  }
  SweepUnauthenticated(now);
  return std::ssize(unauthenticated_) < limits_.max_unauthenticated;
}

std::pair<IpAddress, int64_t> ConnectionTable::FindLargest() const {
  std::pair<IpAddress, int64_t> largest = {{}, 0};
  for (const auto& [network, count] : unauthenticated_of_) {
    if (count > largest.second) largest = {network, count};
  }
  return largest;
}

void ConnectionTable::EvictOldestOf(const IpAddress& network) {
  const auto it = std::find_if(
      unauthenticated_.begin(), unauthenticated_.end(),
      [&](int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return NetworkOf(connections_.at(fd).peer.address) == network;
      });
  if (it != unauthenticated_.end()) Evict(*it);
}

void ConnectionTable::Evict(int fd) {
  Connection& connection = connections_.at(fd);
  if (!Shutdown(fd, connection)) {
    Forget(fd);
    return;
  }
  // Counts as open until gRPC has closed it, too.
  ++counts_.evicted;
  LeaveUnauthenticated(&connection);
}

void ConnectionTable::RefuseForDescriptors() {
  absl::MutexLock lock(&mutex_);
  ++counts_.refused[static_cast<size_t>(Refusal::kNoDescriptors)];
  if (!unauthenticated_.empty()) EvictOldestOf(FindLargest().first);
}

void ConnectionTable::MarkAuthenticated(const Peer& peer) {
  absl::MutexLock lock(&mutex_);
  const auto it = by_peer_.find(peer);
  if (it != by_peer_.end()) LeaveUnauthenticated(&connections_.at(it->second));
}

bool ConnectionTable::Close(const Peer& peer) {
  absl::MutexLock lock(&mutex_);
  const auto it = by_peer_.find(peer);
  return it != by_peer_.end() &&
         Shutdown(it->second, connections_.at(it->second));
}

ConnectionCounts ConnectionTable::Count(absl::Duration now) {
  absl::MutexLock lock(&mutex_);
  Settle(now);
  Sweep(now);
  ConnectionCounts counts = counts_;
  counts.open = std::ssize(connections_);
  counts.unauthenticated = std::ssize(unauthenticated_);
  return counts;
}

bool ConnectionTable::IsOpen(int fd, const Connection& connection) {
  return SocketInode(fd) == connection.inode;
}

bool ConnectionTable::Shutdown(int fd, const Connection& connection) {
  // A duplicate keeps referring to the same socket if gRPC closes `fd` between
  // the check and the shutdown. Without a descriptor for a duplicate, the worst
  // case is the shutdown of a connection accepted at this moment.
  const int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  const int same = duplicate < 0 ? fd : duplicate;
  const bool is_open = IsOpen(same, connection);
  if (is_open) shutdown(same, SHUT_RDWR);
  if (duplicate >= 0) close(duplicate);
  return is_open;
}

void ConnectionTable::Forget(int fd) {
  const auto it = connections_.find(fd);
  if (it == connections_.end()) return;
  LeaveUnauthenticated(&it->second);
  Decrease(&open_of_, NetworkOf(it->second.peer.address));
  const auto of_peer = by_peer_.find(it->second.peer);
  if (of_peer != by_peer_.end() && of_peer->second == fd) {
    by_peer_.erase(of_peer);
  }
  connections_.erase(it);
}

void ConnectionTable::LeaveUnauthenticated(Connection* connection) {
  if (!connection->place.has_value()) return;
  unauthenticated_.erase(*connection->place);
  connection->place.reset();
  Decrease(&unauthenticated_of_, NetworkOf(connection->peer.address));
}

void ConnectionTable::Settle(absl::Duration now) {
  while (!unauthenticated_.empty()) {
    const int fd = unauthenticated_.front();
    Connection& connection = connections_.at(fd);
    if (now - connection.since < kMaxUnauthenticatedAge) return;
    if (IsOpen(fd, connection)) {
      LeaveUnauthenticated(&connection);
    } else {
      Forget(fd);
    }
  }
}

void ConnectionTable::Sweep(absl::Duration now) {
  if (now - swept_ < kSweepEvery) return;
  swept_ = now;
  std::vector<int> closed;
  for (const auto& [fd, connection] : connections_) {
    if (!IsOpen(fd, connection)) closed.push_back(fd);
  }
  for (const int fd : closed) Forget(fd);
}

void ConnectionTable::SweepUnauthenticated(absl::Duration now) {
  if (now - swept_unauthenticated_ < kSweepUnauthenticatedEvery) return;
  swept_unauthenticated_ = now;
  const std::vector<int> all(unauthenticated_.begin(), unauthenticated_.end());
  for (const int fd : all) {
    if (!IsOpen(fd, connections_.at(fd))) Forget(fd);
  }
}

}  // namespace fleetperf
