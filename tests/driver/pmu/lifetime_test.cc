// Clients, CPUs and other owners of the PMU that come and go.

#include <gtest/gtest.h>

#include <vector>

#include "tests/driver/pmu/client.h"

namespace fleetperf::pmu {
namespace {

void CountInstructions(SimulatedMachine* machine, uint32_t cpu,
                       uint64_t count) {
  machine->bank(cpu).CountEvents({0xC0, 0}, count, Ring::kUser);
}

bool UserCanRead(SimulatedMachine* machine, uint32_t cpu) {
  uint64_t value = 0;
  return machine->bank(cpu).ReadCounter(0, Ring::kUser, machine->cr4(cpu),
                                        &value);
}

class OnTwoCpus : public testing::Test {
 protected:
  SimulatedMachine machine{Skylake(), 2};
  PmuOnMachine pmu{machine};
  std::vector<CpuRegisters> before = Registers(machine);

  void Start(uint32_t flags = 0) {
    ASSERT_EQ(pmu.Start(kAlice, General({kInstructions}), flags), Result::kOk);
  }
};

TEST_F(OnTwoCpus, OnlyOneClientOwnsThePmu) {
  Start();
  EXPECT_EQ(pmu.Send(kBob, Command::kReserve), Result::kOwned);
  EXPECT_EQ(pmu.Program(kBob, OneProgram(General({kCycles}))),
            Result::kNotOwner);
  EXPECT_EQ(pmu.Send(kBob, Command::kRead), Result::kNotOwner);
  EXPECT_EQ(pmu.Send(kBob, Command::kRelease), Result::kNotOwner);
  pmu->Close(kBob);
  CountInstructions(&machine, 0, 5);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 5u);
}

TEST_F(OnTwoCpus, NextClientGetsThePmuAfterTheFirstOne) {
  Start();
  pmu->Close(kAlice);
  ASSERT_EQ(pmu.Start(kBob, General({kInstructions})), Result::kOk);
  CountInstructions(&machine, 1, 5);
  EXPECT_EQ(pmu.MustRead(kBob)[1].general[0], 5u);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRead), Result::kNotOwner);
}

TEST_F(OnTwoCpus, NoClientNeverOwnsThePmu) {
  EXPECT_EQ(pmu.Send(0, Command::kReserve), Result::kNotOwner);
  EXPECT_EQ(pmu.Send(0, Command::kRead), Result::kNotOwner);
  EXPECT_EQ(pmu.Send(0, Command::kRelease), Result::kNotOwner);
}

TEST_F(OnTwoCpus, CountsNeedAProgram) {
  EXPECT_EQ(pmu.Send(kAlice, Command::kRead), Result::kNotOwner);
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRead), Result::kNotProgrammed);
}

TEST_F(OnTwoCpus, PmuOfAnotherDriverIsRefused) {
  machine.SetReservedByOther(true);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kReservedBySystem);
  EXPECT_TRUE(machine.is_reserved());
  EXPECT_EQ(Registers(machine), before);
  machine.SetReservedByOther(false);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
}

TEST_F(OnTwoCpus, EnabledGeneralCounterIsInUse) {
  MsrBank::State state = machine.bank(1).state();
  state.select[3] = 1 << 22;
  machine.bank(1).set_state(state);
  before = Registers(machine);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kInUse);
  EXPECT_FALSE(machine.is_reserved());
  EXPECT_EQ(Registers(machine), before);
}

// As Linux's watchdog does.
TEST_F(OnTwoCpus, EnabledFixedCounterIsInUse) {
  MsrBank::State state = machine.bank(0).state();
  state.fixed_control = 0xB0;
  machine.bank(0).set_state(state);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kInUse);
  EXPECT_FALSE(machine.is_reserved());
}

TEST_F(OnTwoCpus, EnabledFourthFixedCounterIsInUse) {
  SimulatedMachine other(IceLake(), 1);
  EXPECT_TRUE(other.bank(0).Write(0x38D, 0x2000));
  EXPECT_EQ(PmuOnMachine(other).Send(kAlice, Command::kReserve),
            Result::kInUse);
}

