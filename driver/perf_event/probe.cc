#include "driver/perf_event/probe.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"
#include "driver/perf_event/pmu.h"
#include "driver/perf_event/terms.h"

namespace fleetperf::perf_event {
namespace {

constexpr absl::string_view kTracing[] = {"/sys/kernel/tracing",
                                          "/sys/kernel/debug/tracing"};
constexpr size_t kMaxFunction = 512;  // KSYM_NAME_LEN
constexpr size_t kMaxFile = 4096;     // PATH_MAX
constexpr absl::string_view kMsrNames[] = {
    "tsc", "aperf", "mperf",  "pperf",
    "smi", "ptsc",  "irperf", "cpu_thermal_margin"};

absl::Status TracefsNotPermitted(absl::string_view path) {
  return absl::PermissionDeniedError(absl::StrCat(
      "no permission to read ", path, "; run as root, or let all users read: ",
      "mount -o remount,mode=755 ", kTracing[0]));
}

// Explains why no directory has the tracepoint.
absl::Status NoTracepoint(System& system, const std::string& group,
                          const std::string& name) {
  for (const absl::string_view root : kTracing) {
    const std::string events = absl::StrCat(root, "/events");
    const absl::StatusOr<std::vector<std::string>> groups =
        system.ListDirectory(events);
    if (absl::IsPermissionDenied(groups.status()))
      return TracefsNotPermitted(events);
    if (!groups.ok()) continue;
    const absl::StatusOr<std::vector<std::string>> names =
        system.ListDirectory(absl::StrCat(events, "/", group));
    if (names.ok()) {
      return absl::NotFoundError(absl::StrCat("the kernel has no tracepoint \"",
                                              group, ":", name, "\"",
                                              DidYouMean(name, *names)));
    }
    return absl::NotFoundError(
        absl::StrCat("the kernel has no tracepoints of \"", group, "\"",
                     DidYouMean(group, *groups)));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the tracepoint \"", group, ":", name,
      "\" needs tracefs, which is not mounted; mount -t tracefs nodev ",
      kTracing[0]));
}

absl::StatusOr<Event> ProbeEvent(absl::string_view pmu_name,
                                 absl::string_view terms, std::string name,
                                 System& system) {
  const absl::StatusOr<Pmu> pmu = Pmu::Open(pmu_name, system);
  if (absl::IsNotFound(pmu.status())) {
    return absl::NotFoundError(
        absl::StrCat("the kernel has no PMU \"", pmu_name,
                     "\"; it needs Linux 4.17, built with CONFIG_",
                     absl::AsciiStrToUpper(pmu_name), "_EVENTS"));
  }
  if (!pmu.ok()) return pmu.status();
  ASSIGN_OR_RETURN(Event event, pmu->MakeEvent(terms));
  event.name = std::move(name);
  return event;
}

absl::StatusOr<Event> KernelProbe(absl::string_view terms,
                                  absl::string_view function, uint64_t offset,
                                  System& system) {
  if (function.empty() || function.size() >= kMaxFunction ||
      function.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(function), " cannot be the name of a kernel function"));
  }
  const absl::string_view kind = terms.empty() ? "kprobe:" : "kretprobe:";
  std::string name = absl::StrCat(kind, function);
  if (offset != 0) absl::StrAppend(&name, "+0x", absl::Hex(offset));
  ASSIGN_OR_RETURN(Event event,
                   ProbeEvent("kprobe", terms, std::move(name), system));
  event.probe_text = std::string(function);
  event.config2 = offset;
  return event;
}

absl::StatusOr<Event> KernelProbeAt(absl::string_view terms, uint64_t address,
                                    System& system) {
  const absl::string_view kind = terms.empty() ? "kprobe:" : "kretprobe:";
  ASSIGN_OR_RETURN(
      Event event,
      ProbeEvent("kprobe", terms, absl::StrCat(kind, "0x", absl::Hex(address)),
                 system));
  event.config2 = address;
  return event;
}

absl::StatusOr<Event> UserProbe(absl::string_view terms, absl::string_view file,
                                uint64_t offset, System& system) {
  if (file.empty() || file.size() >= kMaxFile ||
      file.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(file), " cannot be the path of a file"));
  }
  const absl::string_view kind = terms.empty() ? "uprobe:" : "uretprobe:";
  ASSIGN_OR_RETURN(
      Event event,
      ProbeEvent("uprobe", terms,
                 absl::StrCat(kind, file, ":0x", absl::Hex(offset)), system));
  event.probe_text = std::string(file);
  event.config2 = offset;
  return event;
}

}  // namespace

absl::StatusOr<Event> Tracepoint(absl::string_view name, System& system) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(name, absl::MaxSplits(':', 1));
  const auto& [group, event] = parts;
  if (!IsName(group) || !IsName(event)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(name), " is no tracepoint; write SYSTEM:EVENT"));
  }
  for (const absl::string_view root : kTracing) {
    const std::string path =
        absl::StrCat(root, "/events/", group, "/", event, "/id");
    const absl::StatusOr<std::string> text = system.ReadFile(path);
    if (absl::IsNotFound(text.status())) continue;
    if (absl::IsPermissionDenied(text.status()))
      return TracefsNotPermitted(path);
    if (!text.ok()) return text.status();
    const std::optional<uint64_t> id =
        ParseNumber(absl::StripAsciiWhitespace(*text));
    if (!id) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " contains ", Quoted(*text), "; expected a number"));
    }
    Event result = TracepointById(*id);
    result.name = std::string(name);
    return result;
  }
  return NoTracepoint(system, group, event);
}

Event TracepointById(uint64_t id) {
  return {.name = absl::StrCat("tracepoint ", id),
          .type = type::kTracepoint,
          .config = id,
          .flags = 0};
}

absl::StatusOr<Event> Kprobe(absl::string_view function, uint64_t offset,
                             System& system) {
  return KernelProbe("", function, offset, system);
}

absl::StatusOr<Event> Kretprobe(absl::string_view function, System& system) {
  return KernelProbe("retprobe", function, 0, system);
}

absl::StatusOr<Event> KprobeAt(uint64_t address, System& system) {
  return KernelProbeAt("", address, system);
}

absl::StatusOr<Event> KretprobeAt(uint64_t address, System& system) {
  return KernelProbeAt("retprobe", address, system);
}

absl::StatusOr<Event> Uprobe(absl::string_view file, uint64_t offset,
                             System& system) {
  return UserProbe("", file, offset, system);
}

absl::StatusOr<Event> Uretprobe(absl::string_view file, uint64_t offset,
                                System& system) {
  return UserProbe("retprobe", file, offset, system);
}

absl::StatusOr<Event> Msr(MsrEvent event, System& system) {
  ASSIGN_OR_RETURN(const Pmu pmu, Pmu::Open("msr", system));
  const absl::string_view name = kMsrNames[static_cast<size_t>(event)];
  // MakeEvent takes the name of no event for that of a field.
  RETURN_IF_ERROR(pmu.ReadEvent(name).status());
  return pmu.MakeEvent(name);
}

}  // namespace fleetperf::perf_event
