// Answers scrapes: GET /metrics has the newest values as text.

#ifndef FLEETPERF_AGGREGATOR_WEB_METRICS_H_
#define FLEETPERF_AGGREGATOR_WEB_METRICS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "aggregator/export/exposition.h"
#include "aggregator/export/machine_series.h"
#include "aggregator/query/query_context.h"
#include "aggregator/services/admission.h"
#include "aggregator/store/store.h"
#include "aggregator/web/http_request.h"
#include "aggregator/web/reply.h"
#include "base/logging.h"
#include "base/server/caller_quota.h"

namespace fleetperf::aggregator::web {

// Returns the format for a client with this header Accept: OpenMetrics if it is
// accepted no less than the text format, as Prometheus does.
ExpositionFormat FormatFor(absl::string_view accept);

struct MetricsParts {
  Store* store = nullptr;
  MachineNow now_of;
  CallerQuota* quota = nullptr;         // a scrape counts as a query
  std::vector<std::string> paths = {};  // of scrapes without any; empty: all
  ExportedMachines machines = {};
};

// Thread-safe.
class Metrics {
 public:
  // The parts must outlive the object.
  explicit Metrics(MetricsParts parts) : parts_(std::move(parts)) {}

  // Ends the answer. Waits for a slot and for the client. Parameters `path`,
  // which may be repeated, select counters. `subject` is the caller's.
  void Answer(const HttpRequest& request, const Caller& caller,
              absl::string_view subject, Reply* reply);

 private:
  const MetricsParts parts_;
  LogOncePerCause log_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_METRICS_H_
