// The other end of a TCP connection.

#ifndef FLEETPERF_AGGREGATOR_RPC_PEER_H_
#define FLEETPERF_AGGREGATOR_RPC_PEER_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// An IPv6 address; one of IPv4 is mapped into it (::ffff:192.0.2.1).
using IpAddress = std::array<uint8_t, 16>;

struct Peer {
  IpAddress address = {};
  uint16_t port = 0;

  friend bool operator==(const Peer&, const Peer&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Peer& peer) {
    return H::combine(std::move(state), peer.address, peer.port);
  }
};

// Nothing for a socket of another family than IPv4 or IPv6.
std::optional<Peer> PeerOf(const sockaddr_storage& socket_address);

// From gRPC's text for it: "ipv4:192.0.2.1:1234", "ipv6:%5B2001:db8::1%5D:1".
std::optional<Peer> ParsePeer(absl::string_view text);

// What one host has at least: an IPv4 address, or the first 64 bits of IPv6.
IpAddress NetworkOf(const IpAddress& address);

// "192.0.2.1" or "2001:db8::1".
std::string AddressText(const IpAddress& address);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_PEER_H_
