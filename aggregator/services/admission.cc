#include "aggregator/services/admission.h"

#include "base/server/access.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<Caller> ReaderOf(WorkingCall* call) {
  ASSIGN_OR_RETURN(
      const PeerIdentity peer,
      CheckAccess(call->context(), {Role::kReader, Role::kOperator}));
  return Caller{.key = peer.Key(),
                .is_cancelled = [call] { return call->IsCancelled(); }};
}

absl::StatusOr<CallerQuota::Share> Admit(const absl::Status& valid,
                                         const Caller& caller, Pool pool,
                                         CallerQuota* quota) {
  RETURN_IF_ERROR(valid);
  CallerQuota::Share share = quota->Take(pool, caller.key, caller.is_cancelled);
  if (!share) return absl::CancelledError("the caller disconnected");
  return share;
}

}  // namespace fleetperf::aggregator
