// The aggregator's page for browsers, with all its parts.

#ifndef FLEETPERF_AGGREGATOR_WEB_WEB_PAGE_H_
#define FLEETPERF_AGGREGATOR_WEB_WEB_PAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/services/fleet_lists.h"
#include "aggregator/services/other_aggregator.h"
#include "aggregator/services/query_answers.h"
#include "aggregator/services/subscriptions.h"
#include "aggregator/web/metrics.h"
#include "base/os/clock.h"
#include "base/server/client_certificates.h"
#include "base/tls/certificate_info.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::aggregator::web {

// Serves from Start until destruction. Thread-safe, except for destruction.
class WebPage {
 public:
  // The time in which a login link can be used.
  static constexpr absl::Duration kLoginLinkLife = absl::Minutes(5);

  struct Options {
    std::string listen;        // "host:port"; port 0 selects any free port
    std::string address_file;  // if set, receives the address
    std::string public_url;    // of login links; "" for the address
    std::vector<OtherAggregator> others;     // whose pages it links to
    std::shared_ptr<TlsIdentity> own;        // shown to browsers
    std::shared_ptr<TlsIdentity> authority;  // of clients' certificates
    std::shared_ptr<ClientCertificates> clients;
    const Clock* clock = nullptr;  // must outlive the page
  };

  // The objects that `lists`, `queries` and `metrics` refer to must outlive the
  // page, and `subscriptions` also the hub's threads. Returns Unavailable if
  // the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<WebPage>> Start(
      const Options& options, const FleetLists& lists,
      const QueryAnswers& queries, Subscriptions* subscriptions,
      const MetricsParts& metrics);
  virtual ~WebPage() = default;

  // Present numbers of connections and viewers; others since the start.
  struct Counts {
    uint64_t connections = 0;
    uint64_t refused_connections = 0;  // because of a limit
    uint64_t requests = 0;
    uint64_t denied_requests = 0;
    uint64_t viewers = 0;  // of live values
  };
  virtual Counts counts() const = 0;

  // "host:port", with the port that was chosen.
  virtual const std::string& address() const = 0;

  // Returns a link that logs in the holder of a certificate, once. Returns
  // PermissionDenied unless it is a reader or an operator.
  virtual absl::StatusOr<std::string> MakeLoginLink(
      const CertificateInfo& certificate) = 0;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_WEB_PAGE_H_
