// The instructions that the driver executes, for both families of compilers.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_INSTRUCTIONS_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_INSTRUCTIONS_H_

#include <stdint.h>

#include "driver/pmu/machine.h"

#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace fleetperf::pmu_device {

#ifdef _MSC_VER

inline pmu::CpuidRegisters CpuidInstruction(uint32_t leaf, uint32_t subleaf) {
  int registers[4];
  __cpuidex(registers, static_cast<int>(leaf), static_cast<int>(subleaf));
  return {
      static_cast<uint32_t>(registers[0]), static_cast<uint32_t>(registers[1]),
      static_cast<uint32_t>(registers[2]), static_cast<uint32_t>(registers[3])};
}
inline uint64_t ReadMsrInstruction(uint32_t msr) { return __readmsr(msr); }
inline void WriteMsrInstruction(uint32_t msr, uint64_t value) {
  __writemsr(msr, value);
}
inline uint64_t ReadCr4Instruction() { return __readcr4(); }
inline void WriteCr4Instruction(uint64_t value) { __writecr4(value); }
inline uint64_t ReadTscInstruction() { return __rdtsc(); }

#else

inline pmu::CpuidRegisters CpuidInstruction(uint32_t leaf, uint32_t subleaf) {
  pmu::CpuidRegisters registers;
  __asm__ volatile("cpuid"
                   : "=a"(registers.eax), "=b"(registers.ebx),
                     "=c"(registers.ecx), "=d"(registers.edx)
                   : "a"(leaf), "c"(subleaf));
  return registers;
}
inline uint64_t ReadMsrInstruction(uint32_t msr) {
  uint32_t low;
  uint32_t high;
  __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
  return uint64_t{high} << 32 | low;
}
inline void WriteMsrInstruction(uint32_t msr, uint64_t value) {
  __asm__ volatile("wrmsr"
                   :
                   : "c"(msr), "a"(static_cast<uint32_t>(value)),
                     "d"(static_cast<uint32_t>(value >> 32))
                   : "memory");
}
inline uint64_t ReadCr4Instruction() {
  uint64_t value;
  __asm__ volatile("mov %%cr4, %0" : "=r"(value));
  return value;
}
inline void WriteCr4Instruction(uint64_t value) {
  __asm__ volatile("mov %0, %%cr4" : : "r"(value) : "memory");
}
inline uint64_t ReadTscInstruction() {
  uint32_t low;
  uint32_t high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t{high} << 32 | low;
}

#endif

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_INSTRUCTIONS_H_
