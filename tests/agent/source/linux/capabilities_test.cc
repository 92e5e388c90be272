#include "agent/source/linux/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "driver/perf_event/simulation/simulated_system.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// CAP_DAC_OVERRIDE is bit 1, CAP_DAC_READ_SEARCH bit 2, CAP_SYS_PTRACE bit 19,
// and CAP_PERFMON bit 38.
constexpr char kWithout[] =
    "Name:\tfleetperf-agent\nCapPrm:\t0000000000080004\n"
    "CapEff:\t0000004000000000\nCapBnd:\t000001ffffffffff\n";
constexpr char kReadsAll[] = "CapEff:\t0000000000000004\n";
constexpr char kTraces[] = "CapEff:\t0000000000080000\n";
constexpr char kWith[] = "CapEff:\t0000000000080004\n";
// As root in a container that was given CAP_SYS_PTRACE.
constexpr char kOverrides[] = "CapEff:\t0000000000080002\n";

TEST(Capabilities, ProcessesOfOtherUsersNeedPtraceAndReadSearch) {
  for (const char* counterset :
       {"Process V2", "process v2", "Process", "Linux Cgroup Process",
        "Process*", "GPU Engine", "GPU Process Memory", "GPU Adapter Memory",
        "*"}) {
    EXPECT_THAT(MissingRightsIn(kWithout, true, counterset),
                HasSubstr("lacks CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH;"));
    EXPECT_THAT(MissingRightsIn(kReadsAll, true, counterset),
                HasSubstr("lacks CAP_SYS_PTRACE;"));
    EXPECT_THAT(MissingRightsIn(kTraces, true, counterset),
                HasSubstr("lacks CAP_DAC_READ_SEARCH;"));
    EXPECT_THAT(MissingRightsIn(kWith, true, counterset), IsEmpty());
    EXPECT_THAT(MissingRightsIn(kOverrides, true, counterset), IsEmpty());
  }
}

TEST(Capabilities, MessageNamesValuesAndRemedy) {
  EXPECT_EQ(MissingRightsIn(kWithout, true, "Process V2"),
            "of other users' processes, the IO, Storage and Set Size values, "
            "and Handle Count before Linux 6.2, are absent, because the "
            "process lacks CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH; grant them "
            "(setcap cap_sys_ptrace,cap_dac_read_search+ep PROGRAM)");
  EXPECT_EQ(MissingRightsIn(kTraces, true, "Process V2"),
            "of other users' processes, the IO and Storage values, and Handle "
            "Count before Linux 6.2, are absent, because the process lacks "
            "CAP_DAC_READ_SEARCH; grant it (setcap cap_dac_read_search+ep "
            "PROGRAM)");
  // The list of descriptors needs no CAP_SYS_PTRACE.
  EXPECT_EQ(MissingRightsIn(kReadsAll, true, "Process V2"),
            "of other users' processes, the IO, Storage and Set Size values "
            "are absent, because the process lacks CAP_SYS_PTRACE; grant it "
            "(setcap cap_sys_ptrace+ep PROGRAM)");
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

// Of a machine that counts cycles for % Processor Performance.
void AddCycles(perf_event::SimulatedSystem* machine) {
  machine->AddPmu("msr", 10, {{"event", "config:0-63"}});
  int number = 0;
  for (const std::string event : {"tsc", "aperf", "mperf"}) {
    machine->SetFile("/sys/bus/event_source/devices/msr/events/" + event,
                     absl::StrCat("event=0x", number++, "\n"));
  }
}

TEST(Capabilities, CyclesNeedPerfmon) {
  perf_event::SimulatedSystem machine(
      {.hardware_counters = 0, .is_privileged = false});
  EXPECT_THAT(MissingEventRights(machine, "Processor Information"), IsEmpty());
  AddCycles(&machine);
  for (const char* counterset : {"Processor Information", "Proc*"}) {
    EXPECT_THAT(
        MissingEventRights(machine, counterset),
        AllOf(HasSubstr("% Processor Performance and % Processor Utility"),
              HasSubstr("lacks CAP_PERFMON"),
              HasSubstr("setcap cap_perfmon+ep")));
  }
  EXPECT_THAT(MissingEventRights(machine, "Processor"), IsEmpty());
  perf_event::SimulatedSystem privileged({.hardware_counters = 0});
  AddCycles(&privileged);
  EXPECT_THAT(MissingEventRights(privileged, "Processor Information"),
              IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
