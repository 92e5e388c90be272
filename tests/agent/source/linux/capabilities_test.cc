#include "agent/source/linux/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// CAP_SYS_PTRACE is bit 19.
constexpr char kWithout[] =
    "Name:\tfleetperf-agent\nCapPrm:\t0000000000080000\n"
    "CapEff:\t0000004000000000\nCapBnd:\t000001ffffffffff\n";
constexpr char kWith[] = "CapEff:\t0000000000080000\n";

TEST(Capabilities, ProcessV2NeedsPtraceForOtherUsersProcesses) {
  for (const char* counterset : {"Process V2", "process v2", "Process*", "*"}) {
    EXPECT_THAT(MissingRightsIn(kWithout, counterset),
                HasSubstr("CAP_SYS_PTRACE"));
    EXPECT_THAT(MissingRightsIn(kWith, counterset), IsEmpty());
  }
}

TEST(Capabilities, OtherCountersetsNeedNone) {
  EXPECT_THAT(MissingRightsIn(kWithout, "Memory"), IsEmpty());
}

TEST(Capabilities, AStatusWithoutCapabilitiesIsNoLack) {
  for (const char* status : {"", "CapEff:\tx\n", "Name:\tagent\n"}) {
    EXPECT_THAT(MissingRightsIn(status, "Process V2"), IsEmpty());
  }
}

}  // namespace
}  // namespace fleetperf::agent
