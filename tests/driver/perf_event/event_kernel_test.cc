// Events by name and probes, in the kernel that runs the test. The numbers are
// the test's own actions.

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/pmu.h"
#include "driver/perf_event/probe.h"
#include "driver/perf_event/sampler.h"
#include "tests/driver/perf_event/breakpoint_probe.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using fleetperf::testing::IsOkAndHolds;

using EventKernelTest = KernelTest;

volatile uint32_t written_word;

[[gnu::noinline]] int ProbedFunction(int number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}

// Returns the place of an address in the program's file.
std::optional<uint64_t> FileOffset(uint64_t address) {
  const absl::StatusOr<std::string> maps =
      LinuxSystem().ReadFile("/proc/self/maps");
  if (!maps.ok()) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(*maps, '\n')) {
    // START-END MODE OFFSET DEVICE INODE PATH
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    if (parts.size() < 3) continue;
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(parts[0], '-');
    uint64_t start = 0, end = 0, offset = 0;
    if (absl::SimpleHexAtoi(range.first, &start) &&
        absl::SimpleHexAtoi(range.second, &end) &&
        absl::SimpleHexAtoi(parts[2], &offset) && start <= address &&
        address < end) {
      return address - start + offset;
    }
  }
  return std::nullopt;
}

// Mounts tracefs, where it is not mounted, for this process only. Returns why
// that failed, or "".
std::string MountTracefs() {
  constexpr char kMountPoint[] = "/sys/kernel/tracing";
  if (LinuxSystem().ListDirectory(absl::StrCat(kMountPoint, "/events")).ok()) {
    return "";
  }
  if (unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("nodev", kMountPoint, "tracefs", 0, nullptr) != 0) {
    return absl::StrCat("tracefs is not mounted, and mounting it fails: ",
                        std::strerror(errno));
  }
  return "";
}

TEST_F(EventKernelTest, SoftwareEventsOpenByName) {
  // Some occur in the kernel only, which needs a right.
  SKIP_UNLESS_OPENS(Builder(Software(SoftwareEvent::kContextSwitches)));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, ListEvents());
  int count = 0;
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const Event event, ParseEvent(name));
    if (event.type != type::kSoftware) continue;
    EXPECT_OK(Builder(event).Build().status());
    ++count;
  }
  EXPECT_EQ(count, 12);
}

TEST_F(EventKernelTest, BreakpointByNameCountsWritesExactly) {
  SKIP_UNLESS_BREAKPOINTS_TRAP();
  const auto address = reinterpret_cast<uintptr_t>(&written_word);
  ASSERT_OK_AND_ASSIGN(
      const Event event,
      ParseEvent(absl::StrCat("mem:0x", absl::Hex(address), "/4:w")));
  const Builder builder(event);
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter writes, builder.Build());
  ASSERT_OK(writes.Enable());
  for (uint32_t i = 0; i < 1000; ++i) written_word = i;
  ASSERT_OK(writes.Disable());
  written_word = 0;
  EXPECT_THAT(writes.Read(), IsOkAndHolds(1000u));
}

TEST_F(EventKernelTest, TimestampCounterCountsNoMoreThanTheInstruction) {
  const absl::StatusOr<Event> event = ParseEvent("msr/tsc/");
  if (!event.ok()) GTEST_SKIP() << event.status();
  EXPECT_EQ(event->config, Msr(MsrEvent::kTsc)->config);
  EXPECT_EQ(event->flags, 0u);
  const Builder builder(*event);
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Counter tsc, builder.Build());
  const uint64_t before = LinuxSystem().ReadTimestampCounter();
  ASSERT_OK(tsc.Enable());
  ASSERT_OK(tsc.Disable());
  const uint64_t after = LinuxSystem().ReadTimestampCounter();
  ASSERT_OK_AND_ASSIGN(const uint64_t cycles, tsc.Read());
  EXPECT_GT(cycles, 0u);
  EXPECT_LE(cycles, after - before);
}

TEST_F(EventKernelTest, AllPmusOfTheMachineAreReadable) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, ListPmus());
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const Pmu pmu, Pmu::Open(name));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> fields, pmu.Fields());
    for (const std::string& field : fields) {
      EXPECT_OK(pmu.ReadField(field).status());
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> events, pmu.Events());
    for (const std::string& event : events) {
      EXPECT_OK(pmu.ReadEvent(event).status());
    }
  }
}

TEST_F(EventKernelTest, TracepointsCountExactly) {
  if (const std::string error = MountTracefs(); !error.empty()) {
    GTEST_SKIP() << error;
  }
  const absl::StatusOr<Event> event = ParseEvent("syscalls:sys_enter_getppid");
  if (!event.ok()) GTEST_SKIP() << event.status();
  SKIP_UNLESS_OPENS(Builder(*event));
  ASSERT_OK_AND_ASSIGN(Counter calls, Builder(*event).Build());
  ASSERT_OK_AND_ASSIGN(Counter by_id,
                       Builder(TracepointById(event->config)).Build());
  syscall(SYS_getppid);
  ASSERT_OK(calls.Enable());
  ASSERT_OK(by_id.Enable());
  for (int i = 0; i < 50; ++i) syscall(SYS_getppid);
  ASSERT_OK(by_id.Disable());
  ASSERT_OK(calls.Disable());
  syscall(SYS_getppid);
  EXPECT_THAT(calls.Read(), IsOkAndHolds(50u));
  EXPECT_THAT(by_id.Read(), IsOkAndHolds(50u));
}

