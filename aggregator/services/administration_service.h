// The gRPC service for the administration of an aggregator: its status,
// backups, the confirmation of its clock, machines to forget, and links to its
// page.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/store/store.h"
#include "base/certificates.h"
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
  // Returns a link that logs the holder of a certificate in to the page. Empty:
  // there is no page.
  std::function<absl::StatusOr<std::string>(const CertificateInfo&)>
      make_login_link = nullptr;
  absl::Duration login_link_life;
};

// The parts must outlive the server that the service is registered with.
std::unique_ptr<grpc::Service> MakeAdministrationService(
    const AdministrationParts& parts);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
