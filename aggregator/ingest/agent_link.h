// A session's outgoing messages to its agent, independent of the transport.

#ifndef FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_
#define FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

// Thread-safe. Messages sent after the end of the stream are dropped.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void Send(v1::CollectResponse response) = 0;
  // Acknowledges all batches of the epoch up to `sequence`. May be merged with
  // other acknowledgments of the same epoch.
  virtual void SendAck(uint64_t epoch, uint64_t sequence) = 0;
  // Drops the reference to `object` on the thread that handles the stream's
  // messages. Freeing memory on the thread that allocated it avoids contention
  // in the allocator.
  virtual void Release(std::shared_ptr<const void> object) = 0;
  // Ends the stream with `status`. If OK, sends all previous messages first.
  virtual void End(const absl::Status& status) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_LINK_H_
