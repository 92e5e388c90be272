// The counterset "fleetperf Aggregator": the aggregator's own activity.

#ifndef FLEETPERF_AGGREGATOR_OWN_OWN_COUNTERS_H_
#define FLEETPERF_AGGREGATOR_OWN_OWN_COUNTERS_H_

#include "aggregator/export/exporter.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/maintenance/maintenance.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "aggregator/web/web_page.h"
#include "base/os/clock.h"
#include "base/own_counterset.h"
#include "base/server/rpc_server.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::aggregator {

// The counted parts. They must outlive the counterset.
struct OwnParts {
  Store* store = nullptr;
  const Ingest* ingest = nullptr;
  const ExpectedMachines* expected = nullptr;
  const Hub* hub = nullptr;
  const RpcServer* server = nullptr;
  const TlsIdentity* identity = nullptr;
  const Clock* clock = nullptr;
  ClockGuard* guard = nullptr;
  const Maintenance* maintenance = nullptr;
  const Exporter* exporter = nullptr;  // may be null
  const web::WebPage* page = nullptr;  // may be null
  const CallerQuota* quota = nullptr;
};
// Returns a thread-safe counterset.
OwnCounterset MakeOwnCounters(const OwnParts& parts);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_OWN_OWN_COUNTERS_H_
