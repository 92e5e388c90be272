#include "base/server/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf {
namespace {

using ::testing::Eq;

std::string AddressOf(absl::string_view peer) {
  const auto parsed = ParsePeer(peer);
  return parsed.has_value() ? AddressText(parsed->address) : "none";
}

TEST(Peer, ParsesGrpcPeerText) {
  EXPECT_EQ(AddressOf("ipv4:192.0.2.7:50000"), "192.0.2.7");
  EXPECT_EQ(ParsePeer("ipv4:192.0.2.7:50000")->port, 50000);
  EXPECT_EQ(AddressOf("ipv6:%5B2001:db8::7%5D:443"), "2001:db8::7");
  EXPECT_EQ(AddressOf("ipv6:[2001:db8::7]:443"), "2001:db8::7");
  EXPECT_EQ(ParsePeer("ipv6:%5B2001:db8::7%5D:443")->port, 443);
  EXPECT_EQ(AddressOf("ipv6:%5Bfe80::1%25eth0%5D:443"), "fe80::1");
  for (const absl::string_view other :
       {"", "unix:/run/socket", "ipv4:192.0.2.7", "ipv4:x:1", "ipv4:1.2.3.4:x",
        "ipv4:1.2.3.4:65536"}) {
    EXPECT_THAT(ParsePeer(other), Eq(std::nullopt)) << other;
  }
}

TEST(Peer, Ipv4AddressEqualsItsMappedForm) {
  EXPECT_EQ(ParsePeer("ipv4:192.0.2.7:1"),
            ParsePeer("ipv6:[::ffff:192.0.2.7]:1"));
}

TEST(Peer, NetworkIsAnIpv4AddressOrAnIpv6Prefix) {
  const auto network = [](absl::string_view peer) {
    return NetworkOf(ParsePeer(peer)->address);
  };
  EXPECT_EQ(network("ipv6:[2001:db8:0:1::7]:1"),
            network("ipv6:[2001:db8:0:1:ffff::8]:1"));
  EXPECT_NE(network("ipv6:[2001:db8:0:1::7]:1"),
            network("ipv6:[2001:db8:0:2::7]:1"));
  EXPECT_NE(network("ipv4:192.0.2.7:1"), network("ipv4:192.0.2.8:1"));
}

}  // namespace
}  // namespace fleetperf
