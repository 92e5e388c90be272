// Reads leaves of CPUID: zeros for those that the CPU does not have.

#ifndef FLEETPERF_DRIVER_PMU_CPUID_H_
#define FLEETPERF_DRIVER_PMU_CPUID_H_

#include <stdint.h>

#include "driver/pmu/machine.h"

namespace fleetperf::pmu {

class Cpuid {
 public:
  explicit Cpuid(Machine& machine)
      : machine_(machine),
        last_(machine.Cpuid(0, 0).eax),
        last_extended_(machine.Cpuid(kExtended, 0).eax) {}

  CpuidRegisters Leaf(uint32_t leaf, uint32_t subleaf = 0) const {
    // A CPU without extended leaves answers with anything.
    const bool exists = leaf < kExtended ? leaf <= last_
                                         : last_extended_ >= kExtended &&
                                               leaf <= last_extended_;
    return exists ? machine_.Cpuid(leaf, subleaf) : CpuidRegisters{};
  }

 private:
  static constexpr uint32_t kExtended = 0x80000000;
  Machine& machine_;
  uint32_t last_;
  uint32_t last_extended_;
};

// Bits `last` to `first` of a register.
constexpr uint64_t Bits(uint64_t value, int last, int first) {
  return (value >> first) & (~uint64_t{0} >> (63 - last + first));
}
constexpr uint32_t Bits(uint32_t value, int last, int first) {
  return (value >> first) & (~uint32_t{0} >> (31 - last + first));
}
constexpr bool Bit(uint64_t value, int bit) {
  return Bits(value, bit, bit) != 0;
}

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_CPUID_H_
