// Fuzzes the PMU core: several clients' requests, CPUs that come and go, sleep
// and faults. Whatever the sequence, the core accesses only allowed registers
// with values that the CPUs accept. After Stop() or a fault, all registers are
// as before.
//
// An input is a choice of the machine and a sequence of steps.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "driver/pmu/msr_access.h"
#include "driver/pmu/pmu.h"
#include "driver/pmu/simulation/simulated_machine.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"

namespace fleetperf::pmu {
namespace {

constexpr uint32_t kCpus = 3;

enum class Step : uint8_t {
  kRequest,
  kProgram,
  kClose,
  kCount,
  kOffline,
  kOnline,
  kSleep,
  kFault,
  kOtherOwner,
  kNumSteps,
};

CpuModel Model(uint8_t number, uint32_t cpu) {
  constexpr CpuModel (*kModels[])() = {
      CoreDuo, Penryn, Nehalem, HaswellServer, Skylake,
      IceLake, Zen2,   Zen4,    K10,           WithoutPmu};
  const size_t model = number % (std::size(kModels) + 2);
  if (model < std::size(kModels)) return kModels[model]();
  if (cpu == 0) return AlderLakeCore();
  return model == std::size(kModels) ? AlderLakeAtom() : WithoutPmu();
}

class CheckedMachine {
 public:
  explicit CheckedMachine(uint8_t model) {
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      machine_.AddCpu(Model(model, cpu));
      LeaveTraces(cpu);
    }
    machine_.SetObserver(CheckAccess, this);
  }

  SimulatedMachine& simulated() { return machine_; }
  bool is_online(uint32_t cpu) const { return is_online_[cpu]; }

  void SetOnline(uint32_t cpu, bool is_online) {
    machine_.SetOnline(cpu, is_online);
    is_online_[cpu] = is_online;
    // Registers that the core could not restore while it owned them.
    if (is_online && is_lost_[cpu]) before_[cpu] = machine_.bank(cpu);
    is_lost_[cpu] = false;
  }
  // The core has no owner.
  void LoseOfflineCpus() {
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      if (!is_online_[cpu]) is_lost_[cpu] = true;
    }
  }
  // Counts with the registers of a CPU and with those to restore, because the
  // core leaves counters enabled on a CPU that it has lost.
  template <typename Function>
  void ForRegisters(uint32_t cpu, Function count) {
    count(machine_.bank(cpu));
    count(before_[cpu]);
  }
  // The registers to restore are those after the reset.
  void LoseState(uint32_t cpu) {
    machine_.LoseState(cpu);
    before_[cpu] = machine_.bank(cpu);
    cr4_[cpu] = machine_.cr4(cpu);
  }
  // After Stop() or a fault, or while the machine sleeps.
  void CheckRestored(uint32_t cpu) {
    FUZZ_CHECK(machine_.bank(cpu).state() == before_[cpu].state());
    FUZZ_CHECK(machine_.cr4(cpu) == cr4_[cpu]);
  }

 private:
  // Values that all CPUs can take back: without full-width writes, bits above
  // 31 of a general counter are copies of bit 31.
  void LeaveTraces(uint32_t cpu) {
    MsrBank& bank = machine_.bank(cpu);
    for (uint32_t i = 0; i < 8; ++i) {
      bank.Write(0x186 + i, 0x120041 + i);
      bank.Write(0xC1 + i, 0x80000001 + i);
      bank.Write(0xC0010200 + 2 * i, 0x120041 + i);
      bank.Write(0xC0010201 + 2 * i, 0x123480000001 + i);
      bank.Write(0x309 + i, 0x8012345678 + i);
    }
    bank.Write(0x38F, 3);
    machine_.set_cr4(cpu, cpu == 1 ? 0x1F0 : 0xF0);
    before_[cpu] = bank;
    cr4_[cpu] = machine_.cr4(cpu);
  }

  static void CheckAccess(void* context, const SimulatedAccess& access) {
    auto& self = *static_cast<CheckedMachine*>(context);
    FUZZ_CHECK(self.is_online(access.cpu));
    if (access.kind == SimulatedAccess::Kind::kReadMsr) {
      FUZZ_CHECK(IsReadable(access.msr));
    } else if (access.kind == SimulatedAccess::Kind::kWriteMsr) {
      FUZZ_CHECK(IsWritable(access.msr));
      MsrBank copy = self.machine_.bank(access.cpu);
      FUZZ_CHECK(copy.Write(access.msr, access.value));
      FUZZ_CHECK(copy.state().interrupts == 0);
    } else {
      FUZZ_CHECK((access.value & ~uint64_t{0x100}) == 0xF0 ||
                 (access.value & ~uint64_t{0x100}) == 0);
    }
  }

  SimulatedMachine machine_;
  bool is_online_[kCpus] = {true, true, true};
  bool is_lost_[kCpus] = {};
  MsrBank before_[kCpus];
  uint64_t cr4_[kCpus] = {};
};

class Session {
 public:
  explicit Session(Input* input)
      : input_(*input),
        machine_(input->Byte()),
        memory_(Pmu::MemorySize(kCpus) / sizeof(Block) + 1),
        pmu_(machine_.simulated(), memory_.data()) {}

