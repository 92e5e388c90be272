// Answers queries of stored samples, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "aggregator/query/fleet.h"
#include "aggregator/query/range_query.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/work_slots.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

// Sends a part of an answer. May wait for the caller. The query ends with an
// error of it.
template <typename Response>
using WritePart = std::function<absl::Status(const Response&)>;

struct QueryParts {
  Store* store = nullptr;
  Fleet* fleet = nullptr;
  MachineNow now_of;
  WorkSlots* slots = nullptr;  // each query takes one
};

// Answers the requests of QueryService and returns its errors. The caller must
// be a reader or an operator. Thread-safe.
class QueryAnswers {
 public:
  // The parts must outlive the object.
  explicit QueryAnswers(QueryParts parts) : parts_(std::move(parts)) {}

  absl::Status Range(const v1::QueryRangeRequest& request, const Caller& caller,
                     const WritePart<v1::QueryRangeResponse>& write) const;
  // The samples of a part are encoded in its unknown fields, since their
  // encoding is written as it is; parse the serialized part to read them.
  absl::Status Raw(const v1::QueryRawRequest& request, const Caller& caller,
                   const WritePart<v1::QueryRawResponse>& write) const;
  absl::Status Explain(const v1::ExplainValueRequest& request,
                       const Caller& caller,
                       v1::ExplainValueResponse* response) const;

 private:
  const QueryParts parts_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_
