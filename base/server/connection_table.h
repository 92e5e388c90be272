// Tracks open connections and limits their number.
//
// gRPC owns the descriptors and does not report when it closes one. Each socket
// has a unique inode number, so the table can check at any time whether a
// descriptor still refers to the same connection. It checks all of them when a
// limit is reached.
//
// Invariants:
// - An entry may refer to a closed connection until the next check, but is
//   never mistaken for a later connection with the same descriptor.
// - A connection becomes authenticated with its first call, which gRPC admits
//   only after a handshake with a valid certificate, or once it is older than a
//   handshake may take.
// - An evicted connection no longer counts as unauthenticated, but counts as
//   open until gRPC has closed it, too.

#ifndef FLEETPERF_BASE_SERVER_CONNECTION_TABLE_H_
#define FLEETPERF_BASE_SERVER_CONNECTION_TABLE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/server/peer.h"

namespace fleetperf {

// The handshake timeout. gRPC closes connections that exceed it.
inline constexpr absl::Duration kHandshakeTime = absl::Seconds(10);

struct ConnectionLimits {
  int64_t max = 65'536;
  // Per host (NetworkOf). 0: three quarters of `max`.
  int64_t max_per_address = 0;
  int64_t max_unauthenticated = 4'096;
  // The part of the process's descriptors that connections may take.
  int64_t sixteenths_of_descriptors = 12;
};

// Returns `limits`, reduced to fit a process that may have `descriptors` file
// descriptors open. By default, a quarter of the descriptors remains for the
// store's files and the like. At most a quarter of the connections may be
// unauthenticated.
ConnectionLimits FitLimits(ConnectionLimits limits, size_t descriptors);

enum class Refusal {
  kTooMany,
  kTooManyOfAddress,
  kTooManyUnauthenticated,
  kNoDescriptors,
};
inline constexpr size_t kRefusals = 4;

// Present values of `open` and `unauthenticated`; other fields are totals since
// the start.
struct ConnectionCounts {
  int64_t open = 0;
  int64_t unauthenticated = 0;
  int64_t accepted = 0;
  int64_t refused[kRefusals] = {};  // by Refusal
  int64_t evicted = 0;              // closed to make room for others
};

// Thread-safe. `now` is monotonic time since an arbitrary fixed point.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  const ConnectionLimits& limits() const { return limits_; }

  // Adds a connection that was just accepted, or returns why the caller must
  // close it. If too many connections are unauthenticated, evicts one of them:
  // the oldest of the host with the most, if that host has at least two more
  // than `peer`'s host; otherwise the oldest of all, if it is closed or at
  // least three seconds old.
  std::optional<Refusal> Admit(int fd, const Peer& peer, absl::Duration now);

  // Counts a connection that was refused for lack of a descriptor. Evicts an
  // unauthenticated connection to free a descriptor for the next one.
  void RefuseForDescriptors();

  // Marks the connection from `peer` as authenticated, because a call arrived
  // on it. A no-op if the table has no such connection.
  void MarkAuthenticated(const Peer& peer);

  // Shuts a connection down without gRPC's involvement. gRPC then sees it as
  // closed by its peer. Returns false if there is no such connection.
  bool Close(const Peer& peer);

  // Returns exact counts, except that connections closed within the last second
  // may still count as open.
  ConnectionCounts Count(absl::Duration now);

 private:
  struct Connection {
    Peer peer;
    ino_t inode;
    absl::Duration since;
    // Position in unauthenticated_. Set while the connection is unauthenticated
    // and not evicted.
    std::optional<std::list<int>::iterator> place;
  };

  // Returns whether the descriptor still refers to the connection.
  static bool IsOpen(int fd, const Connection& connection);
  // Shuts the connection down. Returns false if it was closed already.
  static bool Shutdown(int fd, const Connection& connection);

  // Returns why a connection from `network` must be refused, if it must.
  std::optional<Refusal> FindRefusal(const IpAddress& network,
                                     absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Evicts an unauthenticated connection. Returns false if none may be evicted.
  bool MakeRoom(const IpAddress& network, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the host with the most unauthenticated connections, and their
  // number.
  std::pair<IpAddress, int64_t> FindLargest() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictOldestOf(const IpAddress& network)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveUnauthenticated(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Handles connections older than a handshake may take: marks them as
  // authenticated, or removes them if they are closed.
  void Settle(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Remove closed connections. Rate-limited, because they check all entries.
  void Sweep(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SweepUnauthenticated(absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionLimits limits_;
  absl::Mutex mutex_;
  // By descriptor.
  absl::flat_hash_map<int, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Peer, int> by_peer_ ABSL_GUARDED_BY(mutex_);
  // The number of connections by NetworkOf. Has no entries of 0.
  absl::flat_hash_map<IpAddress, int64_t> open_of_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<IpAddress, int64_t> unauthenticated_of_
      ABSL_GUARDED_BY(mutex_);
  std::list<int> unauthenticated_ ABSL_GUARDED_BY(mutex_);  // oldest first
  absl::Duration swept_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  absl::Duration swept_unauthenticated_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  ConnectionCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CONNECTION_TABLE_H_
