#include "agent/source/linux/capabilities.h"

#include <linux/capability.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/missing_rights.h"
#include "base/files.h"
#include "perflib/path.h"

namespace fleetperf::agent {
namespace {

// Values of a counterset that a capability brings, perhaps with others.
struct Need {
  absl::string_view counterset;
  uint64_t any_of;         // bits of capabilities, one of which is enough
  absl::string_view name;  // of the one to grant, as setcap has it
  absl::string_view values;
};

// Countersets of processes.
constexpr absl::string_view kProcesses[] = {"Process V2", "Process",
                                            "Linux Cgroup Process", "Thread"};

constexpr uint64_t kPtrace = uint64_t{1} << CAP_SYS_PTRACE;
// For files in /proc/PID that only their owner may read.
constexpr uint64_t kReadAll =
    uint64_t{1} << CAP_DAC_READ_SEARCH | uint64_t{1} << CAP_DAC_OVERRIDE;

constexpr absl::string_view kPtraceName = "cap_sys_ptrace";
constexpr absl::string_view kReadAllName = "cap_dac_read_search";

constexpr absl::string_view kIoAndMemory =
    "of other users' processes, the IO, Storage and Set Size values, and "
    "Handle Count before Linux 6.2,";
constexpr absl::string_view kIo =
    "of other users' processes, the IO and Storage values, and Handle Count "
    "before Linux 6.2,";
constexpr absl::string_view kOthers = "other users' processes";

// Of each counterset, the need with the most values comes first.
constexpr Need kNeeds[] = {
    {"Process V2", kPtrace, kPtraceName, kIoAndMemory},
    {"Process V2", kReadAll, kReadAllName, kIo},
    {"Process", kPtrace, kPtraceName, kIoAndMemory},
    {"Process", kReadAll, kReadAllName, kIo},
    {"Linux Cgroup Process", kPtrace, kPtraceName, kIoAndMemory},
    {"Linux Cgroup Process", kReadAll, kReadAllName, kIo},
    {"GPU Engine", kPtrace, kPtraceName, kOthers},
    {"GPU Engine", kReadAll, kReadAllName, kOthers},
    {"GPU Process Memory", kPtrace, kPtraceName, kOthers},
    {"GPU Process Memory", kReadAll, kReadAllName, kOthers},
    {"GPU Adapter Memory", kPtrace, kPtraceName, kOthers},
    {"GPU Adapter Memory", kReadAll, kReadAllName, kOthers},
};

// A status without the line is that of a process with all capabilities: the
// values themselves show what is missing.
bool HasCapability(absl::string_view status, uint64_t any_of) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::ConsumePrefix(&line, "CapEff:\t")) continue;
    uint64_t effective;
    if (!absl::SimpleHexAtoi(line, &effective)) break;
    return (effective & any_of) != 0;
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
  if (!sees_others && !HasCapability(status, kPtrace) &&
      std::any_of(std::begin(kProcesses), std::end(kProcesses), matches)) {
    return "other users' processes are absent, because /proc is mounted with "
           "hidepid, and the process lacks CAP_SYS_PTRACE; grant it (setcap "
           "cap_sys_ptrace+ep PROGRAM), or add its user to the group that the "
           "mount option gid names";
  }
  absl::string_view values;
  std::vector<absl::string_view> missing;
  for (const Need& need : kNeeds) {
    if (!matches(need.counterset) || HasCapability(status, need.any_of)) {
      continue;
    }
    if (missing.empty()) values = need.values;
    if (!absl::c_linear_search(missing, need.name)) {
      missing.push_back(need.name);
    }
  }
  if (missing.empty()) return "";
  const std::string names = absl::StrJoin(missing, ",");
  return absl::StrCat(
      values, " are absent, because the process lacks ",
      absl::StrReplaceAll(absl::AsciiStrToUpper(names), {{",", " and "}}),
      "; grant ", missing.size() == 1 ? "it" : "them", " (setcap ", names,
      "+ep PROGRAM)");
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
