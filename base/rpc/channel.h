// Creates channels to an aggregator.

#ifndef FLEETPERF_BASE_RPC_CHANNEL_H_
#define FLEETPERF_BASE_RPC_CHANNEL_H_

#include <memory>
#include <string>

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf {

// Both sides reject messages larger than this.
inline constexpr int kMaxMessageBytes = 16 << 20;
// The same for what is received over a channel of a low volume: the largest is
// a plan (kMaxPlanBytes), and a message takes a hundred times its size while it
// is decoded if all its parts are empty.
inline constexpr int kMaxLowVolumeMessageBytes = 1 << 20;

// The volume received over a channel. For a high volume, gRPC sends a ping with
// each message to measure the bandwidth-delay product. For a low volume, the
// pings cost more than they gain.
enum class ReceiveVolume { kHigh, kLow };

// Creates a channel that detects a lost peer within half a minute. The channel
// does not reconnect: create a new one for each attempt. It does not decompress
// messages, which nobody compresses: their size would have no limit.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    ReceiveVolume volume = ReceiveVolume::kHigh);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_RPC_CHANNEL_H_
