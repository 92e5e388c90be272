// Tracepoints, probes, and the counters in model-specific registers of x86.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_PROBE_H_
#define FLEETPERF_DRIVER_PERF_EVENT_PROBE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

// Events of this header have no flags: most of them occur in the kernel, so
// that they never count if the kernel is excluded. The functions are
// thread-safe and need no capability. To open the events needs more:
//   tracepoints   CAP_PERFMON, or perf_event_paranoid below 2 (below 1 for
//                 whole CPUs, and below 0 for samples with sample::kRaw)
//   probes        CAP_PERFMON
//   MSRs          CAP_PERFMON, or perf_event_paranoid below 2 (below 1 for
//                 whole CPUs)
// Before Linux 5.8, CAP_SYS_ADMIN takes the place of CAP_PERFMON.

// A tracepoint by its name, "sched:sched_switch". Reads its number from
// /sys/kernel/tracing, or from /sys/kernel/debug/tracing if there is none.
//   InvalidArgument      `name` is not SYSTEM:EVENT
//   FailedPrecondition   tracefs is not mounted; the message says how to
//   NotFound             no such tracepoint; the message suggests others
//   PermissionDenied     tracefs is not readable; the message says how to
absl::StatusOr<Event> Tracepoint(absl::string_view name,
                                 System& system = LinuxSystem());

// A tracepoint by the number in its file `id`, which changes from kernel to
// kernel.
Event TracepointById(uint64_t id);

// Execution of the instruction `offset` bytes into a function of the kernel, or
// at an address of it, or return from a function. Linux 4.17.
//   NotFound   the kernel has no PMU "kprobe" (CONFIG_KPROBE_EVENTS)
// A function that does not exist is an error of Builder::Build.
absl::StatusOr<Event> Kprobe(absl::string_view function, uint64_t offset = 0,
                             System& system = LinuxSystem());
absl::StatusOr<Event> Kretprobe(absl::string_view function,
                                System& system = LinuxSystem());
absl::StatusOr<Event> KprobeAt(uint64_t address,
                               System& system = LinuxSystem());
absl::StatusOr<Event> KretprobeAt(uint64_t address,
                                  System& system = LinuxSystem());

// Execution of the instruction at a byte offset into a file (not an address),
// in any process that maps the file, or return from the function there. Linux
// 4.17.
//   NotFound   the kernel has no PMU "uprobe" (CONFIG_UPROBE_EVENTS)
// A file that does not exist is an error of Builder::Build.
absl::StatusOr<Event> Uprobe(absl::string_view file, uint64_t offset,
                             System& system = LinuxSystem());
absl::StatusOr<Event> Uretprobe(absl::string_view file, uint64_t offset,
                                System& system = LinuxSystem());

enum class MsrEvent {
  kTsc,               // cycles of the time-stamp counter
  kAperf,             // cycles at the real frequency, while not idle
  kMperf,             // cycles at the nominal frequency, while not idle
  kPperf,             // the same as kAperf, without stalls
  kSmi,               // system management interrupts
  kPtsc,              // AMD's performance time-stamp counter
  kIrperf,            // AMD's instructions retired
  kCpuThermalMargin,  // degrees Celsius below the throttling temperature
};

// An event of the PMU "msr".
//   NotFound   no such PMU (not x86), or the CPU lacks the register
absl::StatusOr<Event> Msr(MsrEvent event, System& system = LinuxSystem());

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_PROBE_H_
