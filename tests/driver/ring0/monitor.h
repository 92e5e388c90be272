// Runs the guest of the ring-0 bench in a virtual machine of KVM, without any
// other monitor. Accesses to MSRs go to a device, RDPMC too; CR4, CPUID,
// privilege levels and general-protection faults are the processor's own.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_MONITOR_H_
#define FLEETPERF_TESTS_DRIVER_RING0_MONITOR_H_

#include <linux/kvm.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/driver/ring0/descriptor.h"
#include "tests/driver/ring0/guest/mailbox.h"
#include "tests/driver/ring0/guest_memory.h"

namespace fleetperf::ring0 {

// Whether this process can run virtual machines whose MSRs it serves.
// Otherwise, the reason and the next step.
absl::Status CheckKvm();

// The registers of the guest's CPUs that the monitor serves. A function that
// returns false lets the guest's instruction fault.
class Device {
 public:
  virtual ~Device() = default;

  virtual bool ReadMsr(uint32_t cpu, uint32_t msr, uint64_t* value) = 0;
  virtual bool WriteMsr(uint32_t cpu, uint32_t msr, uint64_t value) = 0;

  // RDPMC with `counter` in ECX, including the check whether the privilege
  // level and CR4 permit it.
  virtual bool ReadPmc(uint32_t cpu, uint32_t counter, bool is_user,
                       uint64_t cr4, uint64_t* value) = 0;
};

// Of a task. A guest that exceeds one has lost its way.
struct Limits {
  int exits = 1'000'000;
  absl::Duration time = absl::Seconds(60);
};

// Thread-compatible. While Run() runs, SIGALRM is in use.
class Monitor {
 public:
  // Leaves of CPUID for each CPU; leaves that are not given are 0, except those
  // that long mode needs.
  using CpuidTables = std::array<std::vector<kvm_cpuid_entry2>, kNumCpus>;

  // Loads the guest's image and runs each CPU until it waits. `device` outlives
  // the monitor.
  static absl::StatusOr<std::unique_ptr<Monitor>> Create(
      const std::string& image, const CpuidTables& cpuid, Device& device);

  // CPU 0 carries out mailbox().task. Fails if the guest panics, and if it does
  // not end within the limits of exits and of time.
  absl::Status Run();

  Mailbox& mailbox() {
    return *reinterpret_cast<Mailbox*>(memory_.get() + kMailboxAddress);
  }

  void set_limits(const Limits& limits) { limits_ = limits; }

  // The register of the virtual processor.
  absl::StatusOr<uint64_t> Cr4(uint32_t cpu);
  absl::Status SetCr4(uint32_t cpu, uint64_t value);

 private:
  struct UnmapRun {
    size_t size;
    void operator()(kvm_run* run) const;
  };
  struct Cpu {
    Descriptor fd;
    std::unique_ptr<kvm_run, UnmapRun> run;
  };

  explicit Monitor(Device& device) : device_(device) {}

  absl::Status CreateMachine(const std::string& image,
                             const CpuidTables& cpuid);
  absl::Status CreateCpu(uint32_t cpu, int kvm,
                         const std::vector<kvm_cpuid_entry2>& cpuid);
  absl::Status SetRegisters(uint32_t cpu);

  // Runs a CPU until it makes `call`.
  absl::Status RunWithinLimits(uint32_t cpu, MonitorCall call);
  absl::Status RunUntil(uint32_t cpu, MonitorCall call);

  // Handles the exit of a CPU. True if the CPU has made `call`.
  absl::StatusOr<bool> HandleExit(uint32_t cpu, MonitorCall call);
  absl::StatusOr<bool> HandleCall(uint32_t cpu, MonitorCall made,
                                  MonitorCall call);
  absl::Status EmulateReadPmc(uint32_t cpu);
  absl::StatusOr<TrapFrame*> Frame();
  absl::Status Panic(uint32_t cpu);
  std::string PlaceOf(uint32_t cpu);

  Device& device_;
  Descriptor machine_;
  GuestMemory memory_;
  uint64_t entry_ = 0;
  std::vector<Cpu> cpus_;
  Limits limits_;
  int exits_ = 0;
};

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_MONITOR_H_
