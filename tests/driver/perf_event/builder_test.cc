// Options of Builder as the kernel's header declares them, and as the kernel
// that runs the test takes them.

#include "driver/perf_event/builder.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "driver/perf_event/group.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/driver/perf_event/events.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/driver/perf_event/ring_system.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::IsOkAndHolds;
using fleetperf::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Builder Plain() { return Builder(Software(SoftwareEvent::kDummy)); }

perf_event_attr KernelsView(const Builder& builder) {
  perf_event_attr view = {};
  std::memcpy(&view, &builder.attributes(),
              std::min(sizeof(view), sizeof(Attributes)));
  return view;
}

// The value of a member of perf_event_attr, which can be a bit field.
#define KERNELS(builder, member) \
  static_cast<uint64_t>(KernelsView(builder).member)

TEST(BuilderTest, FlagsAreThoseOfTheKernelsHeader) {
  EXPECT_EQ(KERNELS(Plain(), disabled), 1u);
#define EXPECT_FLAG(Option, member)                 \
  EXPECT_EQ(KERNELS(Plain().Option(), member), 1u); \
  EXPECT_EQ(KERNELS(Plain().Option().Option(false), member), 0u)
  EXPECT_EQ(KERNELS(Plain().Enabled(), disabled), 0u);
  EXPECT_FLAG(Inherit, inherit);
  EXPECT_FLAG(InheritStat, inherit_stat);
  EXPECT_FLAG(InheritThread, inherit_thread);
  EXPECT_FLAG(Pinned, pinned);
  EXPECT_FLAG(Exclusive, exclusive);
  EXPECT_FLAG(EnableOnExec, enable_on_exec);
  EXPECT_FLAG(RemoveOnExec, remove_on_exec);
  EXPECT_FLAG(ExcludeUser, exclude_user);
  EXPECT_FLAG(ExcludeKernel, exclude_kernel);
  EXPECT_FLAG(ExcludeHypervisor, exclude_hv);
  EXPECT_FLAG(ExcludeIdle, exclude_idle);
  EXPECT_FLAG(ExcludeHost, exclude_host);
  EXPECT_FLAG(ExcludeGuest, exclude_guest);
  EXPECT_FLAG(SampleIdAll, sample_id_all);
  EXPECT_FLAG(ExcludeCallchainKernel, exclude_callchain_kernel);
  EXPECT_FLAG(ExcludeCallchainUser, exclude_callchain_user);
  EXPECT_FLAG(AuxOutput, aux_output);
  EXPECT_FLAG(WriteBackward, write_backward);
  EXPECT_FLAG(Mmap, mmap);
  EXPECT_FLAG(MmapData, mmap_data);
  EXPECT_FLAG(Mmap2, mmap2);
  EXPECT_FLAG(BuildId, build_id);
  EXPECT_FLAG(Comm, comm);
  EXPECT_FLAG(CommExec, comm_exec);
  EXPECT_FLAG(Task, task);
  EXPECT_FLAG(ContextSwitch, context_switch);
  EXPECT_FLAG(Namespaces, namespaces);
  EXPECT_FLAG(Ksymbol, ksymbol);
  EXPECT_FLAG(BpfEvent, bpf_event);
  EXPECT_FLAG(Cgroup, cgroup);
  EXPECT_FLAG(TextPoke, text_poke);
#undef EXPECT_FLAG
  EXPECT_EQ(KERNELS(Plain().IncludeKernel(), exclude_kernel), 0u);
  EXPECT_EQ(KERNELS(Plain().IncludeHypervisor(), exclude_hv), 0u);
}

