// The other end of a TCP connection.

#ifndef FLEETPERF_BASE_SERVER_PEER_H_
#define FLEETPERF_BASE_SERVER_PEER_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace fleetperf {

// An IPv6 address, or a mapped IPv4 address (::ffff:192.0.2.1).
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

// std::nullopt if the family is neither IPv4 nor IPv6.
std::optional<Peer> PeerOf(const sockaddr_storage& socket_address);

// Parses gRPC's text for a peer: "ipv4:192.0.2.1:1234" or
// "ipv6:%5B2001:db8::1%5D:1". std::nullopt for any other text.
std::optional<Peer> ParsePeer(absl::string_view text);

// Returns the address range attributed to one host: an IPv4 address itself, or
// the first 64 bits of an IPv6 address.
IpAddress NetworkOf(const IpAddress& address);

// Formats an address as "192.0.2.1" or "2001:db8::1".
std::string AddressText(const IpAddress& address);
// Formats a peer as "192.0.2.1:1234" or "[2001:db8::1]:1234".
std::string PeerText(const Peer& peer);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_PEER_H_
