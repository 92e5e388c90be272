// What clients count.

#include <gtest/gtest.h>

#include <vector>

#include "tests/driver/pmu/client.h"

namespace fleetperf::pmu {
namespace {

class CountingOn : public testing::TestWithParam<CpuModel (*)()> {};

TEST_P(CountingOn, GeneralCountersCountTheirEventsOnEachCpu) {
  SimulatedMachine machine(GetParam()(), 3);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions, kCycles})), Result::kOk);
  machine.bank(0).CountEvents({0xC0, 0}, 1000, Ring::kUser);
  machine.bank(0).CountEvents({0xC0, 0}, 7, Ring::kSystem);
  machine.bank(2).CountEvents({0x3C, 0}, 50, Ring::kUser);
  machine.AdvanceTsc(123);
  const auto counts = pmu.MustRead(kAlice);
  EXPECT_EQ(counts[0].general[0], 1007u);
  EXPECT_EQ(counts[0].general[1], 0u);
  EXPECT_EQ(counts[1].general[0], 0u);
  EXPECT_EQ(counts[2].general[1], 50u);
  EXPECT_EQ(counts[0].tsc, 123u);
  EXPECT_EQ(counts[0].is_online, 1u);
}

TEST_P(CountingOn, CountersStartFromZeroWhateverTheyHeld) {
  SimulatedMachine machine(GetParam()(), 1);
  MsrBank::State state = machine.bank(0).state();
  state.general[0] = 0x12345678;
  machine.bank(0).set_state(state);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  machine.bank(0).CountEvents({0xC0, 0}, 3, Ring::kUser);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 3u);
}

TEST_P(CountingOn, CountsExceedTheWidthOfTheCounter) {
  SimulatedMachine machine(GetParam()(), 1);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  // Five sixths of the smallest width, seven times.
  constexpr uint64_t kStep = 916'259'689'813;  // 2^40 * 5 / 6
  for (int i = 0; i < 7; ++i) {
    machine.bank(0).CountEvents({0xC0, 0}, kStep, Ring::kUser);
    pmu.MustRead(kAlice);
  }
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 6'413'817'828'691u);
}

TEST_P(CountingOn, SecondProgramStartsAgain) {
  SimulatedMachine machine(GetParam()(), 1);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions, kCycles})), Result::kOk);
  machine.bank(0).CountEvents({0x3C, 0}, 10, Ring::kUser);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[1], 10u);
  ASSERT_EQ(pmu.Program(kAlice, OneProgram(General({kCycles}))), Result::kOk);
  machine.bank(0).CountEvents({0x3C, 0}, 4, Ring::kUser);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 4u);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[1], 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, CountingOn,
                         testing::Values(CoreDuo, Penryn, Nehalem,
                                         HaswellServer, Skylake, IceLake, Zen2,
                                         Zen4, K10));

TEST(Counting, UserAndSystemAreSelectedApart) {
  SimulatedMachine machine(Skylake(), 1);
  PmuOnMachine pmu(machine);
  CoreProgram program = General({kSelectUser | 0xC0, kSelectSystem | 0xC0});
  program.fixed_control = 0x012;  // fixed 0: user, fixed 1: system
  ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
  MsrBank& bank = machine.bank(0);
  bank.CountEvents({0xC0, 0}, 100, Ring::kUser);
  bank.CountEvents({0xC0, 0}, 30, Ring::kSystem);
  for (uint32_t i = 0; i < 3; ++i) {
    bank.CountFixed(i, 100, Ring::kUser);
    bank.CountFixed(i, 30, Ring::kSystem);
  }
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.general[0], 100u);
  EXPECT_EQ(counts.general[1], 30u);
  EXPECT_EQ(counts.fixed[0], 100u);
  EXPECT_EQ(counts.fixed[1], 30u);
  EXPECT_EQ(counts.fixed[2], 0u);
}

TEST(Counting, SecondProgramTurnsFixedCountersOff) {
  SimulatedMachine machine(Skylake(), 1);
  PmuOnMachine pmu(machine);
  CoreProgram program;
  program.fixed_control = 0x333;
  ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
  ASSERT_EQ(pmu.Program(kAlice, OneProgram(General({kCycles}))), Result::kOk);
  EXPECT_EQ(machine.bank(0).state().fixed_control, 0u);
  EXPECT_EQ(machine.bank(0).state().global_control, 1u);
}

