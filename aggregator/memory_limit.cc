#include "aggregator/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace fleetperf::aggregator {
namespace {

// Returns the path of the process's group in the hierarchy, "/" if unknown.
std::string GroupOf(const std::string& process) {
  constexpr char kPrefix[] = "0::";  // cgroup v2
  std::ifstream file(process);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kPrefix)) return line.substr(sizeof kPrefix - 1);
  }
  return "/";
}

}  // namespace

uint64_t MemoryLimit(const std::string& cgroups, const std::string& process) {
  uint64_t limit = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::string group = GroupOf(process);
  for (;;) {
    std::ifstream file(cgroups + group + "/memory.max");
    uint64_t bytes = 0;
    if (file >> bytes) limit = std::min(limit, bytes);  // not "max"
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return limit;
    group.resize(slash);
  }
}

}  // namespace fleetperf::aggregator
