// Answers queries of stored samples, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_

#include <functional>

#include "absl/status/status.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/read_scope.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

// Sends a part of an answer. May wait for the caller. The query ends with an
// error of it.
template <typename Response>
using WritePart = std::function<absl::Status(const Response&)>;

// Answers the requests of QueryService and returns its errors. The caller must
// be a reader or an operator. Thread-safe.
class QueryAnswers {
 public:
  // Each query takes a share of Pool::kQueries. The arguments must outlive the
  // object.
  QueryAnswers(const ReadScope* scope, CallerQuota* quota)
      : scope_(*scope), quota_(*quota) {}

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
  const ReadScope& scope_;
  CallerQuota& quota_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_QUERY_ANSWERS_H_
