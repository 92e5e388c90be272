#include "aggregator/query/request_limits.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

absl::Status TooMany(absl::string_view what, size_t count, size_t limit,
                     absl::string_view remedy) {
  if (count <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request has ", count, " ",
                                                 what, ", more than ", limit,
                                                 "; ", remedy));
}

}  // namespace

absl::Status CheckPathCount(size_t paths) {
  return TooMany("paths", paths, kMaxPaths,
                 "use wildcards, or divide it into several requests");
}

absl::Status CheckPathBytes(size_t bytes) {
  return TooMany("bytes of paths", bytes, kMaxPathBytes,
                 "use wildcards, or divide it into several requests");
}

absl::Status CheckMachinePatterns(size_t patterns) {
  return TooMany("different machines with wildcards", patterns,
                 kMaxMachinePatterns, "write the machines' names");
}

absl::Status CheckFilterSize(size_t labels, size_t bytes) {
  RETURN_IF_ERROR(
      TooMany("labels", labels, kMaxFilterLabels, "an agent has fewer"));
  return TooMany("bytes of labels and machine names", bytes, kMaxFilterBytes,
                 "use wildcards");
}

}  // namespace fleetperf::aggregator
