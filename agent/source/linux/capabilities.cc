#include "agent/source/linux/capabilities.h"

#include <linux/capability.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/missing_rights.h"
#include "base/files.h"
#include "perflib/path.h"

namespace fleetperf::agent {
namespace {

// Values of a counterset that a capability brings.
struct Need {
  absl::string_view counterset;
  int capability;
  absl::string_view name;  // of the capability, as setcap has it
  absl::string_view values;
};

// Countersets of processes.
constexpr absl::string_view kProcesses[] = {"Process V2", "Process",
                                            "Linux Cgroup Process", "Thread"};

constexpr absl::string_view kIo =
    "of other users' processes, the IO, Storage and Set Size values, and "
    "Handle Count before Linux 6.2,";

constexpr absl::string_view kOthers = "other users' processes";

constexpr Need kNeeds[] = {
    {"Process V2", CAP_SYS_PTRACE, "cap_sys_ptrace", kIo},
    {"Process", CAP_SYS_PTRACE, "cap_sys_ptrace", kIo},
    {"Linux Cgroup Process", CAP_SYS_PTRACE, "cap_sys_ptrace", kIo},
    {"GPU Engine", CAP_SYS_PTRACE, "cap_sys_ptrace", kOthers},
    {"GPU Process Memory", CAP_SYS_PTRACE, "cap_sys_ptrace", kOthers},
    {"GPU Adapter Memory", CAP_SYS_PTRACE, "cap_sys_ptrace", kOthers},
};

// A status without the line is that of a process with all capabilities: the
// values themselves show what is missing.
bool HasCapability(absl::string_view status, int capability) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::ConsumePrefix(&line, "CapEff:\t")) continue;
    uint64_t effective;
    if (!absl::SimpleHexAtoi(line, &effective)) break;
    return (effective >> capability & 1) != 0;
  }
  return true;
}

}  // namespace

std::string MissingRightsIn(absl::string_view status, bool sees_others,
                            absl::string_view counterset) {
  const perflib::Pattern pattern(counterset);
  const auto matches = [&](absl::string_view name) {
    return pattern.Matches(name);
  };
  if (!sees_others && !HasCapability(status, CAP_SYS_PTRACE) &&
      std::any_of(std::begin(kProcesses), std::end(kProcesses), matches)) {
    return "other users' processes are absent, because /proc is mounted with "
           "hidepid, and the process lacks CAP_SYS_PTRACE; grant it (setcap "
           "cap_sys_ptrace+ep PROGRAM), or add its user to the group that the "
           "mount option gid names";
  }
  for (const Need& need : kNeeds) {
    if (!matches(need.counterset) || HasCapability(status, need.capability)) {
      continue;
    }
    return absl::StrCat(need.values, " are absent, because the process lacks ",
                        absl::AsciiStrToUpper(need.name), "; grant it (setcap ",
                        need.name, "+ep PROGRAM)");
  }
  return "";
}

std::string MissingRights(absl::string_view counterset) {
  constexpr char kMeter[] = "/sys/class/powercap/intel-rapl:0/energy_uj";
  if (perflib::Pattern(counterset).Matches("Energy Meter") &&
      absl::IsPermissionDenied(ReadFile(kMeter).status())) {
    return "all meters are absent, because only root may read them, or a "
           "process with CAP_DAC_READ_SEARCH; grant it (setcap "
           "cap_dac_read_search+ep PROGRAM)";
  }
  return MissingRightsIn(ReadFile("/proc/self/status").value_or(""),
                         ReadFile("/proc/1/stat").ok(), counterset);
}

}  // namespace fleetperf::agent
