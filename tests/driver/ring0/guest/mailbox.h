// The memory that the ring-0 bench's monitor and its guest share, and the calls
// between them.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_GUEST_MAILBOX_H_
#define FLEETPERF_TESTS_DRIVER_RING0_GUEST_MAILBOX_H_

#include <cstdint>

namespace fleetperf::ring0 {

inline constexpr uint32_t kNumCpus = 2;

// Physical addresses, which are also the virtual ones. The guest's image may
// use [kImageBegin, kStacksBegin).
inline constexpr uint64_t kTablesBegin = 0x1000;  // pages, segments, tasks
inline constexpr uint64_t kMailboxAddress = 0x10000;
inline constexpr uint64_t kImageBegin = 0x100000;
inline constexpr uint64_t kStacksBegin = 0xE00000;
inline constexpr uint64_t kStackSize = 0x20000;
inline constexpr uint64_t kMemorySize = 0x1000000;

// Segment selectors. The last two bits are the privilege level.
inline constexpr uint16_t kKernelCode = 0x08;
inline constexpr uint16_t kKernelData = 0x10;
inline constexpr uint16_t kUserData = 0x1B;
inline constexpr uint16_t kUserCode = 0x23;
inline constexpr uint16_t kTask = 0x28;

// The guest calls the monitor by an OUT of 32 bits to this port.
inline constexpr uint16_t kPort = 0x500;
enum class MonitorCall : uint32_t {
  kReady = 1,    // CPU 0 waits for a task; the last one is done
  kIdle = 2,     // another CPU waits for work; the last one is done
  kRunOn = 3,    // run CPU `run_on` until it is idle
  kReadPmc = 4,  // RDPMC faulted at `frame`
  kPanic = 5,    // an exception was not expected; `frame` has it
  kNothing = 6,  // returns at once
};

// What CPU 0 is to do. The first are functions of Pmu.
enum class Task : uint32_t {
  kHandle,
  kClose,
  kStop,
  kCpuOnline,
  kCpuOffline,
  kSuspend,
  kResume,
  kUserReadPmc,    // RDPMC of `counter` in user mode
  kKernelReadPmc,  // the same in kernel mode
  kReadCpuid,      // leaf `counter` to `cpuid`
  kSpin,           // never ends
  kCallForever,    // never ends, and calls the monitor
  kUndefined,      // an undefined instruction
};

// An exception's frame on the stack.
struct TrapFrame {
  uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
  uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
  uint64_t vector, error;
  uint64_t rip, cs, rflags, rsp, ss;
};

struct Mailbox {
  // From the monitor.
  Task task;
  uint32_t command;
  uint64_t client;
  uint64_t request_size;
  uint64_t reply_capacity;
  uint32_t cpu;           // of kCpuOnline and kCpuOffline
  uint32_t counter;       // of kUserReadPmc and kKernelReadPmc: ECX
  uint32_t is_pmu_taken;  // by another owner, as ReservePmu sees it
  uint32_t online_cpus;   // bit i: CPU i runs
  uint32_t is_emulated;   // RDPMC was emulated: continue behind it
  uint32_t padding;
  // Feature bits of each CPU that KVM forges only if the host has them: of
  // CPUID.01H:ECX and CPUID.07H:EDX.
  uint32_t features_1_ecx[kNumCpus];
  uint32_t features_7_edx[kNumCpus];

  // From the guest.
  uint64_t frame;  // address of a TrapFrame
  uint32_t run_on;
  uint32_t is_pmu_reserved;
  uint32_t result;
  uint32_t has_pmc;  // RDPMC did not fault
  uint64_t pmc;
  uint64_t reply_size;

  uint32_t cpuid[4];  // EAX, EBX, ECX, EDX

  uint8_t request[1024];
  uint8_t reply[4096];
};

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_GUEST_MAILBOX_H_
