// The gRPC service for the administration of an aggregator: its status,
// backups, the confirmation of its clock, and machines to forget.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_

#include <memory>
#include <string>

#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/store/store.h"
#include "base/clock.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The administered parts.
struct AdministrationParts {
  std::string name;  // the machine name of the aggregator's own counters
  Store* store = nullptr;
  Ingest* ingest = nullptr;
  const ExpectedMachines* expected = nullptr;
  ClockGuard* guard = nullptr;
  const Clock* clock = nullptr;
};

// The parts must outlive the server that the service is registered with.
std::unique_ptr<grpc::Service> MakeAdministrationService(
    const AdministrationParts& parts);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
