#include "driver/windows/sys/simulated_machine.h"

#include "driver/windows/sys/kernel.h"

namespace fleetperf::pmu_device {
namespace {

using pmu::EventCode;
using pmu::MsrBank;
using pmu::Ring;

// Timestamps are multiples of this, so that all counts are whole numbers.
constexpr uint64_t kTscStep = 3'500'000;
constexpr uint64_t kStepsPerSecond = 1000;
constexpr uint64_t kSystemTimePerStep = 10'000;  // of 100 ns each

constexpr uint64_t kReferenceCycles = kTscStep / 2;
constexpr uint64_t kCoreCycles = kReferenceCycles / 10 * 12;
constexpr uint64_t kInstructions = kCoreCycles / 10 * 15;
constexpr uint32_t kDegreesBelowLimit = 30;

struct GeneralEvent {
  EventCode code;
  uint64_t count;  // in a step
};
// The architectural events. CPU_CLK_UNHALTED.REF counts the clock of 100 MHz.
constexpr GeneralEvent kEvents[] = {
    {{0x3C, 0x00}, kCoreCycles},
    {{0xC0, 0x00}, kInstructions},
    {{0x3C, 0x01}, kReferenceCycles / 35},
    {{0x2E, 0x4F}, kInstructions / 100},
    {{0x2E, 0x41}, kInstructions / 1000 * 4},
    {{0xC4, 0x00}, kInstructions / 5},
    {{0xC5, 0x00}, kInstructions / 500},
};
constexpr uint64_t kFixed[] = {kInstructions, kCoreCycles, kReferenceCycles};

// The unit of package energy of this model is 2^-14 J, that of memory energy
// 2^-16 J.
constexpr uint64_t kPackageWatts = 28;
constexpr uint64_t kMemoryHalfWatts = 7;

uint32_t EnergyBetween(uint64_t from, uint64_t to, uint64_t per_second) {
  return static_cast<uint32_t>(to * per_second / kStepsPerSecond -
                               from * per_second / kStepsPerSecond);
}

// The time since 1601. The headers' KeQuerySystemTime reads memory that Wine
// lacks; Wine has a function of that name instead.
uint64_t StepsNow() {
  auto* const query =
      FindRoutine<void NTAPI(LARGE_INTEGER*)>(L"KeQuerySystemTime");
  LARGE_INTEGER time = {};
  if (query != nullptr) query(&time);
  return static_cast<uint64_t>(time.QuadPart) / kSystemTimePerStep;
}

class RunSimulated final : public pmu::CpuWork {
 public:
  RunSimulated(pmu::SimulatedMachine& machine, uint32_t cpu, pmu::CpuWork& work)
      : machine_(machine), cpu_(cpu), work_(work) {}
  void Run() override { has_run_ = machine_.RunOn(cpu_, work_); }
  bool has_run() const { return has_run_; }

 private:
  pmu::SimulatedMachine& machine_;
  const uint32_t cpu_;
  pmu::CpuWork& work_;
  bool has_run_ = false;
};

MsrBank NewBank() {
  MsrBank bank(pmu::HaswellServer());
  bank.SetTemperature(kDegreesBelowLimit);
  return bank;
}

// Whether a bank is as NewBank made it, but for what the driver cannot change.
bool IsAsBefore(const MsrBank& bank) {
  MsrBank::State before = NewBank().state();
  before.actual_performance = bank.state().actual_performance;
  before.maximum_performance = bank.state().maximum_performance;
  before.package_energy = bank.state().package_energy;
  before.memory_energy = bank.state().memory_energy;
  return bank.state() == before;
}

constexpr ULONG kBugCheckCode = 0xC4;  // DRIVER_VERIFIER_DETECTED_VIOLATION

}  // namespace

SimulatedMachine::SimulatedMachine() : start_(StepsNow()) {
  const uint32_t limit = Processors::Limit();
  for (uint32_t cpu = 0; cpu < limit && cpu < pmu::SimulatedMachine::kMaxCpus;
       ++cpu) {
    machine_.AddCpu(pmu::HaswellServer());
    machine_.bank(cpu) = NewBank();
  }
}

SimulatedMachine::~SimulatedMachine() {
  for (uint32_t cpu = 0; cpu < machine_.CpuLimit(); ++cpu) {
    if (!IsAsBefore(machine_.bank(cpu)) || machine_.cr4(cpu) != 0) {
      KeBugCheckEx(kBugCheckCode, cpu, 0, 0, 0);
    }
  }
}

uint64_t SimulatedMachine::Now() {
  const uint64_t now = StepsNow();
  const uint64_t last = machine_.ReadTsc() / kTscStep;
  // The system's clock may be set back.
  return now < start_ + last ? last : now - start_;
}

void SimulatedMachine::Advance(uint32_t cpu) {
  const uint64_t now = Now();
  const uint64_t previous = steps_[cpu];
  steps_[cpu] = now;
  machine_.AdvanceTsc(now * kTscStep - machine_.ReadTsc());
  const uint64_t steps = now - previous;
  MsrBank& bank = machine_.bank(cpu);
  for (const GeneralEvent& event : kEvents) {
    bank.CountEvents(event.code, event.count * steps, Ring::kUser);
  }
  for (uint32_t i = 0; i < sizeof kFixed / sizeof kFixed[0]; ++i) {
    bank.CountFixed(i, kFixed[i] * steps, Ring::kUser);
  }
  bank.CountPerformance(kCoreCycles * steps, kReferenceCycles * steps);
  bank.CountEnergy(EnergyBetween(previous, now, kPackageWatts << 14),
                   EnergyBetween(previous, now, kMemoryHalfWatts << 15));
}

bool SimulatedMachine::RunOn(uint32_t cpu, pmu::CpuWork& work) {
  if (cpu >= machine_.CpuLimit()) return false;
  Advance(cpu);
  RunSimulated run(machine_, cpu, work);
  return processors_.RunOn(cpu, run) && run.has_run();
}

}  // namespace fleetperf::pmu_device
