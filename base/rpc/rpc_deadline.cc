#include "base/rpc/rpc_deadline.h"

#include <grpc/support/time.h>

namespace fleetperf {

gpr_timespec RpcDeadline(absl::Duration timeout) {
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

}  // namespace fleetperf
