// Events of the kernel that runs the test. The numbers are the test's own
// actions.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/group.h"
#include "tests/driver/perf_event/breakpoint_probe.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::IsOkAndHolds;
using fleetperf::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;

using CounterKernelTest = KernelTest;

// Touches `pages` new pages, each of which is a page fault. AddressSanitizer
// would touch pages of its own, too.
[[gnu::no_sanitize_address]] void FaultPages(int pages) {
  const size_t page = LinuxSystem().page_size();
  const size_t size = pages * page;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += page) {
    static_cast<volatile char*>(memory)[i] = 1;
  }
  munmap(memory, size);
}

// Counts the page faults of touching `pages` pages. The first time, loading the
// code that is executed is page faults, too.
template <typename Events>
absl::Status CountFaults(Events& events, int pages) {
  absl::Status status;
  for (int i = 0; i < 2 && status.ok(); ++i) {
    status.Update(events.Reset());
    status.Update(events.Enable());
    FaultPages(pages);
    status.Update(events.Disable());
  }
  return status;
}

Builder PageFaults() { return Builder(Software(SoftwareEvent::kPageFaults)); }

// The word that breakpoints watch.
volatile int watched_word;

[[gnu::noinline]] void WatchedFunction() { asm volatile(""); }

TEST_F(CounterKernelTest, CountsPageFaultsExactly) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().Build());
  FaultPages(1);  // disabled: not counted
  ASSERT_OK(CountFaults(faults, 64));
  FaultPages(1);
  EXPECT_THAT(faults.Read(), IsOkAndHolds(64u));
  ASSERT_OK(faults.Reset());
  EXPECT_THAT(faults.Read(), IsOkAndHolds(0u));
}

TEST_F(CounterKernelTest, ReadsTimesIdAndLostRecords) {
  ASSERT_OK_AND_ASSIGN(
      Counter clock,
      Builder(Software(SoftwareEvent::kTaskClock))
          .ReadFormat(read_format::kTotalTimeEnabled |
                      read_format::kTotalTimeRunning | read_format::kId)
          .Enabled()
          .Build());
  ASSERT_OK_AND_ASSIGN(const CounterValue value, clock.ReadFull());
  EXPECT_THAT(value.id, Optional(clock.id()));
  ASSERT_TRUE(value.time_enabled && value.time_running);
  EXPECT_EQ(value.time_enabled, value.time_running);
  EXPECT_EQ(value.lost, std::nullopt);
}

TEST_F(CounterKernelTest, AnEventThatWasNeverEnabledHasNoScaledValue) {
  ASSERT_OK_AND_ASSIGN(const Counter faults, PageFaults().Build());
  EXPECT_THAT(faults.ReadScaled(), IsOkAndHolds(std::nullopt));
}

TEST_F(CounterKernelTest, BreakpointsCountEachWrite) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  const Builder builder(Breakpoint(BreakpointAccess::kWrite,
                                   reinterpret_cast<uintptr_t>(&watched_word),
                                   sizeof(watched_word)));
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter writes, builder.Build());
  ASSERT_OK(writes.Enable());
  for (int i = 0; i < 1000; ++i) watched_word = i;
  ASSERT_OK(writes.Disable());
  EXPECT_THAT(writes.Read(), IsOkAndHolds(1000u));
}

TEST_F(CounterKernelTest, BreakpointsCountEachRead) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  const Builder builder(Breakpoint(BreakpointAccess::kReadWrite,
                                   reinterpret_cast<uintptr_t>(&watched_word),
                                   sizeof(watched_word)));
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter reads, builder.Build());
  ASSERT_OK(reads.Enable());
  for (int i = 0; i < 1000; ++i) static_cast<void>(watched_word);
  ASSERT_OK(reads.Disable());
  EXPECT_THAT(reads.Read(), IsOkAndHolds(1000u));
}

TEST_F(CounterKernelTest, BreakpointsCountEachCall) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  const Builder builder(
      Breakpoint(BreakpointAccess::kExecute,
                 reinterpret_cast<uintptr_t>(&WatchedFunction)));
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter calls, builder.Build());
  ASSERT_OK(calls.Enable());
  for (int i = 0; i < 1000; ++i) WatchedFunction();
  ASSERT_OK(calls.Disable());
  EXPECT_THAT(calls.Read(), IsOkAndHolds(1000u));
}

TEST_F(CounterKernelTest, ModifyAttributesMovesABreakpoint) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  static volatile int other_word;
  const auto watch = [](const volatile int* word) {
    return Builder(Breakpoint(BreakpointAccess::kWrite,
                              reinterpret_cast<uintptr_t>(word), sizeof(int)))
        .Enabled();
  };
  SKIP_UNLESS_OPENS(watch(&watched_word));
  ASSERT_OK_AND_ASSIGN(Counter writes, watch(&watched_word).Build());
  watched_word = 1;
  ASSERT_OK(writes.ModifyAttributes(watch(&other_word)));
  watched_word = 2;  // no longer counted
  other_word = 1;
  other_word = 2;
  EXPECT_THAT(writes.Read(), IsOkAndHolds(3u));
}

