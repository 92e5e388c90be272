// The agent's stream to an aggregator: connects, sends what the spool holds,
// settles what is acknowledged, and connects again when the stream ends.

#ifndef FLEETPERF_AGENT_DELIVER_UPLINK_H_
#define FLEETPERF_AGENT_DELIVER_UPLINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/deliver/delivery.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace fleetperf::v1 {
class Plan;
class PlanReport;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

struct HashedCatalogue;

class Uplink {
 public:
  struct Options {
    // "host:port", tried in order.
    std::vector<std::string> aggregators;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    std::string agent;
    std::string operating_system;
    std::map<std::string, std::string> labels;
    Delivery* delivery = nullptr;
    // What the agent could serve now; asked for at each connection.
    std::function<HashedCatalogue()> catalogue;
    // Answers EnumerateInstances of a machine (empty: the agent's own). Called
    // on the uplink's thread.
    std::function<absl::StatusOr<std::vector<perflib::InstanceName>>(
        const std::string& machine, const perflib::Guid& counterset)>
        enumerate_instances;
    // Applies a plan and says what became of it; called with no value when the
    // aggregator has none, so that the agent's own is in force. Called on the
    // uplink's thread.
    std::function<v1::PlanReport(const v1::Plan* plan)> apply_plan;
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
