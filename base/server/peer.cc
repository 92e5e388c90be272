#include "base/server/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace fleetperf {
namespace {

constexpr size_t kMappedAt = 12;  // offset of the four bytes of IPv4

IpAddress Mapped(const in_addr& address) {
  IpAddress mapped = {};
  mapped[10] = mapped[11] = 0xff;
  std::memcpy(&mapped[kMappedAt], &address, sizeof address);
  return mapped;
}

bool IsMapped(const IpAddress& address) {
  return std::equal(address.begin(), address.begin() + kMappedAt,
                    Mapped({}).begin());
}

std::optional<IpAddress> ParseAddress(const std::string& text) {
  in_addr v4;
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return Mapped(v4);
  IpAddress v6;
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return v6;
  return std::nullopt;
}

}  // namespace

std::optional<Peer> PeerOf(const sockaddr_storage& socket_address) {
  if (socket_address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket_address);
    return Peer{Mapped(v4.sin_addr), ntohs(v4.sin_port)};
  }
  if (socket_address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket_address);
    Peer peer = {.port = ntohs(v6.sin6_port)};
    std::memcpy(peer.address.data(), &v6.sin6_addr, peer.address.size());
    return peer;
  }
  return std::nullopt;
}

std::optional<Peer> ParsePeer(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "ipv4:") &&
      !absl::ConsumePrefix(&text, "ipv6:")) {
    return std::nullopt;
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  std::string address = absl::StrReplaceAll(
      text.substr(0, colon),
      {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}, {"%25", "%"}});
  address = address.substr(0, address.find('%'));  // removes the interface
  const auto parsed = ParseAddress(address);
  uint32_t port = 0;
  if (!parsed.has_value() || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port > UINT16_MAX) {
    return std::nullopt;
  }
  return Peer{*parsed, static_cast<uint16_t>(port)};
}

IpAddress NetworkOf(const IpAddress& address) {
  IpAddress network = address;
  if (!IsMapped(address)) std::fill(network.begin() + 8, network.end(), 0);
  return network;
}

std::string AddressText(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IsMapped(address)) {
    inet_ntop(AF_INET, &address[kMappedAt], text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.data(), text, sizeof text);
  }
  return text;
}

std::string PeerText(const Peer& peer) {
  const std::string address = AddressText(peer.address);
  return IsMapped(peer.address) ? absl::StrCat(address, ":", peer.port)
                                : absl::StrCat("[", address, "]:", peer.port);
}

}  // namespace fleetperf