// Of a counter that the protocol does not have.
TEST_F(OnTwoCpus, EnabledFifthFixedCounterIsInUse) {
  MsrBank::State state = machine.bank(0).state();
  state.fixed_control = 0x30000;
  machine.bank(0).set_state(state);
  EXPECT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kInUse);
}

TEST_F(OnTwoCpus, EnabledNinthGeneralCounterIsInUse) {
  CpuModel model = IceLake();
  model.pmu.eax = 0x08300A05;
  SimulatedMachine other(model, 1);
  EXPECT_TRUE(other.bank(0).Write(0x186 + 8, 0x5300C0));
  EXPECT_EQ(PmuOnMachine(other).Send(kAlice, Command::kReserve),
            Result::kInUse);
}

TEST_F(OnTwoCpus, MachineWithoutPmuCannotBeReserved) {
  SimulatedMachine none(WithoutPmu(), 2);
  PmuOnMachine without(none);
  EXPECT_EQ(without.Send(kAlice, Command::kReserve), Result::kNoPmu);
  EXPECT_FALSE(none.is_reserved());
}

TEST_F(OnTwoCpus, UserReadsOnlyOnRequestAndWhileTheClientLives) {
  Start();
  EXPECT_FALSE(UserCanRead(&machine, 0));
  ASSERT_EQ(
      pmu.Program(kAlice, OneProgram(General({kCycles}), kAllowUserReads)),
      Result::kOk);
  EXPECT_TRUE(UserCanRead(&machine, 0));
  EXPECT_TRUE(UserCanRead(&machine, 1));
  pmu->Close(kAlice);
  EXPECT_FALSE(UserCanRead(&machine, 0));
  EXPECT_FALSE(UserCanRead(&machine, 1));
}

// The counters of a client that did not ask for user reads are not open to all
// programs, even if CR4.PCE was set before.
TEST_F(OnTwoCpus, UserReadsFoundOpenAreClosedForTheClient) {
  machine.set_cr4(0, 0x100);
  Start();
  EXPECT_FALSE(UserCanRead(&machine, 0));
  pmu->Close(kAlice);
  EXPECT_EQ(machine.cr4(0), 0x100u);
}

TEST_F(OnTwoCpus, CountsSurviveACpuGoingOfflineAndOnline) {
  Start(kAllowUserReads);
  CountInstructions(&machine, 1, 10);
  pmu->CpuOffline(1);
  EXPECT_EQ(Registers(machine)[1], before[1]);
  machine.SetOnline(1, false);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 10u);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].is_online, 0u);
  machine.LoseState(1);
  machine.SetOnline(1, true);
  pmu->CpuOnline(1);
  EXPECT_TRUE(UserCanRead(&machine, 1));
  CountInstructions(&machine, 1, 7);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 17u);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].is_online, 1u);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, CpuThatVanishesUnannouncedKeepsItsLastCounts) {
  Start();
  CountInstructions(&machine, 1, 10);
  pmu.MustRead(kAlice);
  machine.SetOnline(1, false);
  machine.LoseState(1);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 10u);
  machine.SetOnline(1, true);
  pmu->CpuOnline(1);
  CountInstructions(&machine, 1, 7);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 17u);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, ReleaseTellsThatACpuWasNotReached) {
  Start();
  machine.SetOnline(1, false);
  EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kFault);
  EXPECT_EQ(Registers(machine)[0], before[0]);
  EXPECT_NE(Registers(machine)[1], before[1]);
}

// The reservation is gone: another driver may have programmed the CPU.
TEST_F(OnTwoCpus, CpuThatWasOfflineAtReleaseOnlyLosesUserReads) {
  Start(kAllowUserReads);
  machine.SetOnline(1, false);
  pmu->Close(kAlice);
  machine.SetOnline(1, true);
  EXPECT_TRUE(machine.bank(1).Write(0x186, 0x5300C0));
  const MsrBank::State others = machine.bank(1).state();
  pmu->CpuOnline(1);
  EXPECT_EQ(machine.bank(1).state(), others);
  EXPECT_EQ(machine.cr4(1), before[1].cr4);
}

