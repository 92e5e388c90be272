#include "tests/driver/ring0/guest/traps.h"

#include <cstddef>
#include <cstdint>

namespace fleetperf::ring0 {
namespace {

constexpr int kNumExceptions = 32;
constexpr uint64_t kGeneralProtection = 13;
constexpr uint8_t kHalt = 0xF4;
constexpr uint8_t kReadPmc[] = {0x0F, 0x33};
constexpr uint8_t kInterruptGate = 0x8E;
constexpr size_t kStubSize = 16;
constexpr size_t kUserStackSize = 0x2000;

struct Gate {
  uint16_t offset_low;
  uint16_t selector;
  uint8_t stack;
  uint8_t type;
  uint16_t offset_middle;
  uint32_t offset_high;
  uint32_t reserved;
};
static_assert(sizeof(Gate) == 16);

struct [[gnu::packed]] TableRegister {
  uint16_t limit;
  const Gate* base;
};

struct Fixup {
  uint64_t instruction;
  uint64_t target;
};

Gate g_gates[kNumExceptions];
alignas(16) uint8_t g_user_stack[kUserStackSize];

}  // namespace

extern "C" {
extern const uint8_t ring0_stubs[];
extern const Fixup __start_fixups[];
extern const Fixup __stop_fixups[];
uint64_t ring0_kernel_stack = 0;
void ring0_enter_user(void (*function)(), void* stack_top);
[[noreturn]] void ring0_leave_user();

// Called by the stubs below.
void ring0_handle_trap(TrapFrame* frame) {
  Mailbox& mailbox = TheMailbox();
  if (frame->vector == kGeneralProtection) {
    const uint8_t* const code = reinterpret_cast<const uint8_t*>(frame->rip);
    if (code[0] == kHalt && (frame->cs & 3) != 0) ring0_leave_user();
    if (code[0] == kReadPmc[0] && code[1] == kReadPmc[1]) {
      mailbox.frame = reinterpret_cast<uint64_t>(frame);
      Call(MonitorCall::kReadPmc);
      if (mailbox.is_emulated != 0) return;
    }
    for (const Fixup* fixup = __start_fixups; fixup != __stop_fixups; ++fixup) {
      if (fixup->instruction == frame->rip) {
        frame->rip = fixup->target;
        return;
      }
    }
  }
  mailbox.frame = reinterpret_cast<uint64_t>(frame);
  Call(MonitorCall::kPanic);
}
}

// One stub of 16 bytes for each exception. Exceptions 8, 10 to 14, 17, 21, 29
// and 30 push an error code.
asm(R"(
.text
.balign 16
ring0_stubs:
.set vector, 0
.rept 32
  .balign 16
  .if !((vector == 8) | ((vector >= 10) & (vector <= 14)) | (vector == 17) | (vector == 21) | (vector == 29) | (vector == 30))
    pushq $0
  .endif
  pushq $vector
  jmp ring0_common
  .set vector, vector + 1
.endr

.balign 16
ring0_common:
  push %rax
  push %rbx
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %rbp
  push %r8
  push %r9
  push %r10
  push %r11
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, %rdi
  mov %rsp, %rbp
  and $-16, %rsp
  cld
  call ring0_handle_trap
  mov %rbp, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rbp
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %rbx
  pop %rax
  add $16, %rsp
  iretq

# (function, stack top): the registers that a function preserves wait on the
# kernel's stack for ring0_leave_user.
.globl ring0_enter_user
ring0_enter_user:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, ring0_kernel_stack(%rip)
  pushq $0x1B
  push %rsi
  pushq $2
  pushq $0x23
  push %rdi
  iretq

.globl ring0_leave_user
ring0_leave_user:
  mov ring0_kernel_stack(%rip), %rsp
  mov $0x10, %eax
  mov %eax, %ss
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
)");

namespace {

void SetGate(int vector) {
  const uint64_t offset =
      reinterpret_cast<uint64_t>(ring0_stubs + vector * kStubSize);
  g_gates[vector] = {.offset_low = static_cast<uint16_t>(offset),
                     .selector = kKernelCode,
                     .stack = 0,
                     .type = kInterruptGate,
                     .offset_middle = static_cast<uint16_t>(offset >> 16),
                     .offset_high = static_cast<uint32_t>(offset >> 32),
                     .reserved = 0};
}

}  // namespace

Mailbox& TheMailbox() { return *reinterpret_cast<Mailbox*>(kMailboxAddress); }

void Call(MonitorCall call) {
  asm volatile("outl %0, %1"
               :
               : "a"(static_cast<uint32_t>(call)), "d"(kPort)
               : "memory");
}

void LoadTraps() {
  for (int vector = 0; vector < kNumExceptions; ++vector) SetGate(vector);
  const TableRegister table = {.limit = sizeof(g_gates) - 1, .base = g_gates};
  asm volatile("lidt %0" : : "m"(table) : "memory");
}

void EnterUser(void (*function)()) {
  // A function expects the return address below an aligned stack.
  ring0_enter_user(function, g_user_stack + kUserStackSize - 8);
}

void LeaveUser() {
  // Faults in user mode, on all hypervisors; some lack software interrupts.
  for (;;) asm volatile("hlt" : : : "memory");
}

bool ReadPmc(uint32_t counter, uint64_t* value) {
  uint32_t low;
  uint32_t high;
  uint32_t ok = 0;
  asm volatile(
      "1: rdpmc\n\t"
      "mov $1, %2\n\t"
      "2:\n\t" FLEETPERF_RING0_FIXUP
      : "=&a"(low), "=&d"(high), "+&r"(ok)
      : "c"(counter));
  *value = uint64_t{high} << 32 | low;
  return ok != 0;
}

}  // namespace fleetperf::ring0
