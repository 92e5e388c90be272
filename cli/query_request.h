// Converts the flags of queries to requests.

#ifndef FLEETPERF_CLI_QUERY_REQUEST_H_
#define FLEETPERF_CLI_QUERY_REQUEST_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/commands.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// The prefix of a label's name in --by and in the columns of its values.
inline constexpr absl::string_view kLabelPrefix = "label:";

// Converts the flags to a request. Errors name the flag.
absl::StatusOr<v1::QueryRangeRequest> MakeRequest(const QueryFlags& flags);

// Sets the range of a QueryRangeRequest or a QueryRawRequest. Errors name the
// flag.
template <typename Request>
absl::Status SetRange(const QueryFlags& flags, Request* request);

// Parses "> 90".
absl::StatusOr<v1::Condition> ParseCondition(absl::string_view text);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_QUERY_REQUEST_H_
