// The kernel of the ring-0 bench: runs the PMU core at CPL 0 for the monitor.

#include <cstddef>
#include <cstdint>
#include <new>

#include "driver/pmu/pmu.h"
#include "driver/pmu/protocol.h"
#include "tests/driver/ring0/guest/guest_machine.h"
#include "tests/driver/ring0/guest/mailbox.h"
#include "tests/driver/ring0/guest/traps.h"

namespace fleetperf::ring0 {
namespace {

constexpr size_t kPmuMemory = 64 * 1024;
alignas(16) uint8_t g_pmu_memory[kPmuMemory];
alignas(pmu::Pmu) uint8_t g_pmu[sizeof(pmu::Pmu)];
alignas(GuestMachine) uint8_t g_machine[sizeof(GuestMachine)];

void ReadPmcTo(Mailbox& mailbox) {
  uint64_t value = 0;
  mailbox.has_pmc = ReadPmc(mailbox.counter, &value);
  mailbox.pmc = value;
}

void UserMain() {
  ReadPmcTo(TheMailbox());
  LeaveUser();
}

void Handle(pmu::Pmu& pmu, Mailbox& mailbox) {
  size_t reply_size = 0;
  mailbox.result = static_cast<uint32_t>(
      pmu.Handle(mailbox.client, static_cast<pmu::Command>(mailbox.command),
                 mailbox.request, mailbox.request_size, mailbox.reply,
                 mailbox.reply_capacity, &reply_size));
  mailbox.reply_size = reply_size;
}

void ReadCpuid(Mailbox& mailbox) {
  const pmu::CpuidRegisters leaf = GuestMachine().Cpuid(mailbox.counter, 0);
  mailbox.cpuid[0] = leaf.eax;
  mailbox.cpuid[1] = leaf.ebx;
  mailbox.cpuid[2] = leaf.ecx;
  mailbox.cpuid[3] = leaf.edx;
}

void Do(Task task, pmu::Pmu& pmu, Mailbox& mailbox) {
  switch (task) {
    case Task::kHandle:
      return Handle(pmu, mailbox);
    case Task::kClose:
      return pmu.Close(mailbox.client);
    case Task::kStop:
      return pmu.Stop();
    case Task::kCpuOnline:
      return pmu.CpuOnline(mailbox.cpu);
    case Task::kCpuOffline:
      return pmu.CpuOffline(mailbox.cpu);
    case Task::kSuspend:
      return pmu.Suspend();
    case Task::kResume:
      return pmu.Resume();
    case Task::kUserReadPmc:
      return EnterUser(UserMain);
    case Task::kKernelReadPmc:
      return ReadPmcTo(mailbox);
    case Task::kReadCpuid:
      return ReadCpuid(mailbox);
    case Task::kSpin:
      for (;;) asm volatile("pause");
    case Task::kCallForever:
      for (;;) Call(MonitorCall::kNothing);
    case Task::kUndefined:
      asm volatile("ud2");
  }
}

}  // namespace

// The image's entry point on every CPU.
extern "C" [[noreturn]] void ring0_main(uint32_t cpu) {
  LoadTraps();
  if (cpu != 0) ServeWork();
  Mailbox& mailbox = TheMailbox();
  GuestMachine& machine = *new (g_machine) GuestMachine;
  if (pmu::Pmu::MemorySize(kNumCpus) > kPmuMemory) __builtin_trap();
  pmu::Pmu& pmu = *new (g_pmu) pmu::Pmu(machine, g_pmu_memory);
  for (;;) {
    Call(MonitorCall::kReady);
    Do(mailbox.task, pmu, mailbox);
  }
}

// The compiler calls these.
extern "C" void* memcpy(void* to, const void* from, size_t size) {
  void* const result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

extern "C" void* memset(void* to, int value, size_t size) {
  void* const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}

extern "C" void __cxa_pure_virtual() { __builtin_trap(); }

}  // namespace fleetperf::ring0
