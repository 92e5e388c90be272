#include <sched.h>

#include "base/os/clock.h"
#include "driver/pmc/experiments/real_processor.h"

namespace fleetperf::pmc {

absl::Duration PreciseTime() { return Clock::Real().Monotonic(); }

int PinThisThread() {
  const int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return -1;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  return sched_setaffinity(0, sizeof(cpus), &cpus) == 0 ? cpu : -1;
}

}  // namespace fleetperf::pmc
