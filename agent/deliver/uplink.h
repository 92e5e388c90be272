// The agent's stream to an aggregator: connects, sends what the spool holds,
// settles what is acknowledged, and connects again when the stream ends.

#ifndef FLEETPERF_AGENT_DELIVER_UPLINK_H_
#define FLEETPERF_AGENT_DELIVER_UPLINK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/deliver/conversation.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf::agent {

// What an uplink has done since the start.
struct UplinkCounts {
  std::atomic<uint64_t> connected = 0;  // 1 while an aggregator listens
  std::atomic<uint64_t> connections = 0;
  std::atomic<uint64_t> pauses = 0;  // that an aggregator asked for
};

class Uplink {
 public:
  struct Options {
    // "host:port", tried in order, from the first again after each stream that
    // got through.
    std::vector<std::string> aggregators;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    AgentDescription agent;
    UplinkCounts* counts = nullptr;  // outlives it; null: nobody asks
  };

  // Starts the uplink's thread.
  explicit Uplink(Options options);
  // Ends the stream, after giving what is in the spool a moment to arrive.
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_UPLINK_H_
