// What options change in the kernel that runs the test: counts, times and
// records that the test causes.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/group.h"
#include "driver/perf_event/sampler.h"
#include "tests/driver/perf_event/breakpoint_probe.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::IsOkAndHolds;

using OptionsKernelTest = KernelTest;

// Forks a child that executes `true` when the parent has opened `builder` for
// it, and returns the event after the child has ended.
absl::StatusOr<Counter> CounterOfExec(Builder builder) {
  int start[2];
  if (pipe(start) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    if (read(start[0], &byte, 1) == 1) execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  absl::StatusOr<Counter> counter = builder.ObserveProcess(child).Build();
  (void)!write(start[1], "x", 1);
  waitpid(child, nullptr, 0);
  close(start[0]);
  close(start[1]);
  return counter;
}

TEST_F(OptionsKernelTest, EnableOnExecCountsFromThenOn) {
  const Builder faults(Software(SoftwareEvent::kPageFaults));
  ASSERT_OK_AND_ASSIGN(const Counter without, CounterOfExec(faults));
  EXPECT_THAT(without.Read(), IsOkAndHolds(0u));
  ASSERT_OK_AND_ASSIGN(const Counter with,
                       CounterOfExec(Builder(faults).EnableOnExec()));
  // A new program has a fault for each page that it touches.
  EXPECT_THAT(with.Read(), IsOkAndHolds(::testing::Gt(0u)));
}

TEST_F(OptionsKernelTest, RemoveOnExecStopsCounting) {
  const Builder faults =
      Builder(Software(SoftwareEvent::kPageFaults)).Enabled();
  const Builder before_exec = Builder(faults).RemoveOnExec();
  const absl::StatusOr<Counter> opened = before_exec.Build();
  if (absl::IsUnimplemented(opened.status())) GTEST_SKIP() << opened.status();
  ASSERT_OK_AND_ASSIGN(const Counter all, CounterOfExec(faults));
  ASSERT_OK_AND_ASSIGN(const Counter before, CounterOfExec(before_exec));
  ASSERT_OK_AND_ASSIGN(const uint64_t all_faults, all.Read());
  ASSERT_OK_AND_ASSIGN(const uint64_t faults_before, before.Read());
  EXPECT_GT(all_faults, 0u);
  EXPECT_LT(faults_before, all_faults);
}

// read(2) writes to new pages in kernel mode, so that their faults are those of
// the kernel.
TEST_F(OptionsKernelTest, ExcludedModesDoNotCount) {
  constexpr int kPages = 50;
  const size_t size = kPages * LinuxSystem().page_size();
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const absl::Cleanup closing = [&] { close(zeros); };
  // Returns the page faults, of those modes, of the read.
  const auto faults = [&](const Builder& builder) -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(Counter counter, builder.Build());
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, size, MADV_NOHUGEPAGE);
    RETURN_IF_ERROR(counter.Enable());
    const int64_t done = syscall(SYS_read, zeros, memory, size);
    RETURN_IF_ERROR(counter.Disable());
    munmap(memory, size);
    EXPECT_EQ(done, static_cast<int64_t>(size));
    return counter.Read();
  };
  const Builder user(Software(SoftwareEvent::kPageFaults));
  const Builder kernel = Builder(user).IncludeKernel().ExcludeUser();
  SKIP_UNLESS_OPENS(kernel);
  ASSERT_OK(faults(user).status());  // loads the code that is executed
  EXPECT_THAT(faults(user), IsOkAndHolds(0u));
  EXPECT_THAT(faults(kernel), IsOkAndHolds(uint64_t{kPages}));
  EXPECT_THAT(faults(Builder(user).IncludeKernel()),
              IsOkAndHolds(uint64_t{kPages}));
}

int traps = 0;
uint64_t trap_data = 0;

// The data follows si_addr: include/uapi/asm-generic/siginfo.h, _perf.
void OnTrap(int, siginfo_t* info, void*) {
  ++traps;
  std::memcpy(&trap_data,
              reinterpret_cast<const char*>(&info->si_addr) + sizeof(void*),
              sizeof(trap_data));
}

