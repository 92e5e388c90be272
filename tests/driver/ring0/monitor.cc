#include "tests/driver/ring0/monitor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::ring0 {
namespace {

constexpr char kDevice[] = "/dev/kvm";
constexpr uint64_t kReadPmcSize = 2;  // bytes of the instruction
constexpr size_t kMaxCpuidLeaves = 64;

// The CPU that runs, for the signal handler.
std::atomic<kvm_run*> g_running = nullptr;
std::atomic<bool> g_is_late = false;

// SIGALRM comes once, after `time`.
void SetAlarm(absl::Duration time) {
  itimerval timer = {};
  timer.it_value = absl::ToTimeval(time);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void StopRunning(int) {
  g_is_late = true;
  if (kvm_run* const run = g_running) run->immediate_exit = 1;
}

absl::Status OsError(absl::string_view what) {
  return StatusFromErrno(errno, what);
}

absl::Status Unusable(absl::string_view reason) {
  return absl::FailedPreconditionError(absl::StrCat(
      reason, "; run the test on a machine with KVM, as a user who may open ",
      kDevice, " (a container needs --device=", kDevice, ")"));
}

absl::StatusOr<Descriptor> OpenKvm() {
  Descriptor kvm(open(kDevice, O_RDWR | O_CLOEXEC));
  if (kvm.get() < 0) return Unusable(OsError(kDevice).message());
  return kvm;
}

// All MSRs that the guest names exit to the monitor: no range is allowed but
// one that no CPU has.
absl::Status SendMsrsToUser(int machine) {
  kvm_enable_cap enable = {
      .cap = KVM_CAP_X86_USER_SPACE_MSR,
      .args = {KVM_MSR_EXIT_REASON_INVAL | KVM_MSR_EXIT_REASON_UNKNOWN |
               KVM_MSR_EXIT_REASON_FILTER}};
  if (ioctl(machine, KVM_ENABLE_CAP, &enable) < 0) {
    return OsError("KVM_CAP_X86_USER_SPACE_MSR");
  }
  uint8_t none = 0;
  kvm_msr_filter filter = {.flags = KVM_MSR_FILTER_DEFAULT_DENY};
  filter.ranges[0] = {
      .flags = KVM_MSR_FILTER_READ | KVM_MSR_FILTER_WRITE,
      .nmsrs = 8,
      .base = 0xFFFFFFF0,
      .bitmap = &none,
  };
  if (ioctl(machine, KVM_X86_SET_MSR_FILTER, &filter) < 0) {
    return OsError("KVM_X86_SET_MSR_FILTER");
  }
  return absl::OkStatus();
}

// Takes away the guest's own PMU, if KVM has one to give, so that RDPMC faults.
absl::Status DisablePmu(int kvm, int machine) {
  const int can = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_PMU_CAPABILITY);
  if (can <= 0 || (can & KVM_PMU_CAP_DISABLE) == 0) return absl::OkStatus();
  kvm_enable_cap disable = {.cap = KVM_CAP_PMU_CAPABILITY,
                            .args = {KVM_PMU_CAP_DISABLE}};
  if (ioctl(machine, KVM_ENABLE_CAP, &disable) < 0) {
    return OsError("KVM_CAP_PMU_CAPABILITY");
  }
  return absl::OkStatus();
}

// kvm_cpuid2 as the kernel has it. The system's header gives C++ another size,
// and so another number of the ioctl: an empty structure has 0 bytes in C.
struct CpuidTable {
  uint32_t size;
  uint32_t padding;
  kvm_cpuid_entry2 entries[kMaxCpuidLeaves];
};
constexpr unsigned long kSetCpuid = _IOC(_IOC_WRITE, KVMIO, 0x90, 8);

absl::Status SetCpuid(int cpu, const std::vector<kvm_cpuid_entry2>& entries) {
  CpuidTable table = {.size = static_cast<uint32_t>(entries.size())};
  if (entries.size() > kMaxCpuidLeaves) {
    return absl::InvalidArgumentError(absl::StrCat(
        entries.size(), " leaves of CPUID, more than ", kMaxCpuidLeaves));
  }
  std::copy(entries.begin(), entries.end(), table.entries);
  if (ioctl(cpu, kSetCpuid, &table) < 0) return OsError("KVM_SET_CPUID2");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckKvm() {
  ASSIGN_OR_RETURN(const Descriptor kvm, OpenKvm());
  for (const int extension :
       {KVM_CAP_X86_USER_SPACE_MSR, KVM_CAP_X86_MSR_FILTER}) {
    if (ioctl(kvm.get(), KVM_CHECK_EXTENSION, extension) <= 0) {
      return Unusable("KVM sends no MSRs to its user: Linux 5.10 does");
    }
  }
  return absl::OkStatus();
}

void Monitor::UnmapRun::operator()(kvm_run* run) const { munmap(run, size); }

absl::StatusOr<std::unique_ptr<Monitor>> Monitor::Create(
    const std::string& image, const CpuidTables& cpuid, Device& device) {
  std::unique_ptr<Monitor> monitor(new Monitor(device));
  RETURN_IF_ERROR(monitor->CreateMachine(image, cpuid));
  for (uint32_t cpu = 1; cpu < kNumCpus; ++cpu) {
    RETURN_IF_ERROR(monitor->RunWithinLimits(cpu, MonitorCall::kIdle));
  }
  monitor->mailbox().online_cpus = (1u << kNumCpus) - 1;
  RETURN_IF_ERROR(monitor->Run());
  return monitor;
}

absl::Status Monitor::CreateMachine(const std::string& image,
                                    const CpuidTables& cpuid) {
  ASSIGN_OR_RETURN(memory_, MapGuestMemory());
  ASSIGN_OR_RETURN(entry_, LoadImage(image, memory_.get()));
  WriteTables(memory_.get());
  ASSIGN_OR_RETURN(const Descriptor kvm, OpenKvm());
  machine_ = Descriptor(ioctl(kvm.get(), KVM_CREATE_VM, 0));
  if (machine_.get() < 0) return OsError("KVM_CREATE_VM");
  RETURN_IF_ERROR(SendMsrsToUser(machine_.get()));
  RETURN_IF_ERROR(DisablePmu(kvm.get(), machine_.get()));
  kvm_userspace_memory_region region = {
      .memory_size = kMemorySize,
      .userspace_addr = reinterpret_cast<uint64_t>(memory_.get())};
  if (ioctl(machine_.get(), KVM_SET_USER_MEMORY_REGION, &region) < 0) {
    return OsError("KVM_SET_USER_MEMORY_REGION");
  }
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    RETURN_IF_ERROR(CreateCpu(cpu, kvm.get(), cpuid[cpu]));
  }
  return absl::OkStatus();
}

absl::Status Monitor::CreateCpu(uint32_t cpu, int kvm,
                                const std::vector<kvm_cpuid_entry2>& cpuid) {
  Descriptor fd(ioctl(machine_.get(), KVM_CREATE_VCPU, cpu));
  if (fd.get() < 0) return OsError("KVM_CREATE_VCPU");
  RETURN_IF_ERROR(SetCpuid(fd.get(), cpuid));
  const int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
  if (size < 0) return OsError("KVM_GET_VCPU_MMAP_SIZE");
  void* const run = mmap(nullptr, static_cast<size_t>(size),
                         PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (run == MAP_FAILED) return OsError("mmap of a CPU");
  cpus_.push_back({std::move(fd),
                   {static_cast<kvm_run*>(run),
                    UnmapRun{.size = static_cast<size_t>(size)}}});
  return SetRegisters(cpu);
}

absl::Status Monitor::SetRegisters(uint32_t cpu) {
  const int fd = cpus_[cpu].fd.get();
  kvm_sregs system;
  if (ioctl(fd, KVM_GET_SREGS, &system) < 0) return OsError("KVM_GET_SREGS");
  SetTables(cpu, &system);
  if (ioctl(fd, KVM_SET_SREGS, &system) < 0) return OsError("KVM_SET_SREGS");
  // A function expects the return address below an aligned stack.
  kvm_regs registers = {
      .rdi = cpu,
      .rsp = kStacksBegin + (2 * cpu + 1) * kStackSize - sizeof(uint64_t),
      .rip = entry_,
      .rflags = 2};
  if (ioctl(fd, KVM_SET_REGS, &registers) < 0) return OsError("KVM_SET_REGS");
  return absl::OkStatus();
}

absl::Status Monitor::Run() { return RunWithinLimits(0, MonitorCall::kReady); }

absl::Status Monitor::RunWithinLimits(uint32_t cpu, MonitorCall call) {
  struct sigaction action = {};
  action.sa_handler = StopRunning;
  struct sigaction before;
  sigaction(SIGALRM, &action, &before);
  g_is_late = false;
  exits_ = 0;
  SetAlarm(limits_.time);
  const absl::Cleanup restore = [&before] {
    SetAlarm(absl::ZeroDuration());
    sigaction(SIGALRM, &before, nullptr);
  };
  return RunUntil(cpu, call);
}

absl::Status Monitor::RunUntil(uint32_t cpu, MonitorCall call) {
  for (;;) {
    if (++exits_ > limits_.exits) {
      return absl::DeadlineExceededError(
          absl::StrCat("the guest made ", limits_.exits,
                       " exits without an end of its task: ", PlaceOf(cpu)));
    }
    kvm_run* const run = cpus_[cpu].run.get();
    g_running = run;
    run->immediate_exit = g_is_late ? 1 : 0;
    const int result = ioctl(cpus_[cpu].fd.get(), KVM_RUN, 0);
    const int error = errno;
    g_running = nullptr;
    if (g_is_late) {
      return absl::DeadlineExceededError(
          absl::StrCat("the guest did not end its task within ",
                       absl::FormatDuration(limits_.time), ": ", PlaceOf(cpu)));
    }
    if (result < 0) {
      if (error == EINTR || error == EAGAIN) continue;
      return StatusFromErrno(error, absl::StrCat("KVM_RUN: ", PlaceOf(cpu)));
    }
    ASSIGN_OR_RETURN(const bool has_called, HandleExit(cpu, call));
    if (has_called) return absl::OkStatus();
  }
}

absl::StatusOr<bool> Monitor::HandleExit(uint32_t cpu, MonitorCall call) {
  kvm_run& run = *cpus_[cpu].run;
  switch (run.exit_reason) {
    case KVM_EXIT_X86_RDMSR: {
      uint64_t value = 0;
      run.msr.error = !device_.ReadMsr(cpu, run.msr.index, &value);
      run.msr.data = value;
      return false;
    }
    case KVM_EXIT_X86_WRMSR:
      run.msr.error = !device_.WriteMsr(cpu, run.msr.index, run.msr.data);
      return false;
    case KVM_EXIT_IO: {
      if (run.io.port != kPort || run.io.size != sizeof(uint32_t)) break;
      const auto* const data = reinterpret_cast<const uint32_t*>(
          reinterpret_cast<const uint8_t*>(&run) + run.io.data_offset);
      return HandleCall(cpu, static_cast<MonitorCall>(*data), call);
    }
    default:
      break;
  }
  return absl::InternalError(absl::StrCat("unexpected exit ", run.exit_reason,
                                          " of the guest: ", PlaceOf(cpu)));
}

absl::StatusOr<bool> Monitor::HandleCall(uint32_t cpu, MonitorCall made,
                                         MonitorCall call) {
  switch (made) {
    case MonitorCall::kRunOn: {
      const uint32_t other = mailbox().run_on;
      if (other == cpu || other >= kNumCpus) break;
      RETURN_IF_ERROR(RunUntil(other, MonitorCall::kIdle));
      return false;
    }
    case MonitorCall::kReadPmc:
      RETURN_IF_ERROR(EmulateReadPmc(cpu));
      return false;
    case MonitorCall::kPanic:
      return Panic(cpu);
    case MonitorCall::kNothing:
      return false;
    case MonitorCall::kReady:
    case MonitorCall::kIdle:
      if (made == call) return true;
      break;
  }
  return absl::InternalError(absl::StrCat("unexpected call ",
                                          static_cast<uint32_t>(made),
                                          " of the guest: ", PlaceOf(cpu)));
}

// The guest's RDPMC faults even at CPL 0, because it has no PMU. The
// device decides by the privilege level and CR4 that the processor really has.
absl::Status Monitor::EmulateReadPmc(uint32_t cpu) {
  ASSIGN_OR_RETURN(TrapFrame* const frame, Frame());
  ASSIGN_OR_RETURN(const uint64_t cr4, Cr4(cpu));
  uint64_t value = 0;
  const bool is_user = (frame->cs & 3) != 0;
  mailbox().is_emulated = device_.ReadPmc(
      cpu, static_cast<uint32_t>(frame->rcx), is_user, cr4, &value);
  if (mailbox().is_emulated == 0) return absl::OkStatus();
  frame->rax = value & 0xFFFFFFFF;
  frame->rdx = value >> 32;
  frame->rip += kReadPmcSize;
  return absl::OkStatus();
}

absl::StatusOr<TrapFrame*> Monitor::Frame() {
  const uint64_t address = mailbox().frame;
  if (address > kMemorySize - sizeof(TrapFrame)) {
    return absl::InternalError(absl::StrCat("the guest's frame is at 0x",
                                            absl::Hex(address),
                                            ", outside of its memory"));
  }
  return reinterpret_cast<TrapFrame*>(memory_.get() + address);
}

absl::Status Monitor::Panic(uint32_t cpu) {
  ASSIGN_OR_RETURN(const TrapFrame* const frame, Frame());
  return absl::InternalError(absl::StrCat(
      "unexpected exception ", frame->vector, " (error code 0x",
      absl::Hex(frame->error), ") of CPU ", cpu, " of the guest at 0x",
      absl::Hex(frame->rip), ", CPL ", frame->cs & 3));
}

std::string Monitor::PlaceOf(uint32_t cpu) {
  kvm_regs registers;
  if (ioctl(cpus_[cpu].fd.get(), KVM_GET_REGS, &registers) < 0) {
    return absl::StrCat("CPU ", cpu);
  }
  return absl::StrCat("CPU ", cpu, " is at 0x", absl::Hex(registers.rip));
}

absl::StatusOr<uint64_t> Monitor::Cr4(uint32_t cpu) {
  kvm_sregs system;
  if (ioctl(cpus_[cpu].fd.get(), KVM_GET_SREGS, &system) < 0) {
    return OsError("KVM_GET_SREGS");
  }
  return system.cr4;
}

absl::Status Monitor::SetCr4(uint32_t cpu, uint64_t value) {
  kvm_sregs system;
  if (ioctl(cpus_[cpu].fd.get(), KVM_GET_SREGS, &system) < 0) {
    return OsError("KVM_GET_SREGS");
  }
  system.cr4 = value;
  if (ioctl(cpus_[cpu].fd.get(), KVM_SET_SREGS, &system) < 0) {
    return OsError("KVM_SET_SREGS");
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::ring0
