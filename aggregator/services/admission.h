// Admits the calls of readers and operators.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/query/cancellation.h"
#include "base/server/caller_quota.h"
#include "base/server/working_call.h"

namespace fleetperf::aggregator {

// A reader or an operator who calls.
struct Caller {
  std::string key;  // PeerIdentity::Key
  IsCancelled is_cancelled;
};

// Returns the caller, or PermissionDenied if it is neither a reader nor an
// operator. The call must outlive the caller.
absl::StatusOr<Caller> ReaderOf(WorkingCall* call);

// Returns a share of `pool` once the caller gets one. Returns `valid` unless it
// is OK, and Cancelled if the caller is gone before it gets a share.
absl::StatusOr<CallerQuota::Share> Admit(const absl::Status& valid,
                                         const Caller& caller, Pool pool,
                                         CallerQuota* quota);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
