// The counterset "Hardware Counters", the same on all systems.

#ifndef FLEETPERF_AGENT_SOURCE_HARDWARE_COUNTERS_H_
#define FLEETPERF_AGENT_SOURCE_HARDWARE_COUNTERS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/hardware_table.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"
#include "driver/hardware/reader.h"

namespace fleetperf::agent {

// Instances are the CPUs and `_Total`. Counting starts with the first sample.
// If the CPUs have too few counters for all events, those that plans name come
// first.
class HardwareCounters : public Provider {
 public:
  explicit HardwareCounters(std::unique_ptr<hardware::HardwareReader> reader);

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override;
  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::unique_ptr<hardware::HardwareReader> reader_;
  std::map<int, HardwareColumns> columns_;  // by CPU
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_HARDWARE_COUNTERS_H_