TEST_F(OptionsKernelTest, SigtrapSignalsEachOverflow) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  static volatile uint32_t word;
  const Builder builder =
      Builder(Breakpoint(BreakpointAccess::kWrite,
                         reinterpret_cast<uintptr_t>(&word), sizeof(word)))
          .SamplePeriod(2)
          .Sigtrap(0x123456789);
  const absl::StatusOr<Counter> opened = builder.Build();
  if (!opened.ok()) GTEST_SKIP() << opened.status();
  struct sigaction action = {}, previous;
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &previous), 0);
  const absl::Cleanup restore = [&] { sigaction(SIGTRAP, &previous, nullptr); };
  ASSERT_OK_AND_ASSIGN(Counter writes, builder.Build());
  traps = 0;
  ASSERT_OK(writes.Enable());
  for (uint32_t i = 0; i < 10; ++i) word = i;
  ASSERT_OK(writes.Disable());
  EXPECT_EQ(traps, 5);
  EXPECT_EQ(trap_data, 0x123456789u);
}

TEST_F(OptionsKernelTest, AGroupMayHaveEventsOfSeveralPmus) {
  const absl::StatusOr<Event> tsc = ParseEvent("msr/tsc/");
  if (!tsc.ok()) GTEST_SKIP() << tsc.status();
  const auto on_cpu_0 = [](const Event& event) {
    return Builder(event).AnyProcess().OneCpu(0);
  };
  SKIP_UNLESS_OPENS(on_cpu_0(*tsc));
  ASSERT_OK_AND_ASSIGN(
      Group group, Group::Create(on_cpu_0(Software(SoftwareEvent::kCpuClock))));
  ASSERT_OK_AND_ASSIGN(const size_t position, group.Add(on_cpu_0(*tsc)));
  ASSERT_OK(group.Enable());
  ASSERT_OK(group.Disable());
  GroupValues values;
  ASSERT_OK(group.Read(&values));
  EXPECT_GT(values.entries()[0].value, 0u);
  EXPECT_GT(values.entries()[position].value, 0u);
}

uint64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

TEST_F(OptionsKernelTest, TimesAreThoseOfTheClock) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
                                CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI}) {
    ASSERT_OK_AND_ASSIGN(
        Sampler sampler,
        Sampler::Create(*Builder(Software(SoftwareEvent::kDummy))
                             .Enabled()
                             .Comm()
                             .SampleIdAll()
                             .Sample(sample::kTime)
                             .ClockId(clock)
                             .Build(),
                        1));
    const uint64_t before = Nanos(clock);
    prctl(PR_SET_NAME, "renamed");
    const uint64_t after = Nanos(clock);
    const auto raw = sampler.Next();
    ASSERT_TRUE(raw) << clock;
    Record record;
    ASSERT_OK(sampler.Parse(*raw, &record));
    ASSERT_TRUE(std::holds_alternative<CommRecord>(record.data));
    EXPECT_GE(*record.id.time(), before) << clock;
    EXPECT_LE(*record.id.time(), after) << clock;
  }
}

// Each record of a name of 7 bytes has 24 bytes.
TEST_F(OptionsKernelTest, PollReportsTheRingAfterThatManyBytes) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*Builder(Software(SoftwareEvent::kDummy))
                                            .Enabled()
                                            .Comm()
                                            .WakeupWatermark(200)
                                            .Build(),
                                       1));
  const auto is_readable = [&] {
    pollfd entry = {.fd = sampler.counter().descriptor(), .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
  };
  for (int i = 0; i < 8; ++i) prctl(PR_SET_NAME, "1234567");
  EXPECT_FALSE(is_readable());  // 192 bytes
  prctl(PR_SET_NAME, "1234567");
  EXPECT_TRUE(is_readable());
}

}  // namespace
}  // namespace fleetperf::perf_event
