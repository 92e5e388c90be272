#include "base/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace fleetperf {

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    ReceiveVolume volume) {
  constexpr int kKeepaliveTimeMs = 20'000;
  constexpr int kKeepaliveTimeoutMs = 10'000;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  // A new channel connects at once, regardless of earlier channels' backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (volume == ReceiveVolume::kLow) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  }
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  arguments.SetMaxReceiveMessageSize(volume == ReceiveVolume::kLow
                                         ? kMaxLowVolumeMessageBytes
                                         : kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace fleetperf
