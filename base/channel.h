// Channels to an aggregator.

#ifndef FLEETPERF_BASE_CHANNEL_H_
#define FLEETPERF_BASE_CHANNEL_H_

#include <memory>
#include <string>

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf {

// Messages larger than this are refused by both sides.
inline constexpr int kMaxMessageBytes = 16 << 20;

// What comes over a channel. For much, gRPC sends a ping with each message to
// learn how much may be under way: for a little, it costs more than that.
enum class Receives { kMuch, kLittle };

// Finds out within half a minute that the other side is gone. Does not try to
// reconnect by itself: make a new channel for each attempt.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    Receives receives = Receives::kMuch);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CHANNEL_H_
