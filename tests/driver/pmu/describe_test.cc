// What the core says of CPUs. The expected values are those that vendors
// document for the named CPUs.

#include <gtest/gtest.h>

#include <vector>

#include "tests/driver/pmu/client.h"

namespace fleetperf::pmu {
namespace {

struct Described {
  explicit Described(const CpuModel& model) : machine(model, 1), pmu(machine) {
    std::vector<CpuDescription> cpus;
    all = pmu.Describe(&cpus);
    cpu = cpus[0];
  }
  SimulatedMachine machine;
  PmuOnMachine pmu;
  Description all;
  CpuDescription cpu;
};

TEST(Describe, MachineWithoutPmuHasNoCounters) {
  const Described described(WithoutPmu());
  EXPECT_EQ(described.cpu.pmu_version, 0u);
  EXPECT_EQ(described.cpu.num_general, 0u);
  EXPECT_EQ(described.cpu.capabilities & kHasUserReads, 0u);
  EXPECT_EQ(described.cpu.is_online, 1u);
}

TEST(Describe, Version1HasNeitherFixedCountersNorGlobalControl) {
  const Described described(CoreDuo());
  EXPECT_EQ(described.all.vendor, Vendor::kIntel);
  EXPECT_EQ(described.all.family, 6u);
  EXPECT_EQ(described.all.model, 14u);
  EXPECT_EQ(described.all.stepping, 8u);
  EXPECT_EQ(described.cpu.pmu_version, 1u);
  EXPECT_EQ(described.cpu.num_general, 2u);
  EXPECT_EQ(described.cpu.general_width, 40u);
  EXPECT_EQ(described.cpu.fixed_counters, 0u);
  EXPECT_EQ(described.cpu.capabilities, kHasUserReads);
  // Seven events are described; there is no eighth one.
  EXPECT_EQ(described.cpu.absent_events, 0x80u);
}

TEST(Describe, Version2HasThreeFixedCounters) {
  const Described described(Penryn());
  EXPECT_EQ(described.cpu.pmu_version, 2u);
  EXPECT_EQ(described.cpu.fixed_counters, 0x7u);
  EXPECT_EQ(described.cpu.fixed_width, 40u);
  EXPECT_EQ(described.cpu.capabilities, kHasGlobalControl | kHasTemperature |
                                            kHasActualPerformance |
                                            kHasUserReads);
}

TEST(Describe, NehalemLacksTwoEventsAndHasABusClockOf133MHz) {
  const Described described(Nehalem());
  EXPECT_EQ(described.all.model, 0x1Au);
  EXPECT_EQ(described.cpu.num_general, 4u);
  EXPECT_EQ(described.cpu.general_width, 48u);
  EXPECT_EQ(described.cpu.absent_events, 0xC4u);
  EXPECT_EQ(described.all.tsc_hz, 2'933'333'333u);
}

TEST(Describe, HaswellServerHasFixedMemoryEnergyUnitAnd3500MHz) {
  const Described described(HaswellServer());
  EXPECT_EQ(described.all.model, 0x3Fu);
  EXPECT_EQ(described.all.stepping, 2u);
  EXPECT_EQ(described.all.tsc_hz, 3'500'000'000u);
  EXPECT_EQ(described.all.energy_unit, 14u);
  EXPECT_EQ(described.all.memory_energy_unit, 16u);
  EXPECT_EQ(described.cpu.capabilities,
            kHasFullWidthWrites | kHasGlobalControl | kHasTemperature |
                kHasPackageEnergy | kHasMemoryEnergy | kHasActualPerformance |
                kHasUserReads);
}

TEST(Describe, SkylakeDerivesItsTscFromACrystalOf24MHz) {
  const Described described(Skylake());
  EXPECT_EQ(described.cpu.pmu_version, 4u);
  EXPECT_EQ(described.all.tsc_hz, 4'008'000'000u);
  EXPECT_EQ(described.all.memory_energy_unit, 14u);
}

TEST(Describe, Version5HasEightGeneralAndFourFixedCounters) {
  const Described described(IceLake());
  EXPECT_EQ(described.cpu.pmu_version, 5u);
  EXPECT_EQ(described.cpu.num_general, 8u);
  EXPECT_EQ(described.cpu.fixed_counters, 0xFu);
  EXPECT_EQ(described.cpu.absent_events, 0u);
  EXPECT_EQ(described.all.tsc_hz, 1'497'600'000u);
}

TEST(Describe, Version5FixedCountersMayHaveGaps) {
  CpuModel model = IceLake();
  model.pmu.ecx = 0xA;
  model.pmu.edx = 0x8601;
  EXPECT_EQ(Described(model).cpu.fixed_counters, 0xBu);
}

TEST(Describe, FixedBitmapIsNotReadBeforeVersion5) {
  CpuModel model = Skylake();
  model.pmu.ecx = 0xF;
  EXPECT_EQ(Described(model).cpu.fixed_counters, 0x7u);
}

TEST(Describe, MoreCountersThanTheProtocolHasAreCut) {
  CpuModel model = IceLake();
  model.pmu = {0x08300A05, 0, 0xFF, 0x8608};
  const Described described(model);
  EXPECT_EQ(described.cpu.num_general, 8u);
  EXPECT_EQ(described.cpu.fixed_counters, 0xFu);
}

TEST(Describe, ImpossibleWidthMeansNoPmu) {
  CpuModel model = IceLake();
  model.pmu.eax = 0x08FF0805;
  EXPECT_EQ(Described(model).cpu.pmu_version, 0u);
}

TEST(Describe, HybridMachineTellsTheTypeOfEachCore) {
  SimulatedMachine machine;
  machine.AddCpu(AlderLakeCore());
  machine.AddCpu(AlderLakeAtom());
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  EXPECT_EQ(pmu.Describe(&cpus).num_cpus, 2u);
  EXPECT_EQ(cpus[0].core_type, 0x40u);
  EXPECT_EQ(cpus[0].num_general, 8u);
  EXPECT_EQ(cpus[1].core_type, 0x20u);
  EXPECT_EQ(cpus[1].num_general, 6u);
  EXPECT_EQ(cpus[1].fixed_counters, 0x7u);
}

TEST(Describe, ZenHasSixCountersOf48Bits) {
  const Described described(Zen2());
  EXPECT_EQ(described.all.vendor, Vendor::kAmd);
  EXPECT_EQ(described.all.family, 0x17u);
  EXPECT_EQ(described.all.model, 0x31u);
  EXPECT_EQ(described.cpu.num_general, 6u);
  EXPECT_EQ(described.cpu.general_width, 48u);
  EXPECT_EQ(described.cpu.fixed_counters, 0u);
  EXPECT_EQ(described.all.energy_unit, 16u);
  EXPECT_EQ(described.cpu.capabilities,
            kHasFullWidthWrites | kHasPackageEnergy | kHasActualPerformance |
                kHasUserReads);
}

TEST(Describe, Zen4HasAGlobalControl) {
  const Described described(Zen4());
  EXPECT_EQ(described.cpu.pmu_version, 2u);
  EXPECT_NE(described.cpu.capabilities & kHasGlobalControl, 0u);
}

// A Xeon W of this model has a crystal of 24 MHz, which CPUID does not tell.
TEST(Describe, SkylakeServersHaveTheirBaseFrequency) {
  CpuModel model = Skylake();
  model.signature = 0x50654;
  model.tsc = {2, 292, 0, 0};
  model.base_megahertz = 3500;
  EXPECT_EQ(Described(model).all.tsc_hz, 3'500'000'000u);
}

TEST(Describe, OlderAmdHasFourCounters) {
  const Described described(K10());
  EXPECT_EQ(described.all.family, 0x10u);
  EXPECT_EQ(described.all.model, 4u);
  EXPECT_EQ(described.cpu.num_general, 4u);
}

TEST(Describe, HypervisorThatHidesEnergyTakesOnlyThatCapability) {
  SimulatedMachine machine(HaswellServer(), 1);
  machine.HideMsr(0x606);
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  pmu.Describe(&cpus);
  EXPECT_EQ(cpus[0].capabilities & (kHasPackageEnergy | kHasMemoryEnergy), 0u);
  EXPECT_EQ(cpus[0].pmu_version, 3u);
}

// As KVM does.
TEST(Describe, HypervisorWhoseEnergyUnitIsZeroCountsNoEnergy) {
  CpuModel model = HaswellServer();
  model.energy_unit = 0;
  EXPECT_EQ(Described(model).cpu.capabilities & kHasPackageEnergy, 0u);
}

TEST(Describe, SilvermontCountsEnergyInAnUnsupportedUnit) {
  CpuModel model = HaswellServer();
  model.signature = 0x30678;
  EXPECT_EQ(Described(model).cpu.capabilities & kHasPackageEnergy, 0u);
}

TEST(Describe, Version1HasNoFixedCountersWhateverCpuidHolds) {
  CpuModel model = CoreDuo();
  model.pmu.edx = 0x503;
  EXPECT_EQ(Described(model).cpu.fixed_counters, 0u);
}

TEST(Describe, CoreTypeIsThatOfHybridMachinesOnly) {
  CpuModel model = AlderLakeCore();
  model.is_hybrid = false;
  EXPECT_EQ(Described(model).cpu.core_type, 0u);
}

TEST(Describe, PackageIsAboveDies) {
  CpuModel model = AlderLakeCore();
  model.cores_per_die = 4;  // of 2 threads
  model.dies_per_package = 2;
  SimulatedMachine machine(model, 17);
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  pmu.Describe(&cpus);
  EXPECT_EQ(cpus[8].package, 0u);
  EXPECT_EQ(cpus[15].package, 0u);
  EXPECT_EQ(cpus[16].package, 1u);
}

TEST(Describe, PackageIsAboveThreadsAndCores) {
  CpuModel model = Skylake();  // 2 threads x 4 cores
  SimulatedMachine machine(model, 17);
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  pmu.Describe(&cpus);
  EXPECT_EQ(cpus[7].package, 0u);
  EXPECT_EQ(cpus[8].package, 1u);
  EXPECT_EQ(cpus[16].package, 2u);
}

TEST(Describe, PackageWithoutTopologyLeafFollowsFromTheApicId) {
  SimulatedMachine machine(Penryn(), 8);  // 4 cores, no leaf 0x0B
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  pmu.Describe(&cpus);
  EXPECT_EQ(cpus[3].package, 0u);
  EXPECT_EQ(cpus[4].package, 1u);
}

TEST(Describe, OfflineCpuIsListedAsOffline) {
  SimulatedMachine machine(Skylake(), 2);
  machine.SetOnline(0, false);
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  const Description all = pmu.Describe(&cpus);
  EXPECT_EQ(cpus[0].is_online, 0u);
  EXPECT_EQ(cpus[1].is_online, 1u);
  EXPECT_EQ(all.model, 0x5Eu);
}

TEST(Describe, ChangesNoRegister) {
  SimulatedMachine machine(Skylake(), 2);
  const auto before = Registers(machine);
  PmuOnMachine pmu(machine);
  std::vector<CpuDescription> cpus;
  pmu.Describe(&cpus);
  EXPECT_EQ(Registers(machine), before);
}

}  // namespace
}  // namespace fleetperf::pmu
