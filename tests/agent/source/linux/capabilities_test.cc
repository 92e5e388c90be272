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

TEST(Capabilities, ProcessesOfOtherUsersNeedPtrace) {
  for (const char* counterset :
       {"Process V2", "process v2", "Process", "Linux Cgroup Process",
        "Process*", "GPU Engine", "GPU Process Memory", "GPU Adapter Memory",
        "*"}) {
    EXPECT_THAT(MissingRightsIn(kWithout, true, counterset),
                HasSubstr("CAP_SYS_PTRACE"));
    EXPECT_THAT(MissingRightsIn(kWith, true, counterset), IsEmpty());
  }
}

TEST(Capabilities, MessageNamesValuesAndRemedy) {
  EXPECT_EQ(MissingRightsIn(kWithout, true, "Process V2"),
            "of other users' processes, the IO, Storage and Set Size values, "
            "and Handle Count before Linux 6.2, are absent, because the "
            "process lacks CAP_SYS_PTRACE; grant it (setcap cap_sys_ptrace+ep "
            "PROGRAM)");
}

TEST(Capabilities, HiddenProcessesNeedPtrace) {
  for (const char* counterset : {"Process V2", "Thread", "*"}) {
    EXPECT_THAT(MissingRightsIn(kWithout, false, counterset),
                HasSubstr("hidepid"));
    EXPECT_THAT(MissingRightsIn(kWith, false, counterset), IsEmpty());
  }
  EXPECT_THAT(MissingRightsIn(kWithout, false, "Memory"), IsEmpty());
}

TEST(Capabilities, OtherCountersetsNeedNone) {
  EXPECT_THAT(MissingRightsIn(kWithout, true, "Memory"), IsEmpty());
}

TEST(Capabilities, AStatusWithoutCapabilitiesIsNoLack) {
  for (const char* status : {"", "CapEff:\tx\n", "Name:\tagent\n"}) {
    EXPECT_THAT(MissingRightsIn(status, true, "Process V2"), IsEmpty());
  }
}

}  // namespace
}  // namespace fleetperf::agent
