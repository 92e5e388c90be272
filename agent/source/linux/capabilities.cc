#include "agent/source/linux/capabilities.h"

#include <linux/capability.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/processor/processor_performance.h"
#include "perflib/path.h"

namespace fleetperf::agent {
namespace {

// Countersets of processes, and others that read files of other users'
// processes.
constexpr absl::string_view kProcesses[] = {"Process V2", "Process",
                                            "Linux Cgroup Process", "Thread"};
constexpr absl::string_view kWithFiles[] = {"Process V2", "Process",
                                            "Linux Cgroup Process"};
constexpr absl::string_view kGpus[] = {"GPU Engine", "GPU Process Memory",
                                       "GPU Adapter Memory"};

constexpr uint64_t kPtrace = uint64_t{1} << CAP_SYS_PTRACE;
// For files in /proc/PID that only their owner may read.
constexpr uint64_t kReadAll =
    uint64_t{1} << CAP_DAC_READ_SEARCH | uint64_t{1} << CAP_DAC_OVERRIDE;

// Returns the values that the files of other users' processes hide. The file of
// input and output needs both capabilities, smaps_rollup CAP_SYS_PTRACE, and
// the list of descriptors, from which Handle Count was counted,
// CAP_DAC_READ_SEARCH.
absl::string_view HiddenValues(bool has_ptrace, bool has_read_all) {
  if (!has_ptrace && !has_read_all) {
    return "of other users' processes, the IO, Storage and Set Size values, "
           "and Handle Count before Linux 6.2,";
  }
  return has_read_all
             ? "of other users' processes, the IO, Storage and Set Size values"
             : "of other users' processes, the IO and Storage values, and "
               "Handle Count before Linux 6.2,";
}

template <size_t kSize>
bool MatchesAny(const perflib::Pattern& pattern,
                const absl::string_view (&names)[kSize]) {
  return std::any_of(
      std::begin(names), std::end(names),
      [&](absl::string_view name) { return pattern.Matches(name); });
}

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
  const bool has_ptrace = HasCapability(status, kPtrace);
  const bool has_read_all = HasCapability(status, kReadAll);
  if (!sees_others && !has_ptrace && MatchesAny(pattern, kProcesses)) {
    return "other users' processes are absent, because /proc is mounted with "
           "hidepid, and the process lacks CAP_SYS_PTRACE; grant it (setcap "
           "cap_sys_ptrace+ep PROGRAM), or add its user to the group that the "
           "mount option gid names";
  }
  const bool has_files = MatchesAny(pattern, kWithFiles);
  if (!has_files && !MatchesAny(pattern, kGpus)) return "";
  std::vector<absl::string_view> missing;
  if (!has_ptrace) missing.push_back("cap_sys_ptrace");
  if (!has_read_all) missing.push_back("cap_dac_read_search");
  if (missing.empty()) return "";
  const std::string names = absl::StrJoin(missing, ",");
  return absl::StrCat(
      has_files ? HiddenValues(has_ptrace, has_read_all)
                : "other users' processes",
      " are absent, because the process lacks ",
      absl::StrReplaceAll(absl::AsciiStrToUpper(names), {{",", " and "}}),
      "; grant ", missing.size() == 1 ? "it" : "them", " (setcap ", names,
      "+ep PROGRAM)");
}

std::string MissingEventRights(perf_event::System& system,
                               absl::string_view counterset) {
  if (!perflib::Pattern(counterset).Matches("Processor Information")) return "";
  const absl::Status status = CheckCycleRights(system);
  if (!absl::IsPermissionDenied(status)) return "";
  return absl::StrCat(
      "% Processor Performance and % Processor Utility are absent: ",
      status.message());
}

}  // namespace fleetperf::agent
