#include "driver/hardware/linux/cpu_topology.h"

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "driver/hardware/linux/sysfs_number.h"
#include "driver/perf_event/pmu.h"

namespace fleetperf::hardware {

void CpuPackages::Update(const std::vector<int>& cpus) {
  first_.clear();
  std::set<int> seen;
  for (const int cpu : cpus) {
    const auto [entry, is_new] = packages_.try_emplace(cpu);
    if (is_new) {
      const auto number =
          ReadNumber(system_, absl::StrCat("/sys/devices/system/cpu/cpu", cpu,
                                           "/topology/physical_package_id"));
      if (number) entry->second = static_cast<int>(*number);
    }
    const std::optional<int>& package = entry->second;
    if (package && seen.insert(*package).second) first_.insert(cpu);
  }
}

std::optional<int> CpuPackages::Of(int cpu) const {
  const auto found = packages_.find(cpu);
  return found == packages_.end() ? std::nullopt : found->second;
}

std::vector<int> CpusOfL3(perf_event::System& system, int cpu) {
  const std::string caches =
      absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/cache");
  const auto names = system.ListDirectory(caches);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    const std::string cache = absl::StrCat(caches, "/", name);
    const auto level = system.ReadFile(cache + "/level");
    if (!level.ok() || absl::StripAsciiWhitespace(*level) != "3") continue;
    const auto list = system.ReadFile(cache + "/shared_cpu_list");
    if (!list.ok()) return {};
    return perf_event::ParseCpuList(*list).value_or(std::vector<int>());
  }
  return {};
}

}  // namespace fleetperf::hardware
