#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/os/memory_limit.h"

namespace fleetperf {
namespace {

// A hierarchy of control groups that can limit memory.
struct Hierarchy {
  bool is_v2;
  std::vector<std::string> limit_files;  // in each group's directory
};

// A mount of a hierarchy, or of a part of it.
struct Mount {
  std::string group;  // the group that the mount point shows
  std::string point;
};

// Returns the machine's memory.
uint64_t PhysicalMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Returns a path of mountinfo, which has spaces as "\040".
std::string Unescape(absl::string_view text) {
  std::string path;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      path += text[i];
      continue;
    }
    path += static_cast<char>((text[i + 1] - '0') * 64 +
                              (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return path;
}

bool HasMemory(absl::string_view comma_separated) {
  const std::vector<absl::string_view> names =
      absl::StrSplit(comma_separated, ',');
  return std::find(names.begin(), names.end(), "memory") != names.end();
}

// Returns the process's group. Lines of the file are "4:memory:/group" in v1,
// "0::/group" in v2.
std::optional<std::string> GroupOf(const std::string& file,
                                   const Hierarchy& hierarchy) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (hierarchy.is_v2 ? fields[0] == "0" : HasMemory(fields[1])) {
      return fields[2];
    }
  }
  return std::nullopt;
}

// Returns the mounts of the hierarchy. Lines of mountinfo are
// "34 30 0:31 GROUP POINT rw - TYPE SOURCE rw,memory", with further fields
// before the "-".
std::vector<Mount> MountsOf(const std::string& file,
                            const Hierarchy& hierarchy) {
  std::vector<Mount> mounts;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> sides =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (sides.size() != 2) continue;
    const std::vector<std::string> left = absl::StrSplit(sides[0], ' ');
    const std::vector<std::string> right = absl::StrSplit(sides[1], ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool matches = hierarchy.is_v2
                             ? right[0] == "cgroup2"
                             : right[0] == "cgroup" && HasMemory(right[2]);
    if (matches) mounts.push_back({Unescape(left[3]), Unescape(left[4])});
  }
  return mounts;
}

// Returns the group's path below the mount: "" or "/group"; std::nullopt if the
// mount does not show the group.
std::optional<std::string> PathBelow(const Mount& mount,
                                     const std::string& group) {
  const std::string top = mount.group == "/" ? "" : mount.group;
  if (!absl::StartsWith(group, top)) return std::nullopt;
  const std::string path = group.substr(top.size());
  if (path == "/") return "";
  // A process outside of its namespace's root has "..".
  if (absl::StrContains(path, "/..")) return std::nullopt;
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return path;
}

uint64_t LimitIn(const std::string& file) {
  uint64_t bytes = UINT64_MAX;
  std::ifstream stream(file);
  return stream >> bytes ? bytes : UINT64_MAX;  // not "max"
}

// Returns the limit by all parents, also those that a container does not see.
uint64_t HierarchicalLimitIn(const std::string& memory_stat) {
  std::ifstream lines(memory_stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    uint64_t bytes = 0;
    fields >> name >> bytes;
    if (name == "hierarchical_memory_limit" && fields) return bytes;
  }
  return UINT64_MAX;
}

// Returns the lowest limit of the directories from `path` below `point` up to
// `point`. Some of them may not exist.
uint64_t LowestLimit(const Hierarchy& hierarchy, const std::string& point,
                     std::string path) {
  uint64_t limit = HierarchicalLimitIn(point + path + "/memory.stat");
  for (;;) {
    for (const std::string& file : hierarchy.limit_files) {
      limit = std::min(limit, LimitIn(point + path + "/" + file));
    }
    if (path.empty()) return limit;
    path.resize(path.rfind('/'));
  }
}

uint64_t LimitBy(const Hierarchy& hierarchy, const std::string& root) {
  const auto group = GroupOf(root + "/proc/self/cgroup", hierarchy);
  if (!group.has_value()) return UINT64_MAX;
  const std::vector<Mount> mounts =
      MountsOf(root + "/proc/self/mountinfo", hierarchy);
  uint64_t limit = UINT64_MAX;
  bool is_shown = false;
  for (const Mount& mount : mounts) {
    const auto path = PathBelow(mount, *group);
    if (!path.has_value()) continue;
    is_shown = true;
    limit = std::min(limit, LowestLimit(hierarchy, root + mount.point, *path));
  }
  if (is_shown || mounts.empty()) return limit;
  // A container may see its own group as the root, and its path from outside.
  return LowestLimit(hierarchy, root + mounts.front().point, "");
}

}  // namespace

uint64_t MemoryLimit(const std::string& root) {
  return std::min(
      {PhysicalMemory(),
       LimitBy({.is_v2 = true, .limit_files = {"memory.max", "memory.high"}},
               root),
       LimitBy({.is_v2 = false, .limit_files = {"memory.limit_in_bytes"}},
               root)});
}

}  // namespace fleetperf
