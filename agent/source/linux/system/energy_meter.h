// The counterset "Energy Meter": the energy that processors measure, from
// /sys/class/powercap.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_ENERGY_METER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_ENERGY_METER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class EnergyMeter : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit EnergyMeter(const std::string& root);

  // Without meters if only root may read them; MissingRights tells it.
  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Meter {
    std::string zone;  // "intel-rapl:0:1"
    std::string utf16_name;
    uint32_t id = 0;
    ProcFile file;
    uint64_t range = 0;            // microjoules until the meter wraps
    std::optional<uint64_t> read;  // the last number read
    int64_t read_at = 0;           // PerfTimeStamp
    uint64_t microjoules = 0;      // without wraps
  };

  void List();
  static void Update(uint64_t read, const perflib::Clocks& clocks,
                     Meter* meter);
  std::string MeterName(const std::string& zone) const;

  const std::string root_;
  Periodic list_{/*seconds=*/60};
  std::vector<Meter> meters_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_ENERGY_METER_H_
