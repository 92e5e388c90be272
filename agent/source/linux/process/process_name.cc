#include "agent/source/linux/process/process_name.h"

#include "absl/strings/match.h"

namespace fleetperf::agent {
namespace {

constexpr absl::string_view kNul("\0", 1);

// Returns the part of an argument that is the name of a file and begins with
// `name`. Empty if there is none. Programs may replace their arguments by a
// title such as "/usr/lib/name: worker process", which ends the name.
absl::string_view FileName(absl::string_view argument, absl::string_view name) {
  size_t begin = 0;
  while (begin != absl::string_view::npos) {
    const absl::string_view rest = argument.substr(begin);
    if (absl::StartsWith(rest, name)) {
      const size_t end = rest.find_first_of("/ :", name.size());
      if (end == absl::string_view::npos || rest[end] != '/') {
        return rest.substr(0, end);
      }
    }
    const size_t slash = rest.find('/');
    begin = slash == absl::string_view::npos ? slash : begin + slash + 1;
  }
  return {};
}

}  // namespace

absl::string_view WholeProcessName(absl::string_view name,
                                   absl::string_view command_line) {
  if (name.size() != kMaxKernelName) return name;
  for (int i = 0; i < 2 && !command_line.empty(); ++i) {
    const size_t end = command_line.find(kNul);
    const absl::string_view found = FileName(command_line.substr(0, end), name);
    if (!found.empty()) return found;
    if (end == absl::string_view::npos) break;
    command_line.remove_prefix(end + 1);
  }
  return name;
}

}  // namespace fleetperf::agent
