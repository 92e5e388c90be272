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

// A stream on its own connection. When the aggregator asks to reconnect, starts
// another call on the same channel and sends unacknowledged batches again.
// Thread-compatible.
class AgentStream {
 public:
  // Called with the sequence of the last acknowledged batch. Calls come from
  // any thread, one at a time.
  using OnAcknowledged = std::function<void(uint64_t sequence)>;

  // Opens a stream for `agent`, whose machine has the same name.
  AgentStream(const std::string& address,
              const std::shared_ptr<grpc::ChannelCredentials>& credentials,
              const std::string& agent, uint64_t epoch,
              OnAcknowledged on_acknowledged);
  // Ends the stream.
  ~AgentStream();

  // Waits for Welcome. Returns the errors of Check.
  absl::Status AwaitWelcome();

  // Returns an error if the aggregator has rejected a batch, throttled the
  // agent, or ended the stream with an error.
  absl::Status Check() const;

  // The number of times that the aggregator has asked to reconnect.
  uint64_t reconnects() const;

  // Queues a batch, to be sent after the earlier ones and within the limit of
  // unacknowledged batches. Never blocks.
  void Send(v1::CollectRequest batch);

  // Waits until all batches are acknowledged. Returns the errors of Check.
  absl::Status AwaitAcknowledged();

 private:
  class Connection;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_AGENT_STREAM_H_
