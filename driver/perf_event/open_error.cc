#include "driver/perf_event/open_error.h"

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/perf_event/attribute_names.h"

namespace fleetperf::perf_event {
namespace {

constexpr char kParanoidFile[] = "/proc/sys/kernel/perf_event_paranoid";
constexpr char kDevices[] = "/sys/bus/event_source/devices";

std::string ReadLine(System& system, const std::string& path) {
  const absl::StatusOr<std::string> text = system.ReadFile(path);
  if (!text.ok()) return "";
  return std::string(absl::StripAsciiWhitespace(*text));
}

// The highest perf_event_paranoid that permits the event without a capability.
int HighestParanoid(const RefusedOpen& refused) {
  if (refused.attributes->type == type::kTracepoint) return -1;
  if (refused.pid == -1 || refused.is_cgroup) return 0;
  if ((refused.attributes->flags & flag::kExcludeKernel) == 0) return 1;
  return 2;
}

absl::Status NotPermitted(System& system, absl::string_view name,
                          const RefusedOpen& refused) {
  const std::string paranoid = ReadLine(system, kParanoidFile);
  if (paranoid.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat(name, ": not permitted, and ", kParanoidFile,
                     " is missing: the kernel, or the container's seccomp "
                     "profile, does not offer perf_event_open"));
  }
  const int highest = HighestParanoid(refused);
  int level = 0;
  if (absl::SimpleAtoi(paranoid, &level) && level <= highest) {
    return absl::PermissionDeniedError(absl::StrCat(
        name, ": not permitted although perf_event_paranoid is ", level,
        "; the process needs CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), the "
        "right to ptrace the target, or a container whose seccomp profile "
        "permits perf_event_open"));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      name, ": not permitted, because perf_event_paranoid is ", paranoid,
      " and the process lacks CAP_PERFMON; grant it (setcap cap_perfmon+ep "
      "PROGRAM) or run: sysctl kernel.perf_event_paranoid=",
      highest, highest == 1 ? "; or exclude the kernel, as \":u\" does" : ""));
}

absl::Status TooOld(System& system, absl::string_view name,
                    const RefusedOpen& refused) {
  std::vector<std::string> options;
  for (const UsedAttribute& used : UsedAttributes(*refused.attributes)) {
    if (used.end > refused.known_size) {
      options.push_back(absl::StrCat(used.name, " (Linux ", used.since, ")"));
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      name, ": kernel ", ReadLine(system, "/proc/sys/kernel/osrelease"),
      " knows perf_event_attr of ", refused.known_size, " bytes, without ",
      options.empty() ? "the options that are set"
                      : absl::StrJoin(options, ", "),
      "; leave them out, or use a newer kernel"));
}

absl::Status Refused(System& system, absl::string_view name,
                     const RefusedOpen& refused) {
  const std::string release = ReadLine(system, "/proc/sys/kernel/osrelease");
  std::vector<std::string> newer;
  for (const UsedAttribute& used : UsedAttributes(*refused.attributes)) {
    if (IsOlder(release, used.since)) {
      newer.push_back(absl::StrCat(used.name, " (Linux ", used.since, ")"));
    }
  }
  if (!newer.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(name, ": kernel ", release,
                     " is too old for: ", absl::StrJoin(newer, ", ")));
  }
  if (refused.cpu == -1 && refused.pid == -1) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        ": all processes on all CPUs is not one event; open an event on "
        "each CPU with OneCpu()"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": the kernel refuses the combination of event, target (process ",
      refused.pid, ", CPU ", refused.cpu, ") and options ",
      absl::StrJoin(UsedAttributes(*refused.attributes), " ",
                    [](std::string* out, const UsedAttribute& used) {
                      absl::StrAppend(out, used.name, "=", used.value);
                    })));
}

// Every PMU of a CPU has "cpu" in its name: cpu, cpu_core, cpu_atom, cpum_cf,
// armv8_cortex_a53 being the exception.
bool HasCpuPmu(System& system) {
  const auto devices = system.ListDirectory(kDevices);
  if (!devices.ok()) return true;  // unknown
  for (const std::string& device : *devices) {
    if (absl::StartsWith(device, "cpu") || absl::StartsWith(device, "armv")) {
      return true;
    }
  }
  return false;
}

bool NeedsCpuPmu(const RefusedOpen& refused) {
  const uint32_t event_type = refused.attributes->type;
  return event_type == type::kHardware || event_type == type::kCache ||
         event_type == type::kRaw;
}

absl::Status Absent(System& system, absl::string_view name,
                    const RefusedOpen& refused) {
  if (NeedsCpuPmu(refused)) {
    if (!HasCpuPmu(system)) {
      return absl::NotFoundError(absl::StrCat(
          name, ": this machine has no hardware PMU (", kDevices,
          " has no cpu); a virtual machine gets one from its host, if the "
          "host passes it on"));
    }
    return absl::NotFoundError(
        absl::StrCat(name, ": the CPU's PMU does not have this event"));
  }
  return absl::NotFoundError(
      absl::StrCat(name, ": no PMU of this machine has this event"));
}

}  // namespace

absl::Status OpenError(System& system, int error, const RefusedOpen& refused) {
  const std::string& name = refused.event->name;
  switch (error) {
    case E2BIG:
      return TooOld(system, name, refused);
    case EACCES:
    case EPERM:
      // The kernel checks rights before it looks for the PMU.
      if (NeedsCpuPmu(refused) && !HasCpuPmu(system)) {
        return Absent(system, name, refused);
      }
      return NotPermitted(system, name, refused);
    case EINVAL:
      return Refused(system, name, refused);
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return Absent(system, name, refused);
    case EMFILE:
      return absl::ResourceExhaustedError(absl::StrCat(
          name,
          ": the process has no descriptor left; each event on each CPU "
          "or process needs one: raise RLIMIT_NOFILE (ulimit -n, or "
          "LimitNOFILE= of a systemd unit)"));
    case ENFILE:
      return absl::ResourceExhaustedError(absl::StrCat(
          name, ": the machine has no descriptor left; raise fs.file-max"));
    case ENOSPC:
      return absl::ResourceExhaustedError(absl::StrCat(
          name,
          ": the CPU has no breakpoint register left; close another "
          "breakpoint (debuggers use them, too)"));
    case EBUSY:
      return absl::UnavailableError(absl::StrCat(
          name,
          ": another event has the PMU exclusively; see `lsof` for "
          "users of anon_inode:[perf_event]"));
    case ESRCH:
      return absl::NotFoundError(absl::StrCat(name, ": process ", refused.pid,
                                              " does not exist any more"));
    case EOPNOTSUPP:
      return absl::UnimplementedError(
          absl::StrCat(name,
                       ": the PMU does not support an option: sampling, branch "
                       "records, precise addresses or AUX output"));
    default:
      return absl::ErrnoToStatus(error, absl::StrCat(name, ": cannot open"));
  }
}

}  // namespace fleetperf::perf_event
