// The agent's stream to an aggregator: connects, sends the contents of the
// spool, settles acknowledged batches, and reconnects after the stream ends.

#ifndef FLEETPERF_AGENT_DELIVER_UPLINK_H_
#define FLEETPERF_AGENT_DELIVER_UPLINK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/deliver/conversation.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf::agent {

// Counts since the start. Thread-safe.
struct UplinkCounts {
  std::atomic<uint64_t> connected = 0;  // 1 while an aggregator accepts batches
  std::atomic<uint64_t> connections = 0;
  std::atomic<uint64_t> failed_attempts = 0;  // to get a batch accepted
  std::atomic<uint64_t> pauses = 0;           // requested by an aggregator
};

// Runs two threads of its own from construction to destruction, which may
// happen on different threads. Thread-compatible.
class Uplink {
 public:
  struct Options {
    // "host:port", tried in this order. After a stream that got through, the
    // order starts over. An aggregator that has another agent of this name is
    // tried again.
    std::vector<std::string> aggregators;
    // Returns the credentials of a connection that begins. Called on the
    // uplink's thread.
    std::function<std::shared_ptr<grpc::ChannelCredentials>()> credentials;
    // Looks for a renewed certificate. Called on the uplink's thread before
    // each connection and every ten seconds.
    std::function<void()> renew_certificate = [] {};
    AgentDescription agent;
    UplinkCounts* counts = nullptr;  // must outlive the uplink; may be nullptr
    // Called on the uplink's thread after several attempts in a row failed
    // because of a certificate or a missing right. The uplink tries again.
    std::function<void(const absl::Status& reason)> on_refused = nullptr;
    // Called on a thread of its own once the uplink has made no progress
    // for kStuckTime although the aggregator has not asked for a pause: gRPC
    // neither connects nor fails, or the uplink's thread hangs. Only a new
    // process helps.
    std::function<void()> on_stuck = nullptr;
  };

  static constexpr absl::Duration kStuckTime = absl::Minutes(3);

  // Starts the uplink's threads, and connects. Throws std::system_error if the
  // system starts no thread.
  explicit Uplink(Options options);
  // Disconnects, and ends the threads.
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Ends the stream, after waiting briefly for the spool to be sent. Until
  // Connect, the uplink's thread waits, and calls no function of the options.
  void Disconnect();
  // Connects again after Disconnect, with other settings. Needs no new thread,
  // which the system could refuse.
  void Connect(std::vector<std::string> aggregators,
               std::map<std::string, std::string> labels);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_UPLINK_H_
