// The messages of events that the kernel refuses, on simulated machines.

#include <cerrno>
#include <vector>

#include "driver/perf_event/builder.h"
#include "driver/perf_event/group.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/driver/perf_event/events.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OpenErrorTest, MissingPmu) {
  SimulatedSystem machine({.hardware_counters = 0});
  EXPECT_THAT(
      Builder(Cycles(), machine).Build(),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("cpu-cycles: this machine has no hardware PMU")));
}

TEST(OpenErrorTest, MissingEventOfAPmu) {
  SimulatedSystem machine;
  EXPECT_THAT(Builder(Cycles(), machine).Build(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("the CPU's PMU does not have this event")));
}

TEST(OpenErrorTest, PermissionToCountTheKernel) {
  SimulatedSystem machine({.is_privileged = false});
  machine.SetRate(Cycles(), 1);
  EXPECT_OK(Builder(Cycles(), machine).Build());
  EXPECT_THAT(Builder(Cycles(), machine).IncludeKernel().Build(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("perf_event_paranoid is 2"),
                             HasSubstr("setcap cap_perfmon+ep"),
                             HasSubstr("sysctl kernel.perf_event_paranoid=1"),
                             HasSubstr("exclude the kernel"))));
}

TEST(OpenErrorTest, PermissionToCountAllProcesses) {
  SimulatedSystem machine({.is_privileged = false});
  machine.SetRate(Cycles(), 1);
  EXPECT_THAT(Builder(Cycles(), machine).AnyProcess().OneCpu(0).Build(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("sysctl kernel.perf_event_paranoid=0"),
                             Not(HasSubstr("exclude the kernel")))));
}

// The kernel refuses the call before it looks for the PMU.
TEST(OpenErrorTest, RightsAreNotBlamedWithoutAPmu) {
  SimulatedSystem machine({.hardware_counters = 0, .is_privileged = false});
  EXPECT_THAT(Builder(Cycles(), machine).AnyProcess().OneCpu(0).Build(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("this machine has no hardware PMU"),
                             Not(HasSubstr("CAP_PERFMON")))));
}

TEST(OpenErrorTest, KernelsWithoutPerfEvent) {
  SimulatedSystem machine;
  machine.RemoveFile("/proc/sys/kernel/perf_event_paranoid");
  machine.Fail(SimulatedCall::kOpen, EPERM);
  EXPECT_THAT(Builder(Cycles(), machine).Build(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("does not offer perf_event_open")));
}

// A seccomp profile refuses what perf_event_paranoid permits.
TEST(OpenErrorTest, ContainersThatForbidTheCall) {
  SimulatedSystem machine;
  machine.Fail(SimulatedCall::kOpen, EPERM);
  EXPECT_THAT(Builder(Cycles(), machine).Build(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("seccomp profile")));
}

// A kernel whose perf_event_attr has 112 bytes (Linux 5.4) refuses later fields
// that are not 0.
TEST(OpenErrorTest, FieldsThatTheKernelIsTooOldFor) {
  SimulatedSystem machine({.known_attributes = 112, .release = "5.4.0"});
  machine.SetRate(Cycles(), 1);
  EXPECT_OK(Builder(Cycles(), machine).Build());
  EXPECT_THAT(
      Builder(Cycles(), machine).AuxSampleSize(4096).Sigtrap(7).Build(),
      StatusIs(absl::StatusCode::kUnimplemented,
               AllOf(HasSubstr("kernel 5.4.0"), HasSubstr("112 bytes"),
                     HasSubstr("aux_sample_size (Linux 5.5), sig_data (Linux "
                               "5.13)"))));
}

TEST(OpenErrorTest, FlagsThatTheKernelIsTooOldFor) {
  SimulatedSystem machine({.release = "5.10.0-28-amd64"});
  machine.Fail(SimulatedCall::kOpen, EINVAL);
  EXPECT_THAT(Builder(Cycles(), machine).BuildId().InheritThread().Build(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("too old for: build_id (Linux 5.12), "
                                 "inherit_thread (Linux 5.13)")));
}

TEST(OpenErrorTest, RefusedCombinationsListTheOptions) {
  SimulatedSystem machine;
  machine.Fail(SimulatedCall::kOpen, EINVAL);
  EXPECT_THAT(
      Builder(Cycles(), machine).Pinned().SamplePeriod(1000).Build(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("sample_period=0x3e8"), HasSubstr("pinned=1"))));
}

TEST(OpenErrorTest, DescriptorsThatRunOut) {
  SimulatedSystem machine({.max_descriptors = 1});
  machine.SetRate(Cycles(), 1);
  ASSERT_OK_AND_ASSIGN(const Counter first, Builder(Cycles(), machine).Build());
  EXPECT_THAT(Builder(Cycles(), machine).Build(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("raise RLIMIT_NOFILE")));
}

TEST(OpenErrorTest, OtherErrors) {
  const struct {
    int error;
    const char* message;
  } kCases[] = {
      {ENOSPC, "no breakpoint register left"},
      {EBUSY, "another event has the PMU exclusively"},
      {ESRCH, "process 0 does not exist"},
      {EOPNOTSUPP, "the PMU does not support an option"},
      {ENFILE, "raise fs.file-max"},
      {EINTR, "cpu-cycles: cannot open"},
  };
  for (const auto& [error, message] : kCases) {
    SimulatedSystem machine;
    machine.Fail(SimulatedCall::kOpen, error);
    const absl::Status status = Builder(Cycles(), machine).Build().status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

// A failing call leaves no descriptor open.
TEST(OpenErrorTest, AnEventWithoutIdIsClosed) {
  SimulatedSystem machine;
  machine.SetRate(Cycles(), 1);
  machine.Fail(SimulatedCall::kIoctl, EIO);
  EXPECT_FALSE(Builder(Cycles(), machine).Build().ok());
  EXPECT_EQ(machine.open_descriptors(), 0);
}

TEST(BuilderTest, DebugStringNamesWhatIsSet) {
  EXPECT_EQ(Builder(Raw(0x1a8)).SampleFrequency(99).DebugString(),
            "type 0x4\n"
            "config 0x1a8\n"
            "sample_period 0x63\n"
            "read_format TOTAL_TIME_ENABLED 1\n"
            "read_format TOTAL_TIME_RUNNING 1\n"
            "disabled 1\n"
            "exclude_kernel 1\n"
            "exclude_hv 1\n"
            "freq 1\n");
}

}  // namespace
}  // namespace fleetperf::perf_event