TEST_F(CounterKernelTest, InheritCountsChildProcesses) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().Inherit().Build());
  ASSERT_OK(faults.Enable());
  const pid_t child = fork();
  if (child == 0) {
    FaultPages(200);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_OK(faults.Disable());
  // Copies of the parent's pages are faults, too.
  ASSERT_OK_AND_ASSIGN(const uint64_t count, faults.Read());
  EXPECT_GE(count, 200u);
}

TEST_F(CounterKernelTest, GroupsCountTogether) {
  ASSERT_OK_AND_ASSIGN(Group group,
                       Group::Create(Builder(Software(SoftwareEvent::kDummy))));
  ASSERT_OK_AND_ASSIGN(const size_t faults, group.Add(PageFaults()));
  ASSERT_OK_AND_ASSIGN(
      const size_t minor,
      group.Add(Builder(Software(SoftwareEvent::kPageFaultsMinor))));
  FaultPages(5);  // disabled
  ASSERT_OK(CountFaults(group, 10));
  GroupValues values;
  ASSERT_OK(group.Read(&values));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values.entries()[faults].value, 10u);
  EXPECT_EQ(values.entries()[minor].value, 10u);
  EXPECT_EQ(values.Find(group[minor].id())->value, 10u);
  EXPECT_THAT(group[minor].Read(), IsOkAndHolds(10u));
  EXPECT_EQ(values.time_enabled(), values.time_running());

  ASSERT_OK(group.Reset());
  ASSERT_OK(group.Read(&values));
  EXPECT_EQ(values.entries()[faults].value, 0u);
}

// The kernel reports ENOSPC for a buffer that is too small.
TEST_F(CounterKernelTest, ReadsGroupsThatGrewElsewhere) {
  Builder member =
      Builder(Software(SoftwareEvent::kDummy)).ReadFormat(read_format::kGroup);
  ASSERT_OK_AND_ASSIGN(const Counter leader, member.Build());
  std::vector<Counter> members;
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK_AND_ASSIGN(Counter counter, member.BuildWithGroup(leader));
    members.push_back(std::move(counter));
  }
  GroupValues values;
  ASSERT_OK(leader.ReadGroup(&values));
  EXPECT_EQ(values.size(), 41u);
}

TEST_F(CounterKernelTest, AMemberOutlivesItsLeader) {
  std::optional<Counter> leader = *Builder(Software(SoftwareEvent::kDummy))
                                       .ReadFormat(read_format::kGroup)
                                       .Build();
  ASSERT_OK_AND_ASSIGN(
      Counter faults,
      PageFaults().ReadFormat(read_format::kGroup).BuildWithGroup(*leader));
  leader.reset();
  ASSERT_OK(CountFaults(faults, 3));
  GroupValues values;
  ASSERT_OK(faults.ReadGroup(&values));
  EXPECT_EQ(values.size(), 1u);
  EXPECT_THAT(faults.Read(), IsOkAndHolds(3u));
}

TEST_F(CounterKernelTest, AMemberHasItsLeadersTarget) {
  ASSERT_OK_AND_ASSIGN(const Counter leader,
                       Builder(Software(SoftwareEvent::kDummy)).Build());
  EXPECT_THAT(PageFaults().OneCpu(0).BuildWithGroup(leader),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("page-faults: the kernel refuses")));
}

TEST_F(CounterKernelTest, CountsOneCpu) {
  const Builder builder =
      Builder(Software(SoftwareEvent::kContextSwitches)).AnyProcess().OneCpu(0);
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter switches, builder.Build());
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const absl::Cleanup restore = [&] {
    sched_setaffinity(0, sizeof(before), &before);
  };
  cpu_set_t cpu0;
  CPU_ZERO(&cpu0);
  CPU_SET(0, &cpu0);
  if (sched_setaffinity(0, sizeof(cpu0), &cpu0) != 0) {
    GTEST_SKIP() << "The test may not run on CPU 0";
  }
  ASSERT_OK(switches.Enable());
  // Each byte that the child answers needs a switch to it and one back.
  int there[2], back[2];
  ASSERT_EQ(pipe(there) + pipe(back), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    while (read(there[0], &byte, 1) == 1 && byte == 0) {
      (void)!write(back[1], &byte, 1);
    }
    _exit(0);
  }
  const auto make_round_trips = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(write(there[1], &byte, 1), 1);
      ASSERT_EQ(read(back[0], &byte, 1), 1);
    }
  };
  // The first event of its kind may begin to count a moment after Enable: the
  // kernel patches its scheduler for it.
  const absl::Time deadline = absl::Now() + testing::kPatience;
  while (*switches.Read() == 0 && absl::Now() < deadline) make_round_trips(1);
  ASSERT_OK(switches.Reset());
  make_round_trips(100);
  ASSERT_OK(switches.Disable());
  byte = 1;
  ASSERT_EQ(write(there[1], &byte, 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  for (const int end : {there[0], there[1], back[0], back[1]}) close(end);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, switches.Read());
  EXPECT_GE(count, 200u);
}

