// What resctrl monitors of last-level caches: their occupancy, and the memory
// traffic through them.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_CACHE_MONITORING_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_CACHE_MONITORING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/hardware/hardware_counts.h"
#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Source: Documentation/filesystems/resctrl.rst of Linux. Each control group,
// among them the root, has a directory mon_data/mon_L3_ID for each cache, with
// the files llc_occupancy, mbm_total_bytes and mbm_local_bytes; those of its
// monitoring groups are parts of them. A file that counts nothing has a text
// such as "Unavailable". Nothing is monitored unless resctrl is mounted.
// Thread-compatible.
class CacheMonitoring {
 public:
  explicit CacheMonitoring(perf_event::System& system) : system_(system) {}

  // Reads the files of all control groups. `cpus` are those online, in
  // ascending order.
  void Update(const std::vector<int>& cpus);

  // Sets what was monitored of a cache in the reading of the first CPU that
  // shares it: the occupancy in the last Update, and the traffic since the
  // first one. Remote traffic is what is not local.
  void AddTo(HardwareReading* reading) const;

 private:
  struct Traffic {
    uint64_t total = 0;
    uint64_t local = 0;
  };
  struct Cache {
    std::optional<int> first_cpu;
    std::optional<uint64_t> occupancy;
    bool has_traffic = false;
    uint64_t local = 0;
    uint64_t remote = 0;
  };

  void ReadGroup(const std::string& mon_data);
  void ReadCache(const std::string& directory, Cache* cache);
  void FindFirstCpus(const std::vector<int>& cpus);

  perf_event::System& system_;
  std::map<uint64_t, Cache> caches_;  // by id
  // By directory; a group that is removed takes its counts away.
  std::map<std::string, Traffic> last_;
  std::map<std::string, Traffic> now_;
  std::map<int, std::optional<uint64_t>> cache_of_cpu_;
};

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_CACHE_MONITORING_H_
