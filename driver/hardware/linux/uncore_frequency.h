// The frequency of the uncore (the mesh or ring between the cores, and the
// last-level cache), from Linux's driver intel_uncore_frequency.

#ifndef FLEETPERF_DRIVER_HARDWARE_LINUX_UNCORE_FREQUENCY_H_
#define FLEETPERF_DRIVER_HARDWARE_LINUX_UNCORE_FREQUENCY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/perf_event/system.h"

namespace fleetperf::hardware {

// Source: Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst of
// Linux. A package has a directory for each die, package_NN_die_NN, or with
// TPMI one for each part of the uncore, uncoreNN, which names its package_id.
// Only root may read the frequency. Finds the directories once.
// Thread-compatible.
class UncoreFrequency {
 public:
  explicit UncoreFrequency(perf_event::System& system);

  // Reads the present frequency of a package in Hz: of several dies or parts,
  // the highest. std::nullopt without the driver or the permission.
  std::optional<uint64_t> Of(int package) const;

 private:
  perf_event::System& system_;
  std::vector<std::pair<int, std::string>> files_;  // (package, path)
};

}  // namespace fleetperf::hardware

#endif  // FLEETPERF_DRIVER_HARDWARE_LINUX_UNCORE_FREQUENCY_H_