TEST(Counting, FixedCountersWrapAtTheirOwnWidth) {
  CpuModel model = IceLake();
  model.pmu.edx = 4 | 40 << 5 | 1 << 15;  // 40 bits, general ones have 48
  SimulatedMachine machine(model, 1);
  PmuOnMachine pmu(machine);
  CoreProgram program;
  program.fixed_control = 0x3333;
  ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
  constexpr uint64_t kAlmost = (uint64_t{1} << 40) - 1;
  for (int i = 0; i < 3; ++i) {
    machine.bank(0).CountFixed(3, kAlmost, Ring::kUser);
    pmu.MustRead(kAlice);
  }
  EXPECT_EQ(pmu.MustRead(kAlice)[0].fixed[3], 3'298'534'883'325u);
}

TEST(Counting, EnergyWrapsAt32Bits) {
  SimulatedMachine machine(HaswellServer(), 1);
  machine.bank(0).CountEnergy(0xFFFFFFF0, 0xFFFFFFFE);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  machine.bank(0).CountEnergy(0x20, 3);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].package_energy, 0x20u);
  machine.bank(0).CountEnergy(0xFFFFFFFF, 0);
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.package_energy, 0x10000001Fu);
  EXPECT_EQ(counts.memory_energy, 3u);
}

TEST(Counting, PerformanceAndTemperatureComeWithTheCounts) {
  SimulatedMachine machine(HaswellServer(), 1);
  machine.bank(0).CountPerformance(1000, 2000);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  machine.bank(0).CountPerformance(36, 35);
  machine.bank(0).SetTemperature(41);
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.actual_performance, 36u);
  EXPECT_EQ(counts.maximum_performance, 35u);
  EXPECT_EQ(counts.temperature_below_limit, 41u);
  EXPECT_EQ(counts.temperature_limit, 100u);
}

TEST(Counting, AmdEventsHaveTwelveBits) {
  SimulatedMachine machine(Zen2(), 1);
  PmuOnMachine pmu(machine);
  constexpr uint64_t kHighEvent = kBoth | 0xC0 | uint64_t{1} << 32;
  ASSERT_EQ(pmu.Start(kAlice, General({kHighEvent, 0, 0, 0, 0, kCycles})),
            Result::kOk);
  machine.bank(0).CountEvents({0xC0, 0}, 5, Ring::kUser);
  machine.bank(0).CountEvents({0x1C0, 0}, 8, Ring::kUser);
  machine.bank(0).CountEvents({0x3C, 0}, 9, Ring::kUser);
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.general[0], 8u);
  EXPECT_EQ(counts.general[5], 9u);
}

TEST(Counting, HybridCoresHaveTheirOwnPrograms) {
  SimulatedMachine machine;
  machine.AddCpu(AlderLakeCore());
  machine.AddCpu(AlderLakeAtom());
  PmuOnMachine pmu(machine);
  ProgramRequest request = OneProgram(General({kInstructions}));
  request.num_programs = 2;
  request.programs[0].core_type = 0x40;
  request.programs[0].general[7] = kCacheMisses;
  request.programs[1] = General({kCycles});
  request.programs[1].core_type = 0x20;
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  ASSERT_EQ(pmu.Program(kAlice, request), Result::kOk);
  for (uint32_t i = 0; i < 2; ++i) {
    machine.bank(i).CountEvents({0xC0, 0}, 10, Ring::kUser);
    machine.bank(i).CountEvents({0x3C, 0}, 20, Ring::kUser);
    machine.bank(i).CountEvents({0x2E, 0x41}, 30, Ring::kUser);
  }
  const auto counts = pmu.MustRead(kAlice);
  EXPECT_EQ(counts[0].general[0], 10u);
  EXPECT_EQ(counts[0].general[7], 30u);
  EXPECT_EQ(counts[1].general[0], 20u);
}

TEST(Counting, CoresWithoutAProgramAreLeftAlone) {
  SimulatedMachine machine;
  machine.AddCpu(AlderLakeCore());
  machine.AddCpu(AlderLakeAtom());
  PmuOnMachine pmu(machine);
  const auto before = Registers(machine);
  CoreProgram program = General({kInstructions});
  program.core_type = 0x20;
  ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
  EXPECT_EQ(Registers(machine)[0], before[0]);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].is_online, 0u);
  program.core_type = 0x40;
  ASSERT_EQ(pmu.Program(kAlice, OneProgram(program)), Result::kOk);
  EXPECT_EQ(Registers(machine)[1], before[1]);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].is_online, 1u);
}

