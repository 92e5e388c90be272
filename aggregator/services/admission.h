// Admits the calls of readers and operators.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/rpc/working_call.h"
#include "aggregator/services/work_slots.h"

namespace fleetperf::aggregator {

// Returns a slot once the caller gets one. Returns PermissionDenied if the
// caller is neither a reader nor an operator, then `valid` unless it is OK,
// and Cancelled if the caller is gone before it gets a slot.
absl::StatusOr<std::unique_ptr<WorkSlots::Slot>> AdmitReader(
    const absl::Status& valid, WorkingCall* call, WorkSlots* slots);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
