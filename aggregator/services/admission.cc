#include "aggregator/services/admission.h"

#include "aggregator/rpc/access.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<std::unique_ptr<WorkSlots::Slot>> AdmitReader(
    const absl::Status& valid, WorkingCall* call, WorkSlots* slots) {
  RETURN_IF_ERROR(
      CheckAccess(call->context(), {Role::kReader, Role::kOperator}).status());
  RETURN_IF_ERROR(valid);
  auto slot = slots->Enter(CallerOf(call->context()),
                           [&] { return call->IsCancelled(); });
  if (slot == nullptr) return absl::CancelledError("the caller disconnected");
  return slot;
}

}  // namespace fleetperf::aggregator
