#include "driver/pmu/simulation/msr_bank.h"

namespace fleetperf::pmu {
namespace {

enum class Kind {
  kNone,
  kSelect,
  kGeneral,
  kFullWidth,
  kFixed,
  kFixedControl,
  kGlobalStatus,
  kGlobalControl,
  kOverflowControl,
  kStatusSet,
  kActualPerformance,
  kMaximumPerformance,
  kReadOnly,
};

constexpr uint32_t kFixedBit = 32;  // in GLOBAL_CTRL

uint64_t Mask(uint32_t width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

uint64_t SignExtend(uint64_t value) {
  const uint64_t low = value & 0xFFFFFFFF;
  return (low & 0x80000000) != 0 ? low | 0xFFFFFFFF00000000 : low;
}

// USR is the second bit, OS the first one after `shift`.
bool IsCountedIn(uint64_t user_then_system, Ring ring) {
  return (user_then_system & (ring == Ring::kUser ? 1 : 2)) != 0;
}

}  // namespace

// What a number of an MSR stands for.
struct MsrBank::Slot {
  Kind kind = Kind::kNone;
  uint32_t index = 0;
  uint64_t value = 0;  // of kReadOnly
};

MsrBank::MsrBank(const CpuModel& model) : model_(model) { Reset(); }

void MsrBank::Reset() {
  state_ = State{};
  if (is_intel() && version() >= 2) state_.global_control = Mask(num_general());
}

uint32_t MsrBank::num_general() const {
  if (!is_intel()) return model_.has_amd_counters ? 6 : 4;
  const uint32_t count = model_.pmu.eax >> 8 & 0xFF;
  if (version() == 0) return 0;
  return count < kGeneral ? count : kGeneral;
}

uint32_t MsrBank::general_width() const {
  return is_intel() ? model_.pmu.eax >> 16 & 0xFF : 48;
}

bool MsrBank::HasFixed(uint32_t counter) const {
  if (!is_intel() || version() < 2 || counter >= kFixed) return false;
  return (model_.pmu.edx & 0x1F) > counter ||
         (version() >= 5 && (model_.pmu.ecx >> counter & 1) != 0);
}

// Exists from version 3, until CPUID.0AH:EDX[15] tells its end.
bool MsrBank::HasAnyThread() const {
  return version() >= 3 && (model_.pmu.edx >> 15 & 1) == 0;
}

uint64_t MsrBank::AllCounters() const {
  uint64_t all = Mask(num_general());
  for (uint32_t i = 0; i < kFixed; ++i) {
    if (HasFixed(i)) all |= uint64_t{1} << (kFixedBit + i);
  }
  return all;
}

uint64_t MsrBank::SelectMask() const {
  if (!is_intel()) return 0x30F'FFFFFFFF & ~uint64_t{0x280000};
  return HasAnyThread() ? 0xFFFFFFFF : 0xFFDFFFFF;
}

uint64_t MsrBank::FixedControlMask() const {
  const uint64_t one = HasAnyThread() ? 0xF : 0xB;
  uint64_t mask = 0;
  for (uint32_t i = 0; i < kFixed; ++i) {
    if (HasFixed(i)) mask |= one << (4 * i);
  }
  return mask;
}

MsrBank::Slot MsrBank::Find(uint32_t msr) const {
  if (model_.has_actual_performance) {
    if (msr == 0xE7) return {Kind::kMaximumPerformance};
    if (msr == 0xE8) return {Kind::kActualPerformance};
  }
  if (!is_intel()) return FindAmd(msr);
  const Slot counter = FindCounter(msr);
  if (counter.kind != Kind::kNone) return counter;
  const Slot control = FindControl(msr);
  return control.kind != Kind::kNone ? control : FindSensor(msr);
}

MsrBank::Slot MsrBank::FindAmd(uint32_t msr) const {
  const uint32_t pair = msr - 0xC0010200;
  if (model_.has_amd_counters && pair < 2 * num_general()) {
    return {pair % 2 == 0 ? Kind::kSelect : Kind::kGeneral, pair / 2};
  }
  // The first four counters, also of a CPU with six.
  const uint32_t select = msr - 0xC0010000;
  const uint32_t counter = msr - 0xC0010004;
  if (select < 4) return {Kind::kSelect, select};
  if (counter < 4) return {Kind::kGeneral, counter};
  if (model_.has_amd_global_control) {
    if (msr == 0xC0000300) return {Kind::kGlobalStatus};
    if (msr == 0xC0000301) return {Kind::kGlobalControl};
    if (msr == 0xC0000302) return {Kind::kOverflowControl};
    if (msr == 0xC0000303) return {Kind::kStatusSet};
  }
  if (!model_.has_energy) return {};
  if (msr == 0xC0010299) return {Kind::kReadOnly, 0, model_.energy_unit};
  if (msr == 0xC001029B) return {Kind::kReadOnly, 0, state_.package_energy};
  return {};
}

MsrBank::Slot MsrBank::FindCounter(uint32_t msr) const {
  const uint32_t select = msr - 0x186;
  const uint32_t general = msr - 0xC1;
  const uint32_t full_width = msr - 0x4C1;
  const uint32_t fixed = msr - 0x309;
  if (select < num_general()) return {Kind::kSelect, select};
  if (general < num_general()) return {Kind::kGeneral, general};
  if (full_width < num_general() && model_.has_perf_capabilities &&
      (model_.perf_capabilities & 1 << 13) != 0) {
    return {Kind::kFullWidth, full_width};
  }
  if (HasFixed(fixed)) return {Kind::kFixed, fixed};
  return {};
}

MsrBank::Slot MsrBank::FindControl(uint32_t msr) const {
  if (version() >= 2) {
    if (msr == 0x38D) return {Kind::kFixedControl};
    if (msr == 0x38E) return {Kind::kGlobalStatus};
    if (msr == 0x38F) return {Kind::kGlobalControl};
    if (msr == 0x390) return {Kind::kOverflowControl};
  }
  if (version() >= 4) {
    if (msr == 0x391) return {Kind::kStatusSet};
    if (msr == 0x392) return {Kind::kReadOnly, 0, InUse()};
  }
  if (msr == 0x345 && model_.has_perf_capabilities) {
    return {Kind::kReadOnly, 0, model_.perf_capabilities};
  }
  return {};
}

MsrBank::Slot MsrBank::FindSensor(uint32_t msr) const {
  if (msr == 0xCE && model_.platform_info != 0) {
    return {Kind::kReadOnly, 0, model_.platform_info};
  }
  if (msr == 0x19C && model_.has_thermal_status) {
    return {Kind::kReadOnly, 0, state_.thermal_status};
  }
  if (msr == 0x1A2 && model_.temperature_target != 0) {
    return {Kind::kReadOnly, 0, model_.temperature_target};
  }
  if (!model_.has_energy) return {};
  if (msr == 0x606) return {Kind::kReadOnly, 0, model_.energy_unit};
  if (msr == 0x611) return {Kind::kReadOnly, 0, state_.package_energy};
  if (msr == 0x619 && model_.has_memory_energy) {
    return {Kind::kReadOnly, 0, state_.memory_energy};
  }
  return {};
}

// A counter is in use if its selection has an event, or if its control has
// modes.
uint64_t MsrBank::InUse() const {
  uint64_t counters = 0;
  for (uint32_t i = 0; i < num_general(); ++i) {
    if ((state_.select[i] & 0xFF) != 0) counters |= uint64_t{1} << i;
  }
  for (uint32_t i = 0; i < kFixed; ++i) {
    if ((state_.fixed_control >> (4 * i) & 3) != 0) {
      counters |= uint64_t{1} << (kFixedBit + i);
    }
  }
  return counters;
}

bool MsrBank::Read(uint32_t msr, uint64_t* value) const {
  return ReadSlot(Find(msr), value);
}

bool MsrBank::ReadSlot(const Slot& slot, uint64_t* value) const {
  switch (slot.kind) {
    case Kind::kNone:
      return false;
    case Kind::kSelect:
      *value = state_.select[slot.index];
      return true;
    case Kind::kGeneral:
    case Kind::kFullWidth:
      *value = state_.general[slot.index];
      return true;
    case Kind::kFixed:
      *value = state_.fixed[slot.index];
      return true;
    case Kind::kFixedControl:
      *value = state_.fixed_control;
      return true;
    case Kind::kGlobalStatus:
      *value = state_.global_status;
      return true;
    case Kind::kGlobalControl:
      *value = state_.global_control;
      return true;
    case Kind::kOverflowControl:
    case Kind::kStatusSet:
      *value = 0;
      return true;
    case Kind::kActualPerformance:
      *value = state_.actual_performance;
      return true;
    case Kind::kMaximumPerformance:
      *value = state_.maximum_performance;
      return true;
    case Kind::kReadOnly:
      *value = slot.value;
      return true;
  }
  return false;
}

bool MsrBank::Write(uint32_t msr, uint64_t value) {
  return WriteSlot(Find(msr), value);
}

bool MsrBank::WriteSlot(const Slot& slot, uint64_t value) {
  const auto set = [&value](uint64_t* target, uint64_t mask) {
    if ((value & ~mask) != 0) return false;
    *target = value;
    return true;
  };
  switch (slot.kind) {
    case Kind::kSelect:
      if (!is_intel()) value &= SelectMask();
      return set(&state_.select[slot.index], SelectMask());
    case Kind::kGeneral:
      state_.general[slot.index] =
          (is_intel() ? SignExtend(value) : value) & Mask(general_width());
      return true;
    case Kind::kFullWidth:
      return set(&state_.general[slot.index], Mask(general_width()));
    case Kind::kFixed:
      return set(&state_.fixed[slot.index], Mask(fixed_width()));
    case Kind::kFixedControl:
      return set(&state_.fixed_control, FixedControlMask());
    case Kind::kGlobalControl:
      if (!is_intel()) value &= AllCounters();
      return set(&state_.global_control, AllCounters());
    case Kind::kOverflowControl:
      // Bits 62 and 63: buffer overflow, condition changed.
      if ((value & ~(AllCounters() | uint64_t{3} << 62)) != 0) return false;
      state_.global_status &= ~value;
      return true;
    case Kind::kStatusSet:
      if ((value & ~AllCounters()) != 0) return false;
      state_.global_status |= value;
      return true;
    case Kind::kActualPerformance:
      state_.actual_performance = value;
      return true;
    case Kind::kMaximumPerformance:
      state_.maximum_performance = value;
      return true;
    default:
      return false;
  }
}

// Bit 30 selects the fixed counters; bits 31 and 30 do not count for the range.
bool MsrBank::ReadCounter(uint32_t index, Ring ring, uint64_t cr4,
                          uint64_t* value) const {
  constexpr uint64_t kPce = 1 << 8;
  constexpr uint32_t kFixedFlag = 1 << 30;
  if (ring == Ring::kUser && (cr4 & kPce) == 0) return false;
  const uint32_t counter = index & 0x3FFFFFFF;
  if (is_intel() && (index & kFixedFlag) != 0) {
    if (!HasFixed(counter)) return false;
    *value = state_.fixed[counter];
    return true;
  }
  if (counter >= num_general()) return false;
  *value = state_.general[counter];
  return true;
}

bool MsrBank::IsEnabled(uint32_t global_bit) const {
  return !has_global_control() ||
         (state_.global_control >> global_bit & 1) != 0;
}

void MsrBank::Add(uint64_t* counter, uint64_t count, uint32_t width,
                  uint32_t global_bit, bool interrupts) {
  const uint64_t room = Mask(width) - *counter;
  *counter = (*counter + count) & Mask(width);
  if (count <= room) return;
  if (has_global_control()) {
    state_.global_status |= uint64_t{1} << global_bit;
  }
  if (interrupts) ++state_.interrupts;
}

void MsrBank::CountEvents(EventCode event, uint64_t count, Ring ring) {
  const uint64_t code = (event.event & 0xFF) | (event.unit_mask & 0xFF) << 8;
  const uint64_t high = is_intel() ? 0 : event.event >> 8 & 0xF;
  for (uint32_t i = 0; i < num_general(); ++i) {
    const uint64_t select = state_.select[i];
    const bool matches =
        (select & 0xFFFF) == code && (select >> 32 & 0xF) == high;
    const bool is_running = (select & 1 << 22) != 0 &&
                            IsCountedIn(select >> 16, ring) && IsEnabled(i);
    if (matches && is_running) {
      Add(&state_.general[i], count, general_width(), i,
          (select & 1 << 20) != 0);
    }
  }
}

void MsrBank::CountFixed(uint32_t counter, uint64_t count, Ring ring) {
  if (!HasFixed(counter)) return;
  const uint64_t control = state_.fixed_control >> (4 * counter) & 0xF;
  // Here the first bit is OS, the second one USR.
  const bool counts = (control & (ring == Ring::kUser ? 2 : 1)) != 0;
  const uint32_t bit = kFixedBit + counter;
  if (!counts || !IsEnabled(bit)) return;
  Add(&state_.fixed[counter], count, fixed_width(), bit, (control & 8) != 0);
}

void MsrBank::CountPerformance(uint64_t actual, uint64_t maximum) {
  state_.actual_performance += actual;
  state_.maximum_performance += maximum;
}

void MsrBank::CountEnergy(uint32_t package, uint32_t memory) {
  state_.package_energy += package;
  state_.memory_energy += memory;
}

void MsrBank::SetTemperature(uint32_t below_limit) {
  constexpr uint64_t kValid = uint64_t{1} << 31;
  state_.thermal_status = kValid | uint64_t{below_limit & 0x7F} << 16;
}

}  // namespace fleetperf::pmu
