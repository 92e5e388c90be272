#include "agent/source/linux/capabilities.h"

#include <linux/capability.h>

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/missing_rights.h"
#include "base/files.h"
#include "perflib/path.h"

namespace fleetperf::agent {
namespace {

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

std::string MissingRightsIn(absl::string_view status,
                            absl::string_view counterset) {
  if (!perflib::Pattern(counterset).Matches("Process V2") ||
      HasCapability(status, CAP_SYS_PTRACE)) {
    return "";
  }
  return "the IO, Storage and Handle Count values of other users' processes "
         "are absent, because the process lacks CAP_SYS_PTRACE; grant it "
         "(setcap "
         "cap_sys_ptrace+ep PROGRAM)";
}

std::string MissingRights(absl::string_view counterset) {
  return MissingRightsIn(ReadFile("/proc/self/status").value_or(""),
                         counterset);
}

}  // namespace fleetperf::agent
