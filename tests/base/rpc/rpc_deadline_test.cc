#include "base/rpc/rpc_deadline.h"

#include <grpc/support/time.h>
#include <gtest/gtest.h>

namespace fleetperf {
namespace {

TEST(RpcDeadline, UsesTheMonotonicClock) {
  const gpr_timespec before = gpr_now(GPR_CLOCK_MONOTONIC);
  const gpr_timespec deadline = RpcDeadline(absl::Milliseconds(90'500));
  const gpr_timespec after = gpr_now(GPR_CLOCK_MONOTONIC);
  ASSERT_EQ(deadline.clock_type, GPR_CLOCK_MONOTONIC);
  const gpr_timespec timeout = gpr_time_from_millis(90'500, GPR_TIMESPAN);
  EXPECT_GE(gpr_time_cmp(deadline, gpr_time_add(before, timeout)), 0);
  EXPECT_LE(gpr_time_cmp(deadline, gpr_time_add(after, timeout)), 0);
}

}  // namespace
}  // namespace fleetperf