TEST_F(EventKernelTest, FiltersLetOnlySomeCallsCount) {
  if (const std::string error = MountTracefs(); !error.empty()) {
    GTEST_SKIP() << error;
  }
  const absl::StatusOr<Event> event = Tracepoint("syscalls:sys_enter_close");
  if (!event.ok()) GTEST_SKIP() << event.status();
  SKIP_UNLESS_OPENS(Builder(*event));
  ASSERT_OK_AND_ASSIGN(Counter calls, Builder(*event).Build());
  ASSERT_OK(calls.SetFilter("fd == 99999"));
  ASSERT_OK(calls.Enable());
  for (int i = 0; i < 20; ++i) {
    syscall(SYS_close, 99999);
    syscall(SYS_close, 99998);
  }
  ASSERT_OK(calls.Disable());
  EXPECT_THAT(calls.Read(), IsOkAndHolds(20u));
  EXPECT_FALSE(calls.SetFilter("absent == 1").ok());
}

// The record of a system call's tracepoint starts with the number of the
// tracepoint in 16 bits, and has that of the call at byte 8.
TEST_F(EventKernelTest, RawSamplesOfTracepointsHaveTheirRecord) {
  if (const std::string error = MountTracefs(); !error.empty()) {
    GTEST_SKIP() << error;
  }
  const absl::StatusOr<Event> event = ParseEvent("syscalls:sys_enter_close");
  if (!event.ok()) GTEST_SKIP() << event.status();
  const Builder builder =
      Builder(*event).SamplePeriod(1).Sample(sample::kRaw | sample::kTid);
  SKIP_UNLESS_OPENS(builder);
  ASSERT_OK_AND_ASSIGN(Sampler sampler, Sampler::Create(*builder.Build(), 8));
  ASSERT_OK(sampler.counter().Enable());
  for (int i = 0; i < 5; ++i) syscall(SYS_close, 99999);
  ASSERT_OK(sampler.counter().Disable());
  int samples = 0;
  Record record;
  while (const auto raw = sampler.Next()) {
    ASSERT_OK(sampler.Parse(*raw, &record));
    const absl::string_view bytes = std::get<Sample>(record.data).raw();
    uint16_t number;
    int32_t call;
    int64_t descriptor;
    ASSERT_GE(bytes.size(), 16 + sizeof(descriptor));
    std::memcpy(&number, bytes.data(), sizeof(number));
    std::memcpy(&call, bytes.data() + 8, sizeof(call));
    std::memcpy(&descriptor, bytes.data() + 16, sizeof(descriptor));
    EXPECT_EQ(number, event->config);
    EXPECT_EQ(call, SYS_close);
    // UndefinedBehaviorSanitizer closes pipes of its own.
    samples += descriptor == 99999;
  }
  EXPECT_OK(sampler.status());
  EXPECT_EQ(samples, 5);
}

TEST_F(EventKernelTest, UprobesCountCallsAndReturnsExactly) {
  const std::optional<uint64_t> offset =
      FileOffset(reinterpret_cast<uintptr_t>(&ProbedFunction));
  ASSERT_TRUE(offset.has_value());
  const absl::StatusOr<Event> call = Uprobe("/proc/self/exe", *offset);
  if (!call.ok()) GTEST_SKIP() << call.status();
  ASSERT_OK_AND_ASSIGN(const Event back, Uretprobe("/proc/self/exe", *offset));
  SKIP_UNLESS_OPENS(Builder(*call));
  ASSERT_OK_AND_ASSIGN(Counter calls, Builder(*call).Build());
  ASSERT_OK_AND_ASSIGN(Counter returns, Builder(back).Build());
  int number = ProbedFunction(0);
  ASSERT_OK(calls.Enable());
  for (int i = 0; i < 30; ++i) number = ProbedFunction(number);
  ASSERT_OK(returns.Enable());
  for (int i = 0; i < 70; ++i) number = ProbedFunction(number);
  ASSERT_OK(calls.Disable());
  ASSERT_OK(returns.Disable());
  number = ProbedFunction(number);
  EXPECT_EQ(number, 102);
  EXPECT_THAT(calls.Read(), IsOkAndHolds(100u));
  EXPECT_THAT(returns.Read(), IsOkAndHolds(70u));
}

TEST_F(EventKernelTest, KprobesCountCallsExactly) {
  const absl::StatusOr<Event> event = Kprobe("__x64_sys_getppid");
  if (!event.ok()) GTEST_SKIP() << event.status();
  SKIP_UNLESS_OPENS(Builder(*event));
  ASSERT_OK_AND_ASSIGN(Counter calls, Builder(*event).Build());
  ASSERT_OK(calls.Enable());
  for (int i = 0; i < 50; ++i) syscall(SYS_getppid);
  ASSERT_OK(calls.Disable());
  EXPECT_THAT(calls.Read(), IsOkAndHolds(50u));
}

}  // namespace
}  // namespace fleetperf::perf_event