TEST_F(OnTwoCpus, NextOwnerSavesACpuThatWasNotReached) {
  Start();
  machine.SetOnline(1, false);
  pmu->Close(kAlice);
  machine.SetOnline(1, true);
  EXPECT_TRUE(machine.bank(1).Write(0x186, 0x1300C0));
  EXPECT_TRUE(machine.bank(1).Write(0x38F, 0xF));
  before = Registers(machine);
  ASSERT_EQ(pmu.Start(kBob, General({kCycles})), Result::kOk);
  pmu->Close(kBob);
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, CpuThatIsAddedLaterCountsToo) {
  machine.SetOnline(1, false);
  Start();
  machine.SetOnline(1, true);
  pmu->CpuOnline(1);
  CountInstructions(&machine, 1, 4);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 4u);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, CpuThatWasOfflineWhileOthersProgrammedIsSavedAgain) {
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  machine.SetOnline(1, false);
  ASSERT_EQ(pmu.Program(kAlice, OneProgram(General({kCycles}))), Result::kOk);
  machine.bank(1).Write(0x186, 0x4F2E);  // by the firmware
  before = Registers(machine);
  machine.SetOnline(1, true);
  pmu->CpuOnline(1);
  pmu->Stop();
  EXPECT_EQ(Registers(machine)[1], before[1]);
}

TEST_F(OnTwoCpus, CpuThatComesWithRunningCountersIsLeftAlone) {
  machine.SetOnline(1, false);
  Start();
  MsrBank::State state = machine.bank(1).state();
  state.select[0] = 1 << 22;
  machine.bank(1).set_state(state);
  machine.SetOnline(1, true);
  pmu->CpuOnline(1);
  EXPECT_EQ(machine.bank(1).state(), state);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].is_online, 0u);
}

TEST_F(OnTwoCpus, CpuThatComesWithFewerCountersIsLeftAlone) {
  SimulatedMachine mixed(IceLake(), 1);
  CpuModel small = IceLake();
  small.pmu.eax = 0x08300405;
  mixed.AddCpu(small);
  mixed.SetOnline(1, false);
  PmuOnMachine other(mixed);
  CoreProgram program;
  program.general[7] = kCycles;
  ASSERT_EQ(other.Start(kAlice, program), Result::kOk);
  const auto registers = Registers(mixed);
  mixed.SetOnline(1, true);
  other->CpuOnline(1);
  EXPECT_EQ(Registers(mixed), registers);
  EXPECT_EQ(other.MustRead(kAlice)[1].is_online, 0u);
}

TEST_F(OnTwoCpus, CpuThatComesWithoutTheEventIsLeftAlone) {
  SimulatedMachine mixed(IceLake(), 1);
  CpuModel lacking = IceLake();
  lacking.pmu.ebx = 1;
  mixed.AddCpu(lacking);
  mixed.SetOnline(1, false);
  PmuOnMachine other(mixed);
  ASSERT_EQ(other.Start(kAlice, General({kCycles})), Result::kOk);
  const auto registers = Registers(mixed);
  mixed.SetOnline(1, true);
  other->CpuOnline(1);
  EXPECT_EQ(Registers(mixed), registers);
}

TEST_F(OnTwoCpus, CpuThatFaultsWhenItComesIsRestored) {
  machine.SetOnline(1, false);
  Start();
  machine.SetOnline(1, true);
  int faults = 0;
  for (uint64_t n = 0; n < 60; ++n) {
    const uint64_t total = pmu.MustRead(kAlice)[1].general[0];
    machine.FailAccess(n);
    pmu->CpuOnline(1);
    machine.FailNoAccess();
    if (Registers(machine)[1] == before[1]) {
      ++faults;
      EXPECT_EQ(pmu.MustRead(kAlice)[1].is_online, 0u) << n;
    } else {
      CountInstructions(&machine, 1, 5);
      EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], total + 5) << n;
    }
    pmu->CpuOffline(1);
  }
  EXPECT_GT(faults, 20);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, CpusBeyondTheLimitAreIgnored) {
  Start();
  pmu->CpuOnline(2);
  pmu->CpuOffline(0xFFFFFFFF);
  CountInstructions(&machine, 1, 4);
  EXPECT_EQ(pmu.MustRead(kAlice)[1].general[0], 4u);
}

