#include "driver/hardware/linux/cache_monitoring.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "driver/hardware/linux/sysfs_number.h"

namespace fleetperf::hardware {
namespace {

constexpr char kRoot[] = "/sys/fs/resctrl";
constexpr char kMonitored[] = "/mon_data";

}  // namespace

void CacheMonitoring::Update(const std::vector<int>& cpus) {
  now_.clear();
  for (auto& [id, cache] : caches_) {
    cache.first_cpu.reset();
    cache.occupancy.reset();
    cache.has_traffic = false;
  }
  const auto names = system_.ListDirectory(kRoot);
  if (names.ok()) {
    ReadGroup(absl::StrCat(kRoot, kMonitored));
    for (const std::string& name : *names) {
      // The other directories and files of the root have no mon_data.
      ReadGroup(absl::StrCat(kRoot, "/", name, kMonitored));
    }
  }
  std::swap(last_, now_);
  if (!caches_.empty()) FindFirstCpus(cpus);
}

void CacheMonitoring::ReadGroup(const std::string& mon_data) {
  const auto names = system_.ListDirectory(mon_data);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    absl::string_view digits = name;
    uint64_t id;
    if (absl::ConsumePrefix(&digits, "mon_L3_") &&
        absl::SimpleAtoi(digits, &id)) {
      ReadCache(absl::StrCat(mon_data, "/", name), &caches_[id]);
    }
  }
}

void CacheMonitoring::ReadCache(const std::string& directory, Cache* cache) {
  if (const auto bytes = ReadNumber(system_, directory + "/llc_occupancy")) {
    cache->occupancy = cache->occupancy.value_or(0) + *bytes;
  }
  const auto total = ReadNumber(system_, directory + "/mbm_total_bytes");
  const auto local = ReadNumber(system_, directory + "/mbm_local_bytes");
  if (!total || !local) return;
  cache->has_traffic = true;
  now_[directory] = {.total = *total, .local = *local};
  const auto last = last_.find(directory);
  if (last == last_.end() || *total < last->second.total ||
      *local < last->second.local) {
    return;
  }
  const uint64_t growth = *total - last->second.total;
  // The files are read one after the other.
  const uint64_t local_growth = std::min(*local - last->second.local, growth);
  cache->local += local_growth;
  cache->remote += growth - local_growth;
}

void CacheMonitoring::FindFirstCpus(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    const auto [entry, is_new] = cache_of_cpu_.try_emplace(cpu);
    if (is_new) {
      entry->second = ReadNumber(
          system_,
          absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/cache/index3/id"));
    }
    if (!entry->second) continue;
    const auto cache = caches_.find(*entry->second);
    if (cache != caches_.end() && !cache->second.first_cpu) {
      cache->second.first_cpu = cpu;
    }
  }
}

void CacheMonitoring::AddTo(HardwareReading* reading) const {
  for (const auto& [id, cache] : caches_) {
    if (cache.first_cpu != reading->cpu) continue;
    reading->l3_occupancy_bytes = cache.occupancy;
    if (!cache.has_traffic) continue;
    (*reading)[HardwareCount::kLocalMemoryBytes] = cache.local;
    (*reading)[HardwareCount::kRemoteMemoryBytes] = cache.remote;
  }
}

}  // namespace fleetperf::hardware