TEST(BuilderTest, FieldsAreThoseOfTheKernelsHeader) {
  EXPECT_EQ(KERNELS(Plain().SamplePeriod(3), sample_period), 3u);
  EXPECT_EQ(KERNELS(Plain().SampleFrequency(3).SamplePeriod(3), freq), 0u);
  EXPECT_EQ(KERNELS(Plain().SampleFrequency(3), sample_freq), 3u);
  EXPECT_EQ(KERNELS(Plain().SampleFrequency(3), freq), 1u);
  EXPECT_EQ(
      KERNELS(Plain().Sample(sample::kIp).Sample(sample::kCpu), sample_type),
      PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
  EXPECT_EQ(KERNELS(Plain().Skid(SampleSkid::kRequireZero), precise_ip), 3u);
  EXPECT_EQ(
      KERNELS(
          Plain().Skid(SampleSkid::kRequireZero).Skid(SampleSkid::kConstant),
          precise_ip),
      1u);
  EXPECT_EQ(
      KERNELS(Plain().BranchSampleType(branch::kTypeSave), branch_sample_type),
      PERF_SAMPLE_BRANCH_TYPE_SAVE);
  EXPECT_EQ(KERNELS(Plain().SampleRegsUser(5), sample_regs_user), 5u);
  EXPECT_EQ(KERNELS(Plain().SampleRegsIntr(6), sample_regs_intr), 6u);
  EXPECT_EQ(KERNELS(Plain().SampleStackUser(64), sample_stack_user), 64u);
  EXPECT_EQ(KERNELS(Plain().SampleMaxStack(7), sample_max_stack), 7u);
  EXPECT_EQ(KERNELS(Plain().WakeupEvents(8), wakeup_events), 8u);
  EXPECT_EQ(KERNELS(Plain().WakeupWatermark(9), wakeup_watermark), 9u);
  EXPECT_EQ(KERNELS(Plain().WakeupWatermark(9), watermark), 1u);
  EXPECT_EQ(KERNELS(Plain().WakeupWatermark(9).WakeupEvents(8), watermark), 0u);
  EXPECT_EQ(KERNELS(Plain().AuxWatermark(10), aux_watermark), 10u);
  EXPECT_EQ(KERNELS(Plain().AuxSampleSize(11), aux_sample_size), 11u);
  EXPECT_EQ(KERNELS(Plain().ClockId(CLOCK_TAI), clockid), uint64_t{CLOCK_TAI});
  EXPECT_EQ(KERNELS(Plain().ClockId(CLOCK_REALTIME), use_clockid), 1u);
  EXPECT_EQ(KERNELS(Plain().Sigtrap(12), sig_data), 12u);
  EXPECT_EQ(KERNELS(Plain().Sigtrap(12), sigtrap), 1u);
  EXPECT_EQ(KERNELS(Plain().Sigtrap(12), remove_on_exec), 1u);
  EXPECT_EQ(KERNELS(Plain().ReadFormat(read_format::kGroup), read_format),
            PERF_FORMAT_GROUP | PERF_FORMAT_ID);
  EXPECT_EQ(KERNELS(Plain(), read_format),
            PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
}
#undef KERNELS

TEST(BuilderTest, TargetsCanBeChangedBack) {
  SimulatedSystem machine({.cpus = 2});
  machine.SetRate(Cycles(), 0, 5);
  machine.SetRate(Cycles(), 1, 7);
  Builder builder = Builder(Cycles(), machine).AnyProcess().OneCpu(1).Enabled();
  ASSERT_OK_AND_ASSIGN(const Counter cpu1, builder.Build());
  ASSERT_OK_AND_ASSIGN(const Counter self,
                       builder.ObserveSelf().AnyCpu().Build());
  machine.Advance(absl::Seconds(1));
  EXPECT_THAT(cpu1.Read(), IsOkAndHolds(7u));
  EXPECT_THAT(self.Read(), IsOkAndHolds(5u));  // the process runs on CPU 0
}

TEST(CounterTest, CallsAreThoseOfTheKernelsHeader) {
  RingSystem system;
  ASSERT_OK_AND_ASSIGN(Counter counter, Builder(Cycles(), system).Build());
  const auto last = [&] {
    const auto calls = std::exchange(system.ioctls, {});
    return calls.empty() ? std::pair(0ul, 0ul) : calls.back();
  };
  ASSERT_OK(counter.Enable());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_ENABLE, 0u));
  ASSERT_OK(counter.Disable());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_DISABLE, 0u));
  ASSERT_OK(counter.Reset());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_RESET, 0u));
  ASSERT_OK(counter.EnableGroup());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
  ASSERT_OK(counter.DisableGroup());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
  ASSERT_OK(counter.ResetGroup());
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
  ASSERT_OK(counter.PauseOutput(true));
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_PAUSE_OUTPUT, 1u));
  ASSERT_OK(counter.PauseOutput(false));
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_PAUSE_OUTPUT, 0u));
  ASSERT_OK(counter.SetBpf(42));
  EXPECT_THAT(last(), Pair(PERF_EVENT_IOC_SET_BPF, 42u));
  EXPECT_THAT(counter.QueryBpf(), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(last().first, PERF_EVENT_IOC_QUERY_BPF);
}

