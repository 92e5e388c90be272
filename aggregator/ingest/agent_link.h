// What a session says to its agent, whatever carries it.

#ifndef FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_
#define FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

// Thread-safe; messages after the end of the stream are dropped.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void Send(v1::CollectResponse response) = 0;
  // May be merged with other acknowledgements of the same epoch.
  virtual void SendAck(uint64_t epoch, uint64_t sequence) = 0;
  // Lets go of it on the thread that handles the stream's messages. Memory that
  // one thread takes and another returns has them wait for each other.
  virtual void Release(std::shared_ptr<const void> object) = 0;
  // If OK, after all that was said before.
  virtual void End(const absl::Status& status) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_
