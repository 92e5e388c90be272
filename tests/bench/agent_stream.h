// An agent's stream to an aggregator.

#ifndef FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_
#define FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "fleetperf/v1/collection.pb.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf::bench {

// On a connection of its own. Thread-compatible.
class AgentStream {
 public:
  // Called with the sequence of the last batch that is acknowledged, on any
  // thread, one at a time.
  using OnAcknowledged = std::function<void(uint64_t sequence)>;

  // Of an agent whose machine has its name and whose epoch is `epoch`.
  AgentStream(const std::string& address,
              const std::shared_ptr<grpc::ChannelCredentials>& credentials,
              const std::string& agent, uint64_t epoch,
              OnAcknowledged on_acknowledged);
  // Ends the stream.
  ~AgentStream();

  // Waits until the aggregator has answered. The errors are those of
  // AwaitAcknowledged.
  absl::Status AwaitWelcome();

  // Sends a batch when those before are sent and the aggregator may have one
  // more that it has not acknowledged. Returns at once.
  void Send(v1::CollectRequest batch);

  // Waits until all of them are acknowledged. An error if the aggregator
  // rejected one, made the agent pause, or ended the stream.
  absl::Status AwaitAcknowledged();

 private:
  class Reactor;
  struct Connection;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_
