// Which connections are open, and whether another may be.
//
// The descriptors belong to gRPC, which tells nobody when it closes one. A
// socket has an inode number of its own, so whether a descriptor still is the
// same connection can be asked at any time; it is when a limit is reached.
//
// A connection counts as authenticated from its first call, which gRPC lets
// through only after a handshake with a valid certificate, or when it is older
// than a handshake may take.

#ifndef FLEETPERF_AGGREGATOR_RPC_CONNECTION_TABLE_H_
#define FLEETPERF_AGGREGATOR_RPC_CONNECTION_TABLE_H_

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
#include "aggregator/rpc/peer.h"

namespace fleetperf::aggregator {

// gRPC closes a connection whose handshake takes longer.
inline constexpr absl::Duration kHandshakeTime = absl::Seconds(10);

struct ConnectionLimits {
  int64_t max = 65'536;
  // Of one host (NetworkOf); 0: three quarters of `max`.
  int64_t max_per_address = 0;
  int64_t max_unauthenticated = 4'096;
};

// What is left of them if the process may have `descriptors` open: a quarter of
// those is for the store's files and the like, and of the connections a quarter
// at most may be unauthenticated.
ConnectionLimits FitLimits(ConnectionLimits limits, size_t descriptors);

enum class Refusal {
  kTooMany,
  kTooManyOfAddress,
  kTooManyUnauthenticated,
  kNoDescriptors,
};
inline constexpr size_t kRefusals = 4;

// Since the start; the first two: now.
struct ConnectionCounts {
  int64_t open = 0;
  int64_t unauthenticated = 0;
  int64_t accepted = 0;
  int64_t refused[kRefusals] = {};  // by Refusal
  int64_t evicted = 0;              // closed to make room for others
};

// Thread-safe. `now` is a monotonic time since whatever point.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  const ConnectionLimits& limits() const { return limits_; }

  // Takes up a connection that was just accepted, or says why it must be
  // closed. Where too many are unauthenticated, the host that has most of them
  // loses its oldest, or the oldest of all goes that had three seconds.
  std::optional<Refusal> Admit(int fd, const Peer& peer, absl::Duration now);

  // A connection was closed because there was no descriptor for it. Another
  // that is unauthenticated is closed to make room for the next.
  void RefuseForDescriptors();

  // A call has come over it.
  void MarkAuthenticated(const Peer& peer);

  // Ends a connection from outside gRPC, which then sees it as closed by its
  // peer. Whether there was one.
  bool Close(const Peer& peer);

  ConnectionCounts Count(absl::Duration now);

 private:
  struct Connection {
    Peer peer;
    ino_t inode;
    absl::Duration since;
    // In unauthenticated_, if it is that and was not evicted.
    std::optional<std::list<int>::iterator> place;
  };

  // Whether it still is what the descriptor stands for.
  static bool IsOpen(int fd, const Connection& connection);
  // Whether it was open.
  static bool Shutdown(int fd, const Connection& connection);

  std::optional<Refusal> FindRefusal(const IpAddress& network,
                                     absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MakeRoom(const IpAddress& network, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The host with most unauthenticated connections, and how many these are.
  std::pair<IpAddress, int64_t> FindLargest() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictOldestOf(const IpAddress& network)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveUnauthenticated(Connection* connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those older than a handshake may take are authenticated, or closed.
  void Settle(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forget those that were closed, unless that was done just before.
  void Sweep(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SweepUnauthenticated(absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionLimits limits_;
  absl::Mutex mutex_;
  // By descriptor.
  absl::flat_hash_map<int, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Peer, int> by_peer_ ABSL_GUARDED_BY(mutex_);
  // By NetworkOf; without those that have none.
  absl::flat_hash_map<IpAddress, int64_t> open_of_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<IpAddress, int64_t> unauthenticated_of_
      ABSL_GUARDED_BY(mutex_);
  std::list<int> unauthenticated_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  absl::Duration swept_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  absl::Duration swept_unauthenticated_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  ConnectionCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_CONNECTION_TABLE_H_
