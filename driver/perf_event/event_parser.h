// Events by the names that `perf` gives them.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_EVENT_PARSER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_EVENT_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

// One event's text is, as in perf-list(1):
//   cycles  LLC-load-misses       hardware, software and cache events
//   faults                        with perf's aliases
//   r1a8                          a raw number of the core PMU
//   PMU/TERMS/  cpu/event=0x3c/   an event of a PMU: see Pmu::MakeEvent
//   mem-loads                     an event that one PMU names
//   sched:sched_switch            a tracepoint
//   mem:ADDRESS[/LENGTH][:rw|:x]  a breakpoint of 1, 2, 4 or 8 bytes, default 4
//                                 and :rw; :x has the length of a pointer
// followed by modifiers after ":", or after the last "/" of a PMU's event:
//   u k h     counts only in user mode, the kernel, the hypervisor, or several;
//             without them, in all modes, as perf does; that needs
//             CAP_PERFMON or perf_event_paranoid below 2
//   G H       counts only in guests, only in the host, or in both
//   I         does not count while the CPU is idle
//   p pp ppp  precise_ip 1, 2, 3; P: the PMU's maximum. Excludes guests, unless
//             G or H is given
//   D e       pinned; exclusive
// The modifiers S, W, b, R and X belong to perf's groups and samples, and are
// errors. So are groups, wildcards and lists.

// Parses an event and finds it on this machine. Event::name is the canonical
// text. Reads sysfs or tracefs for events of PMUs and tracepoints. Needs no
// capability; tracefs is often readable for root only. Thread-safe. All errors
// name the event:
//   InvalidArgument      the part that is wrong
//   NotFound             the machine lacks the PMU, its event, or the
//                        tracepoint; the message suggests others
//   FailedPrecondition, PermissionDenied   tracefs: see Tracepoint
//   Unimplemented        probes, which are functions of probe.h
// A hardware event is not checked: Builder::Build returns NotFound if the
// machine has no such event.
absl::StatusOr<Event> ParseEvent(absl::string_view text,
                                 System& system = LinuxSystem());

// The same, for a text that stands for the same event of several PMUs. The sum
// of their counts is the count of the text. All have the same Event::name.
//   cycles       on a hybrid CPU: one event of each core PMU, with its CPUs
//                (Linux 5.13). ParseEvent's event is that of the first core PMU
//   mem-loads    one event of each PMU that names it
//   uncore_imc/cas_count_read/   one event of uncore_imc_0, uncore_imc_1, etc.
absl::StatusOr<std::vector<Event>> ParseEvents(absl::string_view text,
                                               System& system = LinuxSystem());

// Returns the canonical text of an event: the same for texts that differ only
// in aliases (cycles is cpu-cycles), the order of terms and modifiers, the
// notation of numbers (0x3c is 60), or spaces. It depends on nothing but the
// text, so that it is the same on all machines and in all versions; an id may
// be derived from it. The canonical text of a canonical text is itself.
// A name of a PMU's event stays as it is: cpu/cpu-cycles/ is not
// cpu/event=0x3c/.
//   InvalidArgument   the part that is wrong
absl::StatusOr<std::string> CanonicalEventText(absl::string_view text);

// Returns names for ParseEvent that this machine has: first hardware events if
// it has a core PMU, software events, cache events if it has a core PMU, and
// the named events of all PMUs, such as msr/tsc/. A parameter, which the user
// must replace, is in its event's name: hv/domain,core=?/. Tracepoints are left
// out. A model of CPU can lack some of the hardware and cache events.
absl::StatusOr<std::vector<std::string>> ListEvents(
    System& system = LinuxSystem());

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_EVENT_PARSER_H_
