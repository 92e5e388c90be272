// The processor that executes experiments. A simulation counts what the code
// would cost instead.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_PROCESSOR_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_PROCESSOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "driver/pmc/experiments/code.h"

namespace fleetperf::pmc {

class Processor {
 public:
  virtual ~Processor() = default;

  virtual void Run(const Loop& loop, uint64_t turns) = 0;
  // Returns ExactCode::run's value. `counter` must be readable by RDPMC.
  virtual uint64_t RunBetweenReads(const ExactCode& code, uint32_t counter) = 0;
  // Reads each byte once: first those at multiples of `stride`, then those
  // behind them, etc.
  virtual void ReadInStrides(absl::Span<const uint8_t> memory,
                             size_t stride) = 0;
  virtual void Sleep(absl::Duration duration) = 0;

  // RDTSC; 0 on other architectures.
  virtual uint64_t ReadTimestamp() = 0;
  // A clock that is not slewed.
  virtual absl::Duration Now() = 0;
  // Keeps the thread on the CPU that executes it. Returns the CPU.
  virtual int PinToCpu() = 0;
};

// The processor of this machine.
Processor& RealProcessor();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_PROCESSOR_H_
