// An agent's stream to an aggregator, which sends batches as fast as they are
// acknowledged.

#ifndef FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_
#define FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fleetperf/v1/collection.pb.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf::bench {

// On a connection of its own. Thread-compatible.
class AgentStream {
 public:
  // Of an agent whose machine has its name and whose epoch is `epoch`.
  AgentStream(const std::string& address,
              const std::shared_ptr<grpc::ChannelCredentials>& credentials,
              const std::string& agent, uint64_t epoch);
  // Ends the stream.
  ~AgentStream();

  // Sends these batches, in the order of their sequences, when those before are
  // sent. Returns at once.
  void Send(std::vector<v1::CollectRequest> batches);

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