TEST(Counting, CpuWithoutPmuAmongOthersIsNotCounted) {
  SimulatedMachine machine(Skylake(), 1);
  machine.AddCpu(WithoutPmu());
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].is_online, 1u);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].is_online, 0u);
}

// Counts an event of each kind at every access of the core.
void CountBetweenAccesses(void* context, const SimulatedAccess& access) {
  MsrBank& bank = static_cast<SimulatedMachine*>(context)->bank(access.cpu);
  bank.CountEvents({0xC0, 0}, 1, Ring::kSystem);
  bank.CountEvents({0x3C, 0}, 1, Ring::kSystem);
  for (uint32_t i = 0; i < 4; ++i) bank.CountFixed(i, 1, Ring::kSystem);
}

// The write of GLOBAL_CTRL starts all counters; the only later access verifies
// it.
TEST(Counting, AllCountersStartAtOnce) {
  SimulatedMachine machine(IceLake(), 1);
  PmuOnMachine pmu(machine);
  CoreProgram program = General({kInstructions, kCycles, 0, kInstructions});
  program.fixed_control = 0x3333;
  for (int pass = 0; pass < 2; ++pass) {  // the second finds counters running
    machine.SetObserver(CountBetweenAccesses, &machine);
    ASSERT_EQ(pmu.Start(kAlice, program), Result::kOk);
    machine.SetObserver(nullptr, nullptr);
    const CpuCounts counts = pmu.MustRead(kAlice)[0];
    for (const int i : {0, 1, 3}) EXPECT_EQ(counts.general[i], 1u) << i;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(counts.fixed[i], 1u) << i;
  }
}

// A CPU without GLOBAL_CTRL starts one counter after the other, but also each
// from 0.
TEST(Counting, SecondProgramStopsCountersFirst) {
  for (CpuModel (*const model)() : {CoreDuo, Zen2}) {
    SimulatedMachine machine(model(), 1);
    PmuOnMachine pmu(machine);
    machine.SetObserver(CountBetweenAccesses, &machine);
    ASSERT_EQ(pmu.Start(kAlice, General({kInstructions, kCycles})),
              Result::kOk);
    ASSERT_EQ(pmu.Program(kAlice, OneProgram(General({kInstructions}))),
              Result::kOk);
    machine.SetObserver(nullptr, nullptr);
    // The access that verifies the enable bit counts.
    EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 1u);
    EXPECT_EQ(machine.bank(0).state().select[1], 0u);
  }
}

// Other software may set APERF and MPERF.
TEST(Counting, ClocksThatAreSetBackDoNotReduceTheirCounts) {
  SimulatedMachine machine(Skylake(), 1);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  machine.bank(0).CountPerformance(1000, 800);
  pmu.MustRead(kAlice);
  ASSERT_TRUE(machine.bank(0).Write(0xE7, 0));
  ASSERT_TRUE(machine.bank(0).Write(0xE8, 0));
  machine.bank(0).CountPerformance(50, 40);
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.actual_performance, 1050u);
  EXPECT_EQ(counts.maximum_performance, 840u);
}

TEST(Counting, SensorWithoutAValueHasNoTemperature) {
  SimulatedMachine machine(Skylake(), 1);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].has_temperature, 0u);
  machine.bank(0).SetTemperature(30);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].has_temperature, 1u);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].temperature_below_limit, 30u);
}

TEST(Counting, RequestsNoInterruptAndLeavesNoOverflow) {
  SimulatedMachine machine(Skylake(), 1);
  MsrBank::State state = machine.bank(0).state();
  state.global_status = 0x700000003;
  machine.bank(0).set_state(state);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  EXPECT_EQ(machine.bank(0).state().global_status, 0u);
  machine.bank(0).CountEvents({0xC0, 0}, (uint64_t{1} << 48) - 1, Ring::kUser);
  machine.bank(0).CountEvents({0xC0, 0}, 2, Ring::kUser);
  EXPECT_EQ(machine.bank(0).state().global_status, 1u);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk);
  EXPECT_EQ(machine.bank(0).state().global_status, 0u);
  EXPECT_EQ(machine.bank(0).state().interrupts, 0u);
}

}  // namespace
}  // namespace fleetperf::pmu
