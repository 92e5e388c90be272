#include "aggregator/services/admission.h"

#include "aggregator/rpc/access.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<Caller> ReaderOf(WorkingCall* call) {
  ASSIGN_OR_RETURN(
      const PeerIdentity peer,
      CheckAccess(call->context(), {Role::kReader, Role::kOperator}));
  return Caller{.key = peer.Key(),
                .is_cancelled = [call] { return call->IsCancelled(); },
                .rpc = &call->context()};
}

absl::StatusOr<std::unique_ptr<WorkSlots::Slot>> Admit(
    const absl::Status& valid, const Caller& caller, WorkSlots* slots) {
  RETURN_IF_ERROR(valid);
  auto slot = slots->Enter(caller.key, caller.is_cancelled);
  if (slot == nullptr) return absl::CancelledError("the caller disconnected");
  return slot;
}

}  // namespace fleetperf::aggregator
