// Counts what the calling thread executes.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_THREAD_COUNTERS_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_THREAD_COUNTERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/hardware/reader.h"

namespace fleetperf::pmc {

using hardware::UserCounter;

// Absent counts are those that the machine lacks.
struct ThreadCounts {
  uint64_t instructions = 0;
  uint64_t cycles = 0;
  std::optional<uint64_t> reference_cycles;
  std::optional<uint64_t> l1_loads;
  std::optional<uint64_t> l1_misses;  // of these loads
};

// Whether the counters may become readable by RDPMC for all programs of the
// machine, on Windows. Linux has its own setting, and its programs read only
// their own events.
enum class RdpmcAccess { kAsItIs, kAllPrograms };

// Thread-compatible; one thread uses it, and does not leave its CPU.
class ThreadCounters {
 public:
  virtual ~ThreadCounters() = default;

  // Counts since any moment.
  virtual absl::StatusOr<ThreadCounts> Read() = 0;

  // The counter of instructions.
  // Unavailable: user mode may not read the counter.
  virtual absl::StatusOr<UserCounter> InstructionCounter() = 0;

  // "perf_event, this thread in user mode, read by RDPMC".
  virtual std::string origin() const = 0;

  // The reader that the counts come from, if any: only one can hold the PMU.
  virtual hardware::HardwareReader* reader() { return nullptr; }
};

// Counts of the whole CPU `cpu`, from a reader of all CPUs: for systems that do
// not count threads.
std::unique_ptr<ThreadCounters> CountWholeCpu(
    std::unique_ptr<hardware::HardwareReader> reader, int cpu);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_THREAD_COUNTERS_H_