  void Run() {
    while (!input_.empty()) {
      Take(Step{static_cast<uint8_t>(input_.Byte() %
                                     static_cast<uint8_t>(Step::kNumSteps))});
      const bool is_reserved = machine_.simulated().is_reserved();
      if (is_reserved == is_reserved_by_other_) machine_.LoseOfflineCpus();
    }
    machine_.simulated().FailNoAccess();
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      if (machine_.is_online(cpu)) continue;
      machine_.SetOnline(cpu, true);
      pmu_.CpuOnline(cpu);
    }
    pmu_.Stop();
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) machine_.CheckRestored(cpu);
    FUZZ_CHECK(machine_.simulated().is_reserved() == is_reserved_by_other_);
  }

 private:
  struct alignas(16) Block {
    char bytes[16];
  };

  ClientId Client() { return input_.Byte() % 3; }
  uint32_t Cpu() { return input_.Byte() % (kCpus + 1); }

  void Take(Step step) {
    switch (step) {
      case Step::kRequest:
        return Request();
      case Step::kProgram:
        return Program();
      case Step::kClose:
        return pmu_.Close(Client());
      case Step::kCount:
        return Count();
      case Step::kOffline:
        return GoOffline();
      case Step::kOnline:
        return ComeOnline();
      case Step::kSleep:
        return Sleep();
      case Step::kFault:
        return Fault();
      case Step::kOtherOwner:
        return LetOtherOwn();
      default:
        return;
    }
  }

  // Sends arbitrary bytes, with a reply of an arbitrary size.
  void Request() {
    const ClientId client = Client();
    const auto command = static_cast<Command>(input_.Byte() % 8);
    const absl::string_view request = input_.Bytes();
    Send(client, command, std::string(request), input_.Number() % 2000);
  }

  // Sends a program whose structure is right, but for what the input changes.
  void Program() {
    const ClientId client = Client();
    ProgramRequest request;
    request.header.size = sizeof(request);
    request.num_programs = input_.Byte() % 4;
    request.flags = input_.Byte() % 4;
    for (CoreProgram& program : request.programs) {
      program.core_type = input_.Byte() % 3 << 5;
      program.fixed_control = input_.Number();
      if (input_.Byte() % 2 == 0) program.fixed_control &= 0x3333;
      for (uint64_t& general : program.general) general = input_.Number();
      program.general[0] |= uint64_t{input_.Byte()} << 16;
    }
    std::string bytes(sizeof(request), '\0');
    std::memcpy(bytes.data(), &request, sizeof(request));
    Send(client, Command::kReserve, "", 0);
    if (Send(client, Command::kProgram, bytes, 0) != Result::kFault) return;
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      if (machine_.is_online(cpu)) machine_.CheckRestored(cpu);
    }
  }

  Result Send(ClientId client, Command command, const std::string& request,
              size_t capacity) {
    // Vectors without spare bytes, so that sanitizers detect overruns.
    const std::vector<char> in(request.begin(), request.end());
    std::vector<char> out(capacity);
    size_t size = 1;
    const Result result = pmu_.Handle(client, command, in.data(), in.size(),
                                      out.data(), out.size(), &size);
    FUZZ_CHECK(size <= capacity);
    FUZZ_CHECK(result == Result::kOk || size == 0);
    return result;
  }

  void Count() {
    const uint32_t cpu = Cpu() % kCpus;
    EventCode event;
    event.event = input_.Byte();
    event.unit_mask = input_.Byte();
    const uint64_t events = input_.Number();
    const uint32_t fixed = input_.Byte() % 4;
    const uint64_t fixed_events = input_.Number();
    const uint8_t energy = input_.Byte();
    machine_.ForRegisters(cpu, [&](MsrBank& bank) {
      bank.CountEvents(event, events, Ring::kUser);
      bank.CountFixed(fixed, fixed_events, Ring::kSystem);
      bank.CountEnergy(energy, 0);
    });
  }

  // With notice or without. A CPU that goes without notice keeps its registers.
  void GoOffline() {
    const uint32_t cpu = Cpu();
    const bool is_announced = input_.Byte() % 2 == 0;
    if (is_announced) pmu_.CpuOffline(cpu);
    if (cpu >= kCpus || !machine_.is_online(cpu)) return;
    machine_.SetOnline(cpu, false);
    if (is_announced && input_.Byte() % 2 == 0) machine_.LoseState(cpu);
  }

  // Also a CPU that is online already.
  void ComeOnline() {
    const uint32_t cpu = Cpu();
    if (cpu < kCpus) machine_.SetOnline(cpu, true);
    pmu_.CpuOnline(cpu);
  }

  void Sleep() {
    machine_.simulated().FailNoAccess();
    pmu_.Suspend();
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      if (!machine_.is_online(cpu)) continue;
      machine_.CheckRestored(cpu);
      if (input_.Byte() % 2 == 0) machine_.LoseState(cpu);
    }
    pmu_.Resume();
  }

  // One access of the next program faults.
  void Fault() {
    machine_.simulated().FailAccess(input_.Byte());
    Program();
    machine_.simulated().FailNoAccess();
  }

  void LetOtherOwn() {
    SimulatedMachine& machine = machine_.simulated();
    if (machine.is_reserved() != is_reserved_by_other_) return;
    is_reserved_by_other_ = !is_reserved_by_other_;
    machine.SetReservedByOther(is_reserved_by_other_);
  }

  Input& input_;
  CheckedMachine machine_;
  std::vector<Block> memory_;
  Pmu pmu_;
  bool is_reserved_by_other_ = false;
};

}  // namespace
}  // namespace fleetperf::pmu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::Input input(data, size);
  fleetperf::pmu::Session(&input).Run();
  return 0;
}
