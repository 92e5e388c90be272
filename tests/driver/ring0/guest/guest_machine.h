// The machine that the PMU core sees in the guest: its own privileged
// instructions. CPUs are run by the monitor, one at a time.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_GUEST_GUEST_MACHINE_H_
#define FLEETPERF_TESTS_DRIVER_RING0_GUEST_GUEST_MACHINE_H_

#include <cstdint>

#include "driver/pmu/machine.h"

namespace fleetperf::ring0 {

class GuestMachine final : public pmu::Machine {
 public:
  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override;
  bool ReadMsr(uint32_t msr, uint64_t* value) override;
  bool WriteMsr(uint32_t msr, uint64_t value) override;
  uint64_t ReadCr4() override;
  bool WriteCr4(uint64_t value) override;
  uint64_t ReadTsc() override;
  uint32_t CpuLimit() override;
  bool RunOn(uint32_t cpu, pmu::CpuWork& work) override;
  pmu::Reservation ReservePmu() override;
  void ReleasePmu() override;
};

// Runs the work of CPU 0, as a CPU other than 0. Does not return.
[[noreturn]] void ServeWork();

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_GUEST_GUEST_MACHINE_H_