TEST_F(OnTwoCpus, CountsSurviveSleep) {
  Start();
  CountInstructions(&machine, 0, 10);
  machine.bank(0).CountEnergy(100, 0);
  pmu->Suspend();
  EXPECT_EQ(Registers(machine)[1], before[1]);
  machine.LoseState(0);
  machine.LoseState(1);
  machine.bank(0).CountEnergy(3, 0);
  pmu->Resume();
  CountInstructions(&machine, 0, 5);
  machine.bank(0).CountEnergy(20, 0);
  const CpuCounts counts = pmu.MustRead(kAlice)[0];
  EXPECT_EQ(counts.general[0], 15u);
  EXPECT_EQ(counts.package_energy, 120u);
  pmu->Stop();
  EXPECT_EQ(machine.bank(0).state().select[0], 0u);
}

// Registers that the machine sets while it sleeps are the ones to restore.
TEST_F(OnTwoCpus, RegistersAfterSleepAreTheOnesToRestore) {
  Start();
  pmu->Suspend();
  machine.LoseState(0);
  machine.bank(0).Write(0x186, 0x4F2E);
  before = Registers(machine);
  pmu->Resume();
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, SleepWithoutNoticeLosesOnlyTheCountsSinceTheLastRead) {
  Start();
  CountInstructions(&machine, 0, 10);
  pmu.MustRead(kAlice);
  CountInstructions(&machine, 0, 3);
  machine.LoseState(0);
  pmu->Resume();
  CountInstructions(&machine, 0, 5);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 15u);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, NoClientProgramsBetweenTheNoticeAndTheSleep) {
  Start();
  CountInstructions(&machine, 0, 10);
  pmu->Suspend();
  EXPECT_EQ(
      pmu.Program(kAlice, OneProgram(General({kCycles}), kAllowUserReads)),
      Result::kSuspended);
  pmu->CpuOnline(1);
  EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 10u);
  EXPECT_EQ(Registers(machine), before);
  pmu->Close(kAlice);
  EXPECT_EQ(pmu.Send(kBob, Command::kReserve), Result::kSuspended);
  pmu->Resume();
  EXPECT_EQ(Registers(machine), before);
  EXPECT_EQ(pmu.Send(kBob, Command::kReserve), Result::kOk);
}

// Each access of Suspend in turn. A CPU that refuses stays changed, and the
// next chance restores it.
TEST_F(OnTwoCpus, RefusedAccessBeforeASleepIsMadeGoodLater) {
  for (uint64_t n = 0; n < 40; ++n) {
    ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk) << n;
    machine.FailAccess(n);
    pmu->Suspend();
    machine.FailNoAccess();
    pmu->Resume();
    EXPECT_EQ(pmu.Send(kAlice, Command::kRelease), Result::kOk) << n;
    EXPECT_EQ(Registers(machine), before) << n;
  }
}

TEST_F(OnTwoCpus, SleepWithoutAClientChangesNothing) {
  pmu->Suspend();
  pmu->Resume();
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  pmu->Suspend();
  pmu->Resume();
  EXPECT_EQ(Registers(machine), before);
  ASSERT_EQ(pmu.Program(kAlice, OneProgram(General({kCycles}))), Result::kOk);
  pmu->Stop();
  EXPECT_EQ(Registers(machine), before);
}

TEST_F(OnTwoCpus, StopWithoutAClientLeavesAnothersReservation) {
  machine.SetReservedByOther(true);
  pmu->Stop();
  EXPECT_TRUE(machine.is_reserved());
}

TEST(ManyCpus, AllCountBeyondTheFirstGroupOf64) {
  SimulatedMachine machine(Skylake(), 128);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  for (uint32_t i = 0; i < 128; ++i) CountInstructions(&machine, i, i);
  const auto counts = pmu.MustRead(kAlice);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(counts[i].general[0], i);
}

}  // namespace
}  // namespace fleetperf::pmu