// read(2) returns 0 bytes for such an event.
TEST(CounterTest, APinnedEventWithoutACounterIsInError) {
  RingSystem system;
  system.read_result = 0;
  ASSERT_OK_AND_ASSIGN(const Counter counter,
                       Builder(Cycles(), system).Pinned().Build());
  EXPECT_THAT(counter.Read(), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("do not pin it")));
  ASSERT_OK_AND_ASSIGN(Group group,
                       Group::Create(Builder(Cycles(), system).Pinned()));
  GroupValues values;
  EXPECT_THAT(group.Read(&values), StatusIs(absl::StatusCode::kUnavailable,
                                            HasSubstr("do not pin it")));
}

using BuilderKernelTest = KernelTest;

// The kernel version that an option needs is part of the error, so that an
// older kernel skips only what it cannot do.
TEST_F(BuilderKernelTest, TheKernelTakesTheOptionsOfSoftwareEvents) {
  const std::vector<Builder> builders = {
      Plain().EnableOnExec(),
      Plain().Inherit().InheritStat(),
      Plain().Inherit().InheritThread(),
      Plain().Pinned().Exclusive(),
      Plain().RemoveOnExec(),
      Plain().Sigtrap(7),
      Plain().Skid(SampleSkid::kRequestZero).SamplePeriod(1),
      Plain().ExcludeUser(false).ExcludeIdle(),
      Plain().ExcludeHost(),
      Plain().ExcludeGuest(),
      Plain().ExcludeCallchainKernel().ExcludeCallchainUser(),
      Plain().Mmap().MmapData().Comm().CommExec().Task(),
      Plain().ContextSwitch().SampleIdAll(),
      Plain().Mmap2().BuildId(),
      Plain().Cgroup(),
      Plain().WakeupWatermark(4096),
      Plain().ClockId(CLOCK_MONOTONIC),
      Plain().ClockId(CLOCK_MONOTONIC_RAW),
      Plain().ClockId(CLOCK_REALTIME),
      Plain().ClockId(CLOCK_BOOTTIME),
      Plain().ClockId(CLOCK_TAI),
      Plain().Sample(sample::kCallchain).SampleMaxStack(16).SamplePeriod(1),
  };
  for (const Builder& builder : builders) {
    const absl::StatusOr<Counter> counter = builder.Build();
    if (absl::IsUnimplemented(counter.status())) continue;
    EXPECT_OK(counter.status()) << builder.DebugString();
  }
}

// Records of the kernel and of eBPF programs need a right.
TEST_F(BuilderKernelTest, TheKernelTakesTheOptionsOfItsOwnRecords) {
  for (const Builder& builder :
       {Plain().Ksymbol(), Plain().BpfEvent(), Plain().TextPoke()}) {
    const absl::StatusOr<Counter> counter = builder.Build();
    if (absl::IsPermissionDenied(counter.status()) ||
        absl::IsUnimplemented(counter.status())) {
      continue;
    }
    EXPECT_OK(counter.status()) << builder.DebugString();
  }
}

}  // namespace
}  // namespace fleetperf::perf_event
