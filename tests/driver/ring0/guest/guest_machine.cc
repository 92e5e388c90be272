#include "tests/driver/ring0/guest/guest_machine.h"

#include <cstdint>

#include "driver/pmu/machine.h"
#include "tests/driver/ring0/guest/mailbox.h"
#include "tests/driver/ring0/guest/traps.h"

namespace fleetperf::ring0 {
namespace {

pmu::CpuWork* g_work = nullptr;
// CPUs run one at a time.
uint32_t g_cpu = 0;

}  // namespace

pmu::CpuidRegisters GuestMachine::Cpuid(uint32_t leaf, uint32_t subleaf) {
  pmu::CpuidRegisters registers;
  asm volatile("cpuid"
               : "=a"(registers.eax), "=b"(registers.ebx), "=c"(registers.ecx),
                 "=d"(registers.edx)
               : "a"(leaf), "c"(subleaf));
  if (leaf == 1) registers.ecx = TheMailbox().features_1_ecx[g_cpu];
  if (leaf == 7) registers.edx = TheMailbox().features_7_edx[g_cpu];
  return registers;
}

bool GuestMachine::ReadMsr(uint32_t msr, uint64_t* value) {
  uint32_t low;
  uint32_t high;
  uint32_t ok = 0;
  asm volatile(
      "1: rdmsr\n\t"
      "mov $1, %2\n\t"
      "2:\n\t" FLEETPERF_RING0_FIXUP
      : "=&a"(low), "=&d"(high), "+&r"(ok)
      : "c"(msr)
      : "memory");
  if (ok == 0) return false;
  *value = uint64_t{high} << 32 | low;
  return true;
}

bool GuestMachine::WriteMsr(uint32_t msr, uint64_t value) {
  uint32_t ok = 0;
  asm volatile(
      "1: wrmsr\n\t"
      "mov $1, %0\n\t"
      "2:\n\t" FLEETPERF_RING0_FIXUP
      : "+&r"(ok)
      : "c"(msr), "a"(static_cast<uint32_t>(value)),
        "d"(static_cast<uint32_t>(value >> 32))
      : "memory");
  return ok != 0;
}

uint64_t GuestMachine::ReadCr4() {
  uint64_t value;
  asm volatile("mov %%cr4, %0" : "=r"(value));
  return value;
}

bool GuestMachine::WriteCr4(uint64_t value) {
  uint32_t ok = 0;
  asm volatile(
      "1: mov %1, %%cr4\n\t"
      "mov $1, %0\n\t"
      "2:\n\t" FLEETPERF_RING0_FIXUP
      : "+&r"(ok)
      : "r"(value)
      : "memory");
  return ok != 0;
}

uint64_t GuestMachine::ReadTsc() {
  uint32_t low;
  uint32_t high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t{high} << 32 | low;
}

uint32_t GuestMachine::CpuLimit() { return kNumCpus; }

bool GuestMachine::RunOn(uint32_t cpu, pmu::CpuWork& work) {
  Mailbox& mailbox = TheMailbox();
  if (cpu >= kNumCpus || (mailbox.online_cpus >> cpu & 1) == 0) return false;
  if (cpu == 0) {
    work.Run();
    return true;
  }
  g_work = &work;
  g_cpu = cpu;
  mailbox.run_on = cpu;
  Call(MonitorCall::kRunOn);
  g_cpu = 0;
  return true;
}

pmu::Reservation GuestMachine::ReservePmu() {
  Mailbox& mailbox = TheMailbox();
  if (mailbox.is_pmu_taken != 0) return pmu::Reservation::kHeld;
  mailbox.is_pmu_reserved = 1;
  return pmu::Reservation::kGranted;
}

void GuestMachine::ReleasePmu() { TheMailbox().is_pmu_reserved = 0; }

void ServeWork() {
  for (;;) {
    Call(MonitorCall::kIdle);
    g_work->Run();
  }
}

}  // namespace fleetperf::ring0
