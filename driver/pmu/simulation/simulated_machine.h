// A machine of simulated CPUs, whose counters count what a script tells them.
// Freestanding; holds all its CPUs, so that it is too large for a kernel's
// stack.

#ifndef FLEETPERF_DRIVER_PMU_SIMULATION_SIMULATED_MACHINE_H_
#define FLEETPERF_DRIVER_PMU_SIMULATION_SIMULATED_MACHINE_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/pmu/simulation/cpu_model.h"
#include "driver/pmu/simulation/msr_bank.h"

namespace fleetperf::pmu {

// An access of the code under test to a register.
struct SimulatedAccess {
  enum class Kind { kReadMsr, kWriteMsr, kWriteCr4 };
  Kind kind = Kind::kReadMsr;
  uint32_t cpu = 0;
  uint32_t msr = 0;
  uint64_t value = 0;  // that is written
};

// Thread-compatible.
class SimulatedMachine final : public Machine {
 public:
  static constexpr uint32_t kMaxCpus = 128;
  using Observer = void (*)(void* context, const SimulatedAccess& access);

  SimulatedMachine() = default;
  SimulatedMachine(const CpuModel& model, uint32_t num_cpus) {
    for (uint32_t i = 0; i < num_cpus; ++i) AddCpu(model);
  }
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;
  ~SimulatedMachine() = default;

  // The script. CPUs have the numbers 0, 1, ... and are online.
  void AddCpu(const CpuModel& model);
  MsrBank& bank(uint32_t cpu) { return cpus_[cpu].bank; }
  uint64_t cr4(uint32_t cpu) const { return cpus_[cpu].cr4; }
  void set_cr4(uint32_t cpu, uint64_t value) { cpus_[cpu].cr4 = value; }
  // An offline CPU keeps its registers. LoseState resets them, as sleep does.
  void SetOnline(uint32_t cpu, bool is_online);
  void LoseState(uint32_t cpu);
  void AdvanceTsc(uint64_t ticks) { tsc_ += ticks; }
  // Another driver reserves the PMU.
  void SetReservedByOther(bool is_reserved) { is_reserved_ = is_reserved; }

  // The access after `skipped` others to registers raises #GP, once.
  void FailAccess(uint64_t skipped);
  void FailNoAccess() { fails_ = false; }
  // Every access to an MSR raises #GP, as under a hypervisor that hides it.
  void HideMsr(uint32_t msr) { hidden_msr_ = msr; }
  // Writes to MSRs or to CR4 have no effect, as under some hypervisors.
  void IgnoreWrites(bool are_ignored) { ignores_writes_ = are_ignored; }
  void IgnoreCr4Writes(bool are_ignored) { ignores_cr4_ = are_ignored; }

  uint64_t num_accesses() const { return num_accesses_; }
  bool is_reserved() const { return is_reserved_; }
  // Sees each access before it happens.
  void SetObserver(Observer observer, void* context) {
    observer_ = observer;
    context_ = context;
  }

  // Runs as if RunOn had moved the caller there.
  void SetCurrentCpu(uint32_t cpu) { current_ = cpu; }

  CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override;
  bool ReadMsr(uint32_t msr, uint64_t* value) override;
  bool WriteMsr(uint32_t msr, uint64_t value) override;
  uint64_t ReadCr4() override { return cpus_[current_].cr4; }
  bool WriteCr4(uint64_t value) override;
  uint64_t ReadTsc() override { return tsc_; }
  uint32_t CpuLimit() override { return num_cpus_; }
  bool RunOn(uint32_t cpu, CpuWork& work) override;
  Reservation ReservePmu() override;
  void ReleasePmu() override { is_reserved_ = false; }

 private:
  struct Cpu {
    MsrBank bank;
    uint64_t cr4 = 0;
    bool is_online = true;
  };

  // False: the access raises #GP.
  bool Permit(const SimulatedAccess& access);

  Cpu cpus_[kMaxCpus];
  uint32_t num_cpus_ = 0;
  uint32_t current_ = 0;
  uint64_t tsc_ = 0;
  bool is_reserved_ = false;
  bool ignores_writes_ = false;
  bool ignores_cr4_ = false;
  bool fails_ = false;
  uint64_t accesses_before_failure_ = 0;
  uint32_t hidden_msr_ = 0;
  uint64_t num_accesses_ = 0;
  Observer observer_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_SIMULATION_SIMULATED_MACHINE_H_
