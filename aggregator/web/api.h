// The interface of the page: lists, queries and explanations as JSON, and
// scrapes.

#ifndef FLEETPERF_AGGREGATOR_WEB_API_H_
#define FLEETPERF_AGGREGATOR_WEB_API_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "aggregator/services/fleet_lists.h"
#include "aggregator/services/other_aggregator.h"
#include "aggregator/services/query_answers.h"
#include "aggregator/services/subscriptions.h"
#include "aggregator/web/live_streams.h"
#include "aggregator/web/metrics.h"
#include "aggregator/web/router.h"
#include "aggregator/web/shared_answers.h"
#include "aggregator/web/work_queue.h"

namespace fleetperf::aggregator::web {

// Requests and answers are the messages of the gRPC services as proto3 JSON,
// except that "others" answers with that field of GetStatusResponse, queries
// answer with a line of JSON for each part
// (message_json.h), and subscriptions with lines as in live_stream.h. metrics.h
// has the scrapes. Thread-safe.
class Api : public ApiHandler {
 public:
  // `subscriptions` must outlive the object, and the hub's threads.
  Api(const FleetLists& lists, const QueryAnswers& queries,
      Subscriptions* subscriptions, const MetricsParts& metrics,
      const std::vector<OtherAggregator>& others);

  bool Has(absl::string_view method) const override;
  void Answer(HttpRequest request, absl::string_view method,
              const Identity& identity, std::shared_ptr<Reply> reply) override;

 private:
  const FleetLists lists_;
  const QueryAnswers queries_;
  LiveStreams streams_;
  Metrics metrics_;
  const Reply::Bytes others_;  // the answer to "others"
  SharedAnswers machines_;
  WorkQueue work_{{}};  // last: its threads use the other members
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_API_H_