TEST_F(CounterKernelTest, CountsOneCgroup) {
  std::string root;
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                           "/sys/fs/cgroup/perf_event"}) {
    if (access(absl::StrCat(path, "/cgroup.procs").c_str(), W_OK) == 0) {
      root = path;
    }
  }
  if (root.empty()) GTEST_SKIP() << "No cgroup hierarchy is writable";
  const std::string path = absl::StrCat(root, "/fleetperf_test.", getpid());
  if (mkdir(path.c_str(), 0700) != 0) {
    GTEST_SKIP() << "Cannot create a cgroup in " << root;
  }
  const absl::Cleanup remove = [&] { rmdir(path.c_str()); };
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(directory, 0);
  const absl::Cleanup closing = [&] { close(directory); };

  const int cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::vector<Counter> counters;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const Builder builder =
        PageFaults().ObserveCgroup(directory).OneCpu(cpu).Enabled();
    SKIP_UNLESS_OPENS(builder);
    ASSERT_OK_AND_ASSIGN(Counter counter, builder.Build());
    counters.push_back(std::move(counter));
  }
  FaultPages(100);  // outside the cgroup
  const pid_t child = fork();
  if (child == 0) {
    const int procs = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (write(procs, "0", 1) != 1) _exit(1);
    FaultPages(50);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (status != 0) GTEST_SKIP() << "Cannot move a process to a cgroup";
  uint64_t total = 0;
  for (const Counter& counter : counters) {
    ASSERT_OK_AND_ASSIGN(const uint64_t count, counter.Read());
    total += count;
  }
  EXPECT_GE(total, 50u);
  EXPECT_LT(total, 100u);
}

TEST_F(CounterKernelTest, RefreshEndsAfterThatManyOverflows) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().SamplePeriod(10).Build());
  ASSERT_OK(faults.Refresh(2));
  FaultPages(100);
  EXPECT_THAT(faults.Read(), IsOkAndHolds(20u));
}

TEST_F(CounterKernelTest, SetPeriodChangesTheOverflows) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().SamplePeriod(1000).Build());
  ASSERT_OK(faults.SetPeriod(5));
  ASSERT_OK(faults.Refresh(3));
  FaultPages(100);
  EXPECT_THAT(faults.Read(), IsOkAndHolds(15u));
}

// An int of -1 would be descriptor 4294967295.
TEST_F(CounterKernelTest, SetOutputCanBeUndone) {
  ASSERT_OK_AND_ASSIGN(Counter counter, PageFaults().Build());
  EXPECT_OK(counter.SetOutput(nullptr));
}

TEST_F(CounterKernelTest, EventsOfOtherProcesses) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    if (read(pipe_ends[0], &byte, 1) == 1) FaultPages(30);
    _exit(0);
  }
  ASSERT_OK_AND_ASSIGN(Counter faults,
                       PageFaults().ObserveProcess(child).Enabled().Build());
  ASSERT_EQ(write(pipe_ends[1], "x", 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, faults.Read());
  EXPECT_GE(count, 30u);

  EXPECT_THAT(PageFaults().ObserveProcess(child).Build(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(absl::StrCat("process ", child,
                                              " does not exist any more"))));
}

TEST_F(CounterKernelTest, CpusThatDoNotExistAreErrors) {
  for (const int cpu : {INT_MAX, -1, -5}) {
    EXPECT_THAT(PageFaults().OneCpu(cpu).Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("page-faults: the kernel refuses")))
        << cpu;
  }
}

TEST_F(CounterKernelTest, AllProcessesOnAllCpusAreNotOneEvent) {
  EXPECT_THAT(PageFaults().AnyProcess().Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("open an event on each CPU")));
}

TEST_F(CounterKernelTest, FiltersNeedATracepoint) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().Build());
  EXPECT_THAT(
      faults.SetFilter("pid == 1"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("page-faults: cannot set the filter \"pid == 1\"")));
}

TEST_F(CounterKernelTest, ScaledValuesNeedBothTimes) {
  ASSERT_OK_AND_ASSIGN(const Counter faults,
                       PageFaults().ReadFormat(0).Build());
  EXPECT_THAT(faults.ReadScaled(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("kTotalTimeEnabled")));
  GroupValues values;
  EXPECT_THAT(
      faults.ReadGroup(&values),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("kGroup")));
}

TEST_F(CounterKernelTest, AReleasedDescriptorStaysOpen) {
  ASSERT_OK_AND_ASSIGN(Counter faults, PageFaults().Build());
  const int descriptor = faults.Release();
  { const Counter gone = std::move(faults); }
  EXPECT_GE(fcntl(descriptor, F_GETFD), 0);
  close(descriptor);
}

}  // namespace
}  // namespace fleetperf::perf_event
