// The temperatures of CPUs, from the drivers coretemp and k10temp.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_CORE_TEMPERATURES_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_CORE_TEMPERATURES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Finds each CPU's sensor once. Thread-compatible.
class CoreTemperatures {
 public:
  explicit CoreTemperatures(perf_event::System& system);

  // Degrees Celsius; std::nullopt without a sensor.
  std::optional<uint64_t> Of(int cpu) const;
  // How far it is from `temperature` to the one at which the CPU throttles;
  // std::nullopt if the sensor does not tell that.
  std::optional<uint64_t> Headroom(int cpu, uint64_t temperature) const;

 private:
  void AddSensors(const std::string& directory);
  std::optional<uint64_t> Read(int cpu, const char* file) const;

  perf_event::System& system_;
  // The files of coretemp's sensors, by package and core, and of the first
  // k10temp, without "_input" at the end.
  std::map<std::pair<int, int>, std::string> cores_;
  std::string processor_;
  std::map<int, std::string> files_;  // by CPU
};

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_CORE_TEMPERATURES_H_
