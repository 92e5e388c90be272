// Admits the calls of readers and operators.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/rpc/working_call.h"
#include "aggregator/services/work_slots.h"

namespace fleetperf::aggregator {

// A reader or an operator who calls.
struct Caller {
  std::string key;  // PeerIdentity::Key
  IsCancelled is_cancelled;
  // The call, if it is one of gRPC. Its end cancels calls to peers.
  const grpc::ServerContextBase* rpc = nullptr;
};

// Returns the caller, or PermissionDenied if it is neither a reader nor an
// operator. The call must outlive the caller.
absl::StatusOr<Caller> ReaderOf(WorkingCall* call);

// Returns a slot once the caller gets one. Returns `valid` unless it is OK, and
// Cancelled if the caller is gone before it gets a slot.
absl::StatusOr<std::unique_ptr<WorkSlots::Slot>> Admit(
    const absl::Status& valid, const Caller& caller, WorkSlots* slots);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMISSION_H_
