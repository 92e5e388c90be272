#include "agent/source/linux/process/process_stat.h"

#include <optional>

#include "absl/strings/match.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

// The fields from the fourth on, in their order. Null if unused.
constexpr uint64_t ProcessStat::*kFields[] = {
    &ProcessStat::parent,
    nullptr,  // process group
    nullptr,  // session
    nullptr,  // terminal
    nullptr,  // foreground group of the terminal
    &ProcessStat::flags,
    &ProcessStat::minor_faults,
    &ProcessStat::children_minor_faults,
    &ProcessStat::major_faults,
    &ProcessStat::children_major_faults,
    &ProcessStat::user,
    &ProcessStat::system,
    &ProcessStat::children_user,
    &ProcessStat::children_system,
    &ProcessStat::priority,
    nullptr,  // nice value
    &ProcessStat::threads,
    nullptr,  // timer, always 0
    &ProcessStat::start,
    &ProcessStat::virtual_bytes,
    &ProcessStat::resident_pages,
};

}  // namespace

// Parses "2353 (cat) R 2342 ...". The name may contain any character, including
// ")".
bool ParseProcessStat(absl::string_view line, ProcessStat* stat) {
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == absl::string_view::npos || close == absl::string_view::npos ||
      close < open) {
    return false;
  }
  *stat = {.name = line.substr(open + 1, close - open - 1)};
  line.remove_prefix(close + 1);
  const absl::string_view state = NextWord(&line);
  if (state.empty()) return false;
  stat->state = state.front();
  for (uint64_t ProcessStat::*const field : kFields) {
    absl::string_view word = NextWord(&line);
    const bool is_real_time =
        field == &ProcessStat::priority && absl::StartsWith(word, "-");
    if (field == nullptr || is_real_time) continue;
    const std::optional<uint64_t> number = NextNumber(&word);
    if (!number.has_value()) return false;
    stat->*field = *number;
  }
  return true;
}

bool ProcessStat::IsKernelThread() const {
  return (flags & kKernelThreadFlag) != 0;
}

uint64_t ProcessIdentity(uint32_t pid, const ProcessStat& stat) {
  constexpr int kPidBits = 22;  // the kernel's PID_MAX_LIMIT
  return stat.start << kPidBits | pid;
}

}  // namespace fleetperf::agent
