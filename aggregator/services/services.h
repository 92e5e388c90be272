// The gRPC services of an aggregator. The objects that are passed to a
// function, or that its arguments refer to, must outlive the server that the
// service is registered with.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SERVICES_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SERVICES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/services/other_aggregator.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf {
class Clock;
class StreamService;
struct CertificateInfo;
}  // namespace fleetperf

namespace fleetperf::aggregator {

class ClockGuard;
class ExpectedMachines;
class Fleet;
class FleetLists;
class Ingest;
class Planner;
class QueryAnswers;
class Store;
class Subscriptions;

// Agents stream to it.
std::unique_ptr<StreamService> MakeCollectionService(Ingest* ingest);

// Makes agents collect more counters for a limited time.
std::unique_ptr<grpc::Service> MakePlanService(Store* store, Fleet* fleet,
                                               Ingest* ingest,
                                               Planner* planner);

// Lists machines, their countersets and instances.
std::unique_ptr<grpc::Service> MakeFleetService(const FleetLists& lists);

// Answers range queries.
std::unique_ptr<grpc::Service> MakeQueryService(const QueryAnswers& answers);

// Streams values to subscribers.
std::unique_ptr<StreamService> MakeSubscriptionService(
    Subscriptions* subscriptions);

// The administered parts.
struct AdministrationParts {
  std::string name;  // the machine name of the aggregator's own counters
  std::vector<OtherAggregator> others;
  Store* store = nullptr;
  Ingest* ingest = nullptr;
  const ExpectedMachines* expected = nullptr;
  ClockGuard* guard = nullptr;
  const Clock* clock = nullptr;
  // Returns a link that logs the holder of a certificate in to the web UI.
  // Empty: there is no web UI.
  std::function<absl::StatusOr<std::string>(const CertificateInfo&)>
      make_login_link = nullptr;
  absl::Duration login_link_life;
};

// Administers the aggregator: its status, backups, the confirmation of its
// clock, machines to forget, and links to its web UI.
std::unique_ptr<grpc::Service> MakeAdministrationService(
    const AdministrationParts& parts);

// gRPC's standard health service, for probes. Replaces gRPC's own
// implementation, whose threads would also serve the streams of event_loop.h.
// The server is SERVING while `is_ready`, which is thread-safe, returns OK. The
// service "live" is SERVING as long as the process answers, so that a monitor
// does not restart an aggregator that waits for disk space.
std::unique_ptr<grpc::Service> MakeHealthService(
    std::function<absl::Status()> is_ready);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SERVICES_H_
