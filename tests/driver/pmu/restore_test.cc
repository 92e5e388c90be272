// All registers are as before after everything that ends a client's use.

#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>
#include <vector>

#include "tests/driver/pmu/client.h"

namespace fleetperf::pmu {
namespace {

struct Model {
  CpuModel (*model)();
  uint32_t num_general;
  uint32_t num_fixed;
  // Values that the counters can be set to: any, or those whose upper bits are
  // copies of bit 31.
  uint64_t values[2];
};

constexpr Model kModels[] = {
    {CoreDuo, 2, 0, {0xFF'8765'4321, 0x1234'5678}},
    {Penryn, 2, 3, {0xFF'8765'4321, 0x1234'5678}},
    {Nehalem, 4, 3, {0xFFFF'8765'4321, 0x1234'5678}},
    {HaswellServer, 4, 3, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
    {Skylake, 4, 3, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
    {IceLake, 8, 4, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
    {Zen2, 6, 0, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
    {Zen4, 6, 0, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
    {K10, 4, 0, {0x1234'5678'9ABC, 0xFEDC'0000'0000}},
};

// Registers as another program may have left them: nothing is enabled.
void LeaveTraces(const Model& model, SimulatedMachine* machine) {
  for (uint32_t cpu = 0; cpu < machine->CpuLimit(); ++cpu) {
    MsrBank::State state = machine->bank(cpu).state();
    for (uint32_t i = 0; i < model.num_general; ++i) {
      state.select[i] = 0x7043'0000 + i - (1 << 22) + cpu;
      state.general[i] = model.values[i % 2] + cpu;
    }
    for (uint32_t i = 0; i < model.num_fixed; ++i) {
      state.fixed[i] = 0xA9'8765'4321 + i;
      state.fixed_control |= uint64_t{8} << (4 * i);  // the interrupt bit
    }
    if (model.num_fixed > 0) state.global_control = 0x1'0000'0001 << (cpu % 2);
    machine->bank(cpu).set_state(state);
    machine->set_cr4(cpu, 0x3506F8 + (cpu % 2 == 0 ? 0x100 : 0));
  }
}

CoreProgram AllCounters(const Model& model) {
  CoreProgram program;
  for (uint32_t i = 0; i < model.num_general; ++i) {
    program.general[i] = i % 2 == 0 ? kInstructions : kCycles;
  }
  for (uint32_t i = 0; i < model.num_fixed; ++i) {
    program.fixed_control |= uint64_t{3} << (4 * i);
  }
  return program;
}

struct Fixture {
  explicit Fixture(const Model& model)
      : machine(model.model(), 3), pmu(machine), program(AllCounters(model)) {
    LeaveTraces(model, &machine);
    before = Registers(machine);
    std::vector<CpuDescription> cpus;
    pmu.Describe(&cpus);
  }
  void Count() {
    for (uint32_t cpu = 0; cpu < 3; ++cpu) {
      machine.bank(cpu).CountEvents({0xC0, 0}, 1000, Ring::kUser);
      machine.bank(cpu).CountEvents({0x3C, 0}, 3000, Ring::kSystem);
      for (uint32_t i = 0; i < 4; ++i) {
        machine.bank(cpu).CountFixed(i, uint64_t{1} << 48, Ring::kUser);
      }
    }
  }
  SimulatedMachine machine;
  PmuOnMachine pmu;
  CoreProgram program;
  std::vector<CpuRegisters> before;
};

class RestoredOn : public testing::TestWithParam<Model> {
 protected:
  Fixture fixture{GetParam()};
  SimulatedMachine& machine{fixture.machine};
  PmuOnMachine& pmu{fixture.pmu};

  void Start(uint32_t flags = 0) {
    ASSERT_EQ(pmu.Start(kAlice, fixture.program, flags), Result::kOk);
    EXPECT_NE(Registers(machine), fixture.before);
    fixture.Count();
    EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 1000u);
  }
  void ExpectRestored() {
    EXPECT_EQ(Registers(machine), fixture.before);
    EXPECT_FALSE(machine.is_reserved());
  }
};

TEST_P(RestoredOn, Release) {
  Start();
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk);
  ExpectRestored();
}

TEST_P(RestoredOn, DeathOfTheClient) {
  Start(kAllowUserReads);
  pmu->Close(kAlice);
  ExpectRestored();
}

TEST_P(RestoredOn, Unload) {
  Start();
  pmu->Stop();
  ExpectRestored();
}

TEST_P(RestoredOn, SecondProgram) {
  Start();
  Start(kAllowUserReads);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk);
  ExpectRestored();
}

TEST_P(RestoredOn, ReservationAloneWritesNothing) {
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  EXPECT_EQ(Registers(machine), fixture.before);
  machine.SetObserver(
      [](void*, const SimulatedAccess& access) {
        EXPECT_EQ(access.kind, SimulatedAccess::Kind::kReadMsr);
      },
      nullptr);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk);
  ExpectRestored();
}

// The n-th access faults, for all n.
TEST_P(RestoredOn, FaultAtAnyAccessOfReserveAndProgram) {
  bool reached_end = false;
  int faults = 0;
  for (uint64_t n = 0; !reached_end; ++n) {
    Fixture f(GetParam());
    const uint64_t first = f.machine.num_accesses();
    f.machine.FailAccess(n);
    const Result reserved = f.pmu.Send(kAlice, Command::kReserve);
    if (reserved != Result::kOk) {
      ++faults;
      EXPECT_EQ(reserved, Result::kFault) << n;
      EXPECT_EQ(Registers(f.machine), f.before) << n;
      EXPECT_FALSE(f.machine.is_reserved()) << n;
      continue;
    }
    const Result result =
        f.pmu.Program(kAlice, OneProgram(f.program, kAllowUserReads));
    reached_end = f.machine.num_accesses() - first <= n;
    f.machine.FailNoAccess();
    if (result != Result::kOk) {
      ++faults;
      EXPECT_EQ(result, Result::kFault) << n;
      EXPECT_EQ(Registers(f.machine), f.before) << n;
      std::vector<CpuCounts> counts;
      EXPECT_EQ(f.pmu.Read(kAlice, &counts), Result::kNotProgrammed) << n;
      // The client may try again.
      EXPECT_EQ(f.pmu.Program(kAlice, OneProgram(f.program)), Result::kOk);
    }
    EXPECT_EQ(f.pmu.Send(kAlice, Command::kRelease), Result::kOk) << n;
    EXPECT_EQ(Registers(f.machine), f.before) << n;
  }
  EXPECT_GT(faults, 20);
}

TEST_P(RestoredOn, FaultAtAnyAccessOfRead) {
  Start();
  const uint64_t first = machine.num_accesses();
  pmu.MustRead(kAlice);
  const uint64_t accesses = machine.num_accesses() - first;
  for (uint64_t n = 0; n < accesses; ++n) {
    fixture.Count();
    machine.FailAccess(n);
    std::vector<CpuCounts> counts;
    EXPECT_EQ(pmu.Read(kAlice, &counts), Result::kFault);
  }
  EXPECT_EQ(pmu.MustRead(kAlice)[2].general[0], 1000 * (accesses + 1));
  pmu->Stop();
  ExpectRestored();
}

size_t NumDifferences(const std::vector<CpuRegisters>& a,
                      const std::vector<CpuRegisters>& b) {
  static_assert(std::has_unique_object_representations_v<CpuRegisters>);
  constexpr size_t kWords = sizeof(CpuRegisters) / 8;
  size_t differences = 0;
  for (size_t cpu = 0; cpu < a.size(); ++cpu) {
    uint64_t one[kWords];
    uint64_t other[kWords];
    std::memcpy(one, &a[cpu], sizeof(one));
    std::memcpy(other, &b[cpu], sizeof(other));
    for (size_t i = 0; i < kWords; ++i) differences += one[i] != other[i];
  }
  return differences;
}

TEST_P(RestoredOn, FaultAtAnyAccessOfReleaseLosesNoOtherRegister) {
  bool reached_end = false;
  for (uint64_t n = 0; !reached_end; ++n) {
    Fixture f(GetParam());
    ASSERT_EQ(f.pmu.Start(kAlice, f.program, kAllowUserReads), Result::kOk);
    const uint64_t first = f.machine.num_accesses();
    f.machine.FailAccess(n);
    const Result result = f.pmu.Send(kAlice, Command::kRelease);
    reached_end = f.machine.num_accesses() - first <= n;
    const size_t differences = NumDifferences(Registers(f.machine), f.before);
    EXPECT_LE(differences, result == Result::kOk ? 0u : 1u) << n;
    EXPECT_FALSE(f.machine.is_reserved());
    EXPECT_EQ(f.pmu.Send(kAlice, Command::kRelease), Result::kNotOwner);
  }
}

// After a release, the registers may belong to another driver.
TEST_P(RestoredOn, RegistersThatCouldNotBeRestoredAreGivenUp) {
  Start();
  machine.FailAccess(0);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kFault);
  LeaveTraces(GetParam(), &machine);
  machine.bank(0).Write(
      machine.bank(0).model().vendor == Vendor::kAmd ? 0xC0010000 : 0x186,
      0x1234);
  fixture.before = Registers(machine);
  Start();
  pmu->Stop();
  ExpectRestored();
}

TEST_P(RestoredOn, HypervisorIgnoresCr4) {
  machine.IgnoreCr4Writes(true);
  EXPECT_EQ(pmu.Start(kAlice, fixture.program), Result::kFault);
  machine.IgnoreCr4Writes(false);
  EXPECT_EQ(Registers(machine), fixture.before);
}

TEST_P(RestoredOn, HypervisorIgnoresWrites) {
  machine.IgnoreWrites(true);
  EXPECT_EQ(pmu.Start(kAlice, fixture.program), Result::kFault);
  machine.IgnoreWrites(false);
  EXPECT_EQ(Registers(machine), fixture.before);
}

INSTANTIATE_TEST_SUITE_P(Models, RestoredOn, testing::ValuesIn(kModels));

TEST(Restore, FaultWhileCoresLeaveTheProgram) {
  for (uint64_t n = 0; n < 200; ++n) {
    SimulatedMachine machine;
    machine.AddCpu(AlderLakeAtom());
    machine.AddCpu(AlderLakeCore());
    PmuOnMachine pmu(machine);
    const auto before = Registers(machine);
    CoreProgram program = General({kInstructions});
    program.core_type = 0x20;
    ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
    program.core_type = 0x40;
    machine.FailAccess(n);
    const Result result = pmu.Program(kAlice, OneProgram(program));
    machine.FailNoAccess();
    if (result == Result::kOk) pmu->Stop();
    EXPECT_EQ(Registers(machine), before) << n;
  }
}

// Without full-width writes, the registers' own rule limits what can be
// restored: bits above 31 become copies of bit 31.
TEST(Restore, OldCounterBeyondASignedNumberLosesItsUpperBits) {
  SimulatedMachine machine(Nehalem(), 1);
  MsrBank::State state = machine.bank(0).state();
  state.general[0] = 0x1234'9ABC'DEF0;
  state.general[1] = 0x1234'9ABC'DEF0;
  machine.bank(0).set_state(state);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk);
  EXPECT_EQ(machine.bank(0).state().general[0], 0xFFFF'9ABC'DEF0u);
  // This one was not used.
  EXPECT_EQ(machine.bank(0).state().general[1], 0x1234'9ABC'DEF0u);
}

}  // namespace
}  // namespace fleetperf::pmu
