// What fleetperf-pmc uses of the machine. Tests simulate it.

#ifndef FLEETPERF_DRIVER_PMC_MACHINE_H_
#define FLEETPERF_DRIVER_PMC_MACHINE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/hardware/reader.h"
#include "driver/pmc/experiments/processor.h"
#include "driver/pmc/experiments/thread_counters.h"

namespace fleetperf::pmc {

// A line of `list`.
using Fact = std::pair<std::string, std::string>;

struct Machine {
  std::function<absl::StatusOr<std::unique_ptr<hardware::HardwareReader>>(
      const hardware::ReaderOptions& options)>
      open_reader;
  // Of the calling thread, which stays on `cpu`.
  std::function<absl::StatusOr<std::unique_ptr<ThreadCounters>>(
      int cpu, RdpmcAccess access)>
      open_thread_counters;
  // The frequency of the timestamp counter in Hz; 0: unknown.
  std::function<uint64_t()> timestamp_hertz;
  // What only this operating system has.
  std::function<std::vector<Fact>()> facts;
  Processor* processor;
};

Machine RealMachine();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_MACHINE_H_
