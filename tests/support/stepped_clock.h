// The wall clock of a process, which a test steps while the process runs.

#ifndef FLEETPERF_TESTS_SUPPORT_STEPPED_CLOCK_H_
#define FLEETPERF_TESTS_SUPPORT_STEPPED_CLOCK_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace fleetperf::testing {

// The difference between a process's clock and that of the machine, in a file
// that the process maps; see tests/chaos/preload.cc. Thread-compatible.
class SteppedClock {
 public:
  // Creates the file `path`. Throws std::runtime_error if that fails.
  explicit SteppedClock(const std::string& path);
  ~SteppedClock();
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  // The environment with which the process must start.
  std::map<std::string, std::string> environment() const;

  absl::Duration offset() const { return absl::Nanoseconds(*nanoseconds_); }
  // Sets the difference.
  void Set(absl::Duration offset);
  // Adds to the difference.
  void Step(absl::Duration step);

 private:
  const std::string path_;
  // The other process reads it.
  volatile int64_t* nanoseconds_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_STEPPED_CLOCK_H_
