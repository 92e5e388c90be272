#include "driver/windows/sys/windows_machine.h"

#include "driver/windows/sys/guarded.h"
#include "driver/windows/sys/instructions.h"

namespace fleetperf::pmu_device {

WindowsMachine::WindowsMachine()
    : allocate_(FLEETPERF_FIND_ROUTINE(HalAllocateHardwareCounters)),
      free_(FLEETPERF_FIND_ROUTINE(HalFreeHardwareCounters)) {}

pmu::CpuidRegisters WindowsMachine::Cpuid(uint32_t leaf, uint32_t subleaf) {
  return CpuidInstruction(leaf, subleaf);
}

bool WindowsMachine::ReadMsr(uint32_t msr, uint64_t* value) {
  return GuardedReadMsr(msr, value);
}

bool WindowsMachine::WriteMsr(uint32_t msr, uint64_t value) {
  return GuardedWriteMsr(msr, value);
}

// Reading CR4 never faults in the kernel.
uint64_t WindowsMachine::ReadCr4() { return ReadCr4Instruction(); }

bool WindowsMachine::WriteCr4(uint64_t value) { return GuardedWriteCr4(value); }

uint64_t WindowsMachine::ReadTsc() { return ReadTscInstruction(); }

uint32_t WindowsMachine::CpuLimit() { return Processors::Limit(); }

bool WindowsMachine::RunOn(uint32_t cpu, pmu::CpuWork& work) {
  return processors_.RunOn(cpu, work);
}

pmu::Reservation WindowsMachine::ReservePmu() {
  if (allocate_ == nullptr || free_ == nullptr || !processors_.IsComplete()) {
    return pmu::Reservation::kUnavailable;
  }
  const NTSTATUS status = allocate_(nullptr, 0, nullptr, &counters_);
  if (NT_SUCCESS(status)) return pmu::Reservation::kGranted;
  return status == STATUS_INSUFFICIENT_RESOURCES
             ? pmu::Reservation::kHeld
             : pmu::Reservation::kUnavailable;
}

void WindowsMachine::ReleasePmu() { free_(counters_); }

}  // namespace fleetperf::pmu_device
