// What an experiment works with.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_LAB_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_LAB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driver/pmc/experiments/report.h"
#include "driver/pmc/experiments/thread_counters.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// What passed during a piece of work. Absent counts are those that the machine
// lacks.
struct Growth {
  absl::Duration time;
  std::optional<double> timestamp;
  std::optional<double> instructions;
  std::optional<double> cycles;
  std::optional<double> reference_cycles;
  std::optional<double> l1_loads;
  std::optional<double> l1_misses;

  std::optional<double> ipc() const;
  // Absent if there were more misses than loads: the two are not counted at
  // the same moments, and on some CPUs not for the same instructions.
  std::optional<double> l1_hits() const;
};

// Pins its thread to a CPU. Thread-compatible.
class Lab {
 public:
  // `quick` shrinks the work, so that each experiment takes milliseconds.
  Lab(const Machine& machine, bool quick, RdpmcAccess access);

  Processor& processor() { return *machine_.processor; }
  bool is_quick() const { return is_quick_; }
  int cpu() const { return cpu_; }
  uint64_t timestamp_hertz() const { return timestamp_hertz_; }

  // How long experiments that wait do so.
  absl::Duration period() const {
    return is_quick_ ? absl::Milliseconds(20) : absl::Seconds(1);
  }
  // How often loops turn.
  uint64_t turns() const { return is_quick_ ? 1'000'000 : 1'000'000'000; }

  // Counters of this thread, or why there are none.
  const absl::StatusOr<std::unique_ptr<ThreadCounters>>& counters() const {
    return counters_;
  }
  // The reader of all CPUs, which the lab keeps.
  absl::StatusOr<hardware::HardwareReader*> Reader();

  // Does the work, and measures it with the counters that exist.
  absl::StatusOr<Growth> Measure(const std::function<void()>& work);

  // Lets the processor turn a loop until the period is over.
  void BeBusy();

  // Notes where counts come from, or why there are none.
  void NoteCounters(Report* report) const;

 private:
  struct Moment {
    absl::Duration time;
    uint64_t timestamp;
    std::optional<ThreadCounts> counts;
  };
  absl::StatusOr<Moment> Now();

  const Machine& machine_;
  const bool is_quick_;
  const int cpu_;
  const uint64_t timestamp_hertz_;
  const absl::StatusOr<std::unique_ptr<ThreadCounters>> counters_;
  std::unique_ptr<hardware::HardwareReader> reader_;
};

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_LAB_H_
