// The other aggregators of the fleet.

#ifndef FLEETPERF_AGGREGATOR_PEERS_PEERS_H_
#define FLEETPERF_AGGREGATOR_PEERS_PEERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/peers/places.h"
#include "aggregator/peers/recent_failure.h"
#include "base/tls_identity.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace fleetperf::aggregator {

// One of them. Thread-safe.
class PeerChannel {
 public:
  PeerChannel(std::string address, std::shared_ptr<const TlsIdentity> identity)
      : address_(std::move(address)), identity_(std::move(identity)) {}

  const std::string& address() const { return address_; }

  // Returns a channel with the certificate in use, for short calls. It is
  // shared until it fails.
  std::shared_ptr<grpc::Channel> Get() ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels a call that has not ended before Stop.
  void CancelAtStop(const std::shared_ptr<grpc::ClientContext>& call)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // The limits of calls that take long, or that slots for queries and lists do
  // not limit. A peer refuses more than 64 calls of a certificate; the rest is
  // for the slots' calls and for streams.
  Places& places_of_reads() { return places_of_reads_; }
  Places& places_of_enumerations() { return places_of_enumerations_; }

  // Whether it answers calls.
  RecentFailure& recent_failure() { return recent_failure_; }

  // A channel of its certificate's version.
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    uint64_t version = 0;
  };
  // The same for a call without end, which must keep the result. Some calls
  // share one channel: the peer limits the calls of a connection, and short
  // ones must not wait for these.
  std::shared_ptr<const Connection> ForStream() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Whether calls can begin on it.
  bool IsUsable(const Connection& connection) const;
  Connection Connect() const;

  const std::string address_;
  const std::shared_ptr<const TlsIdentity> identity_;
  Places places_of_reads_{24};
  Places places_of_enumerations_{8};
  RecentFailure recent_failure_;
  absl::Mutex mutex_;
  Connection connection_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<const Connection>> of_streams_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<grpc::ClientContext>> calls_
      ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe.
class Peers {
 public:
  using List = std::vector<std::shared_ptr<PeerChannel>>;

  // `identity` is the aggregator's own.
  Peers(const std::vector<std::string>& addresses,
        std::shared_ptr<const TlsIdentity> identity);

  // Replaces the addresses. Calls in progress are not affected.
  void Set(const std::vector<std::string>& addresses)
      ABSL_LOCKS_EXCLUDED(mutex_);

  List list() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns PermissionDenied if there are none: an aggregator on its own
  // answers no other, so that the key of its certificate gives no more than it
  // needs.
  absl::Status CheckAny() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all short calls and reads, now and later, with errors.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::shared_ptr<const TlsIdentity> identity_;
  mutable absl::Mutex mutex_;
  List list_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_PEERS_H_
