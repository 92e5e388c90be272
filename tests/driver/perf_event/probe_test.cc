#include "driver/perf_event/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/driver/perf_event/file_system.h"

namespace fleetperf::perf_event {
namespace {

using testing::FileSystem;
using ::testing::HasSubstr;

constexpr char kTracing[] = "/sys/kernel/tracing";
constexpr char kDebugTracing[] = "/sys/kernel/debug/tracing";
constexpr char kSwitch[] = "/events/sched/sched_switch/id";

FileSystem Probes() {
  const std::string devices = "/sys/bus/event_source/devices/";
  return FileSystem(
      {{devices + "kprobe/type", "6\n"},
       {devices + "kprobe/format/retprobe", "config:3\n"},
       {devices + "uprobe/type", "7\n"},
       {devices + "uprobe/format/retprobe", "config:0\n"},
       {devices + "uprobe/format/ref_ctr_offset", "config:32-63\n"}});
}

TEST(TracepointTest, ReadsTheNumber) {
  FileSystem system({{std::string(kTracing) + kSwitch, "314\n"}});
  const absl::StatusOr<Event> event = Tracepoint("sched:sched_switch", system);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 2u);
  EXPECT_EQ(event->config, 314u);
  EXPECT_EQ(event->flags, 0u);
  EXPECT_EQ(event->name, "sched:sched_switch");
  EXPECT_EQ(TracepointById(314).config, 314u);
  EXPECT_EQ(TracepointById(314).flags, 0u);
}

// Defect 4 of the crate: it reads only the directory in debugfs.
TEST(TracepointTest, PrefersTracefsToDebugfs) {
  FileSystem system({{std::string(kTracing) + kSwitch, "314\n"},
                     {std::string(kDebugTracing) + kSwitch, "315\n"}});
  EXPECT_EQ(Tracepoint("sched:sched_switch", system)->config, 314u);
  FileSystem old({{std::string(kDebugTracing) + kSwitch, "315\n"}});
  const absl::StatusOr<Event> event = Tracepoint("sched:sched_switch", old);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 315u);
}

TEST(TracepointTest, SaysHowToMountTracefs) {
  FileSystem system;
  const absl::Status status = Tracepoint("sched:sched_switch", system).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("mount -t tracefs nodev /sys/kernel/tracing"));
}

TEST(TracepointTest, SaysHowToPermitReading) {
  FileSystem system({{std::string(kTracing) + kSwitch, "314\n"}});
  system.Forbid(kTracing);
  for (const char* name : {"sched:sched_switch", "absent:absent"}) {
    const absl::Status status = Tracepoint(name, system).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(status.message(),
                HasSubstr("mount -o remount,mode=755 /sys/kernel/tracing"));
  }
}

TEST(TracepointTest, SuggestsOthers) {
  FileSystem system({{std::string(kTracing) + kSwitch, "314\n"}});
  const absl::Status status = Tracepoint("sched:sched_swich", system).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("\"sched:sched_swich\""));
  EXPECT_THAT(status.message(), HasSubstr("did you mean \"sched_switch\""));
}

TEST(TracepointTest, RejectsOtherTexts) {
  FileSystem system({{std::string(kTracing) + kSwitch, "x\n"}});
  for (const char* name :
       {"", "sched", "sched:", ":a", "../a:b", "a:b/c", "sched:sched_switch"}) {
    EXPECT_EQ(Tracepoint(name, system).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

// Defect 3 of the crate: a probe at an address gets the type of uprobes.
TEST(ProbeTest, KernelProbesHaveTheKprobePmu) {
  FileSystem system = Probes();
  const absl::StatusOr<Event> function = Kprobe("do_exit", 16, system);
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_EQ(function->type, 6u);
  EXPECT_EQ(function->config, 0u);
  EXPECT_EQ(function->probe_text, "do_exit");
  EXPECT_EQ(function->config2, 16u);
  EXPECT_EQ(function->flags, 0u);
  EXPECT_EQ(function->name, "kprobe:do_exit+0x10");
  const absl::StatusOr<Event> address = KprobeAt(0xffffffff81000000, system);
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->type, 6u);
  EXPECT_EQ(address->probe_text, "");
  EXPECT_EQ(address->config1, 0u);
  EXPECT_EQ(address->config2, 0xffffffff81000000u);
}

// The bit is where the file `format/retprobe` says.
TEST(ProbeTest, ReturnsAreABitOfTheFormat) {
  FileSystem system = Probes();
  EXPECT_EQ(Kretprobe("do_exit", system)->config, 8u);
  EXPECT_EQ(KretprobeAt(0xffffffff81000000, system)->config, 8u);
  EXPECT_EQ(Uretprobe("/bin/true", 0x40, system)->config, 1u);
}

// Defect 2 of the crate: it has no event for probes of files.
TEST(ProbeTest, FileProbesAreEvents) {
  FileSystem system = Probes();
  const absl::StatusOr<Event> event = Uprobe("/bin/true", 0x1040, system);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 7u);
  EXPECT_EQ(event->config, 0u);
  EXPECT_EQ(event->probe_text, "/bin/true");
  EXPECT_EQ(event->config2, 0x1040u);
  EXPECT_EQ(event->flags, 0u);
  EXPECT_EQ(event->name, "uprobe:/bin/true:0x1040");
}

TEST(ProbeTest, AbsentPmusAreNotFound) {
  FileSystem system;
  const absl::Status status = Kprobe("do_exit", 0, system).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("\"kprobe\""));
  EXPECT_EQ(Uprobe("/bin/true", 0, system).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ProbeTest, RejectsTextsThatTheKernelCannotTake) {
  FileSystem system = Probes();
  for (const std::string& text :
       {std::string(), std::string("a\0b", 3), std::string(5000, 'a')}) {
    EXPECT_EQ(Kprobe(text, 0, system).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Uprobe(text, 0, system).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(MsrTest, EventsAreThoseOfSysfs) {
  const std::string msr = "/sys/bus/event_source/devices/msr/";
  FileSystem system({{msr + "type", "10\n"},
                     {msr + "format/event", "config:0-63\n"},
                     {msr + "events/tsc", "event=0x00\n"},
                     {msr + "events/cpu_thermal_margin", "event=0x07\n"},
                     {msr + "events/cpu_thermal_margin.snapshot", "1\n"},
                     {msr + "events/cpu_thermal_margin.unit", "C\n"}});
  EXPECT_EQ(Msr(MsrEvent::kTsc, system)->config, 0u);
  EXPECT_EQ(Msr(MsrEvent::kTsc, system)->flags, 0u);
  EXPECT_EQ(Msr(MsrEvent::kCpuThermalMargin, system)->config, 7u);
  EXPECT_EQ(Msr(MsrEvent::kCpuThermalMargin, system)->unit, "C");
  // The register is absent, so its number must not be guessed.
  const absl::Status status = Msr(MsrEvent::kAperf, system).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("\"aperf\""));
}

}  // namespace
}  // namespace fleetperf::perf_event
