// The model-specific registers of a simulated CPU: which exist, which bits they
// take, and how they count. Freestanding, for use in a kernel and in a virtual
// machine monitor, too.
//
// The rules are those of Intel's SDM, volume 3, "Performance Monitoring", with
// KVM's choices where the SDM leaves them open: a write to a reserved bit or to
// a register that does not exist raises #GP. AMD ignores reserved bits.

#ifndef FLEETPERF_DRIVER_PMU_SIMULATION_MSR_BANK_H_
#define FLEETPERF_DRIVER_PMU_SIMULATION_MSR_BANK_H_

#include <stdint.h>

#include "driver/pmu/simulation/cpu_model.h"

namespace fleetperf::pmu {

// An event of a general counter. AMD's events have 12 bits.
struct EventCode {
  uint32_t event = 0;
  uint32_t unit_mask = 0;
};

enum class Ring { kSystem, kUser };

class MsrBank {
 public:
  static constexpr uint32_t kGeneral = 16;
  static constexpr uint32_t kFixed = 4;

  // All registers that may change.
  struct State {
    uint64_t select[kGeneral] = {};
    uint64_t general[kGeneral] = {};
    uint64_t fixed_control = 0;
    uint64_t fixed[kFixed] = {};
    uint64_t global_control = 0;
    uint64_t global_status = 0;
    uint64_t actual_performance = 0;
    uint64_t maximum_performance = 0;
    uint64_t thermal_status = 0;
    uint32_t package_energy = 0;
    uint32_t memory_energy = 0;
    // Performance interrupts that overflows have requested.
    uint64_t interrupts = 0;

    bool operator==(const State&) const = default;
  };

  MsrBank() : MsrBank(CpuModel{}) {}
  explicit MsrBank(const CpuModel& model);

  const CpuModel& model() const { return model_; }
  const State& state() const { return state_; }
  // Sets registers past all rules.
  void set_state(const State& state) { state_ = state; }
  // As after the CPU's reset.
  void Reset();

  // False: the access raises #GP, and changes nothing.
  bool Read(uint32_t msr, uint64_t* value) const;
  bool Write(uint32_t msr, uint64_t value);
  // RDPMC, whose ECX is `index`, in protected mode.
  bool ReadCounter(uint32_t index, Ring ring, uint64_t cr4,
                   uint64_t* value) const;

  // The CPU counts.
  void CountEvents(EventCode event, uint64_t count, Ring ring);
  void CountFixed(uint32_t counter, uint64_t count, Ring ring);
  void CountPerformance(uint64_t actual, uint64_t maximum);
  void CountEnergy(uint32_t package, uint32_t memory);
  // In degrees Celsius below the throttling point.
  void SetTemperature(uint32_t below_limit);

 private:
  struct Slot;
  bool is_intel() const { return model_.vendor == Vendor::kIntel; }
  uint32_t version() const { return model_.pmu.eax & 0xFF; }
  bool has_global_control() const {
    return is_intel() ? version() >= 2 : model_.has_amd_global_control;
  }
  uint32_t num_general() const;
  uint32_t general_width() const;
  uint32_t fixed_width() const { return model_.pmu.edx >> 5 & 0xFF; }
  bool HasFixed(uint32_t counter) const;
  bool HasAnyThread() const;
  uint64_t AllCounters() const;
  uint64_t SelectMask() const;
  uint64_t FixedControlMask() const;
  uint64_t InUse() const;
  Slot Find(uint32_t msr) const;
  Slot FindAmd(uint32_t msr) const;
  Slot FindCounter(uint32_t msr) const;
  Slot FindControl(uint32_t msr) const;
  Slot FindSensor(uint32_t msr) const;
  bool ReadSlot(const Slot& slot, uint64_t* value) const;
  bool WriteSlot(const Slot& slot, uint64_t value);
  bool IsEnabled(uint32_t global_bit) const;
  void Add(uint64_t* counter, uint64_t count, uint32_t width,
           uint32_t global_bit, bool interrupts);

  CpuModel model_;
  State state_;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_SIMULATION_MSR_BANK_H_
