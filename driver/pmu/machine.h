// The privileged instructions and the services of a kernel that the PMU core
// needs. A driver implements them; tests simulate them.
//
// The core is freestanding: it uses no header of an operating system, allocates
// nothing, and calls nothing but these functions.

#ifndef FLEETPERF_DRIVER_PMU_MACHINE_H_
#define FLEETPERF_DRIVER_PMU_MACHINE_H_

#include <stdint.h>

namespace fleetperf::pmu {

struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// Work to be done on a certain CPU.
class CpuWork {
 public:
  virtual void Run() = 0;

 protected:
  ~CpuWork() = default;
};

enum class Reservation {
  kGranted,
  kHeld,         // by another owner
  kUnavailable,  // the operating system lacks functions that the driver needs
};

class Machine {
 public:
  // These concern the CPU that executes them. A function that returns bool
  // returns false, and has no effect, if the instruction raises a
  // general-protection fault.
  virtual CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) = 0;
  virtual bool ReadMsr(uint32_t msr, uint64_t* value) = 0;
  virtual bool WriteMsr(uint32_t msr, uint64_t value) = 0;
  virtual uint64_t ReadCr4() = 0;
  virtual bool WriteCr4(uint64_t value) = 0;
  virtual uint64_t ReadTsc() = 0;

  // CPUs are numbered from 0. CPUs may come and go, their number may not grow
  // beyond the limit.
  virtual uint32_t CpuLimit() = 0;

  // Runs `work` on a CPU and waits for its end. False if the CPU is offline.
  virtual bool RunOn(uint32_t cpu, CpuWork& work) = 0;

  // Reserves the PMU with the operating system, so that no other driver and no
  // profiler programs it.
  virtual Reservation ReservePmu() = 0;
  virtual void ReleasePmu() = 0;

 protected:
  ~Machine() = default;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_MACHINE_H_
