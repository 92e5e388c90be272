// The work of an agent's messages, in the unit of certificate_budgets.h.

#ifndef FLEETPERF_AGGREGATOR_INGEST_MESSAGE_COST_H_
#define FLEETPERF_AGGREGATOR_INGEST_MESSAGE_COST_H_

#include "aggregator/ingest/agent_limits.h"
#include "aggregator/samples/batch_contents.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

// Returns the bytes that are read of a batch, which may inflate.
double BytesOf(const v1::Batch& batch, const BatchLimits& limits);

// Returns the work of reading a message.
double WorkOf(const v1::CollectRequest& request, const IngestLimits& limits);

// Returns the work for the elements of a batch besides its bytes.
double WorkOf(const BatchCounts& counts);

// Returns the work of definitions. Those of instances are stored one by one.
double WorkOf(const v1::Definitions& definitions);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_MESSAGE_COST_H_
