// The rules of the simulated registers, from Intel's SDM (and KVM, where the
// SDM leaves them open), AMD's APM.

#include "driver/pmu/simulation/msr_bank.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace fleetperf::pmu {
namespace {

constexpr uint64_t kUserReads = 0x100;  // CR4.PCE

uint64_t MustRead(const MsrBank& bank, uint32_t msr) {
  uint64_t value = 0;
  EXPECT_TRUE(bank.Read(msr, &value)) << std::hex << msr;
  return value;
}

bool Exists(const MsrBank& bank, uint32_t msr) {
  uint64_t value = 0;
  return bank.Read(msr, &value);
}

TEST(MsrBank, RegistersExistAsTheVersionSays) {
  const MsrBank none(WithoutPmu());
  EXPECT_FALSE(Exists(none, 0x186));
  EXPECT_FALSE(Exists(none, 0xC1));
  const MsrBank first(CoreDuo());
  EXPECT_TRUE(Exists(first, 0x187));
  EXPECT_FALSE(Exists(first, 0x188));
  EXPECT_FALSE(Exists(first, 0x38F));
  EXPECT_FALSE(Exists(first, 0x38D));
  EXPECT_FALSE(Exists(first, 0x309));
  const MsrBank second(Penryn());
  for (const uint32_t msr : {0x30B, 0x38D, 0x38E, 0x38F, 0x390}) {
    EXPECT_TRUE(Exists(second, msr)) << msr;
  }
  EXPECT_FALSE(Exists(second, 0x391));
  const MsrBank fourth(Skylake());
  EXPECT_TRUE(Exists(fourth, 0x391));
  EXPECT_TRUE(Exists(fourth, 0x392));
  EXPECT_FALSE(Exists(fourth, 0x30C));
  EXPECT_FALSE(Exists(fourth, 0x18A));
  const MsrBank fifth(IceLake());
  EXPECT_TRUE(Exists(fifth, 0x30C));
  EXPECT_TRUE(Exists(fifth, 0x18D));
  EXPECT_FALSE(Exists(fifth, 0xC0000080));
}

TEST(MsrBank, ReservedBitsOfSelectsFault) {
  MsrBank old(Skylake());
  EXPECT_TRUE(old.Write(0x186, 0xFFFFFFFF));  // with ANY
  EXPECT_FALSE(old.Write(0x186, uint64_t{1} << 32));
  EXPECT_EQ(MustRead(old, 0x186), 0xFFFFFFFFu);
  MsrBank deprecated(IceLake());
  EXPECT_FALSE(deprecated.Write(0x186, 1 << 21));
  EXPECT_TRUE(deprecated.Write(0x186, 0xFFDFFFFF));
}

TEST(MsrBank, CounterWritesExtendTheSignOfBit31) {
  MsrBank bank(Nehalem());
  EXPECT_TRUE(bank.Write(0xC1, 0x123480000000));
  EXPECT_EQ(MustRead(bank, 0xC1), 0xFFFF80000000u);
  EXPECT_TRUE(bank.Write(0xC1, 0x12347FFFFFFF));
  EXPECT_EQ(MustRead(bank, 0xC1), 0x7FFFFFFFu);
}

TEST(MsrBank, FullWidthAliasesTakeAllBitsOfTheCounter) {
  MsrBank bank(Skylake());
  EXPECT_TRUE(bank.Write(0x4C2, 0x123480000000));
  EXPECT_EQ(MustRead(bank, 0xC2), 0x123480000000u);
  EXPECT_EQ(MustRead(bank, 0x4C2), 0x123480000000u);
  EXPECT_FALSE(bank.Write(0x4C2, uint64_t{1} << 48));
  EXPECT_EQ(MustRead(bank, 0xC2), 0x123480000000u);
  EXPECT_FALSE(Exists(MsrBank(Nehalem()), 0x4C1));
}

TEST(MsrBank, FixedControlTakesOnlyBitsOfExistingCounters) {
  MsrBank bank(IceLake());
  EXPECT_TRUE(bank.Write(0x38D, 0xBBBB));
  EXPECT_FALSE(bank.Write(0x38D, 0x4));
  EXPECT_FALSE(bank.Write(0x38D, 0x10000));
  MsrBank old(Skylake());
  EXPECT_TRUE(old.Write(0x38D, 0xFFF));
  EXPECT_FALSE(old.Write(0x38D, 0x1000));
}

TEST(MsrBank, GlobalControlStartsWithGeneralCounters) {
  MsrBank bank(Skylake());
  EXPECT_EQ(MustRead(bank, 0x38F), 0xFu);
  EXPECT_TRUE(bank.Write(0x38F, 0x70000000F));
  EXPECT_FALSE(bank.Write(0x38F, 0x10));
  EXPECT_FALSE(bank.Write(0x38F, 0x800000000));
  bank.Reset();
  EXPECT_EQ(MustRead(bank, 0x38F), 0xFu);
}

TEST(MsrBank, OverflowSetsStatusUntilItIsCleared) {
  MsrBank bank(Skylake());
  EXPECT_TRUE(bank.Write(0x187, 0x5300C0));  // with the interrupt
  EXPECT_TRUE(bank.Write(0xC2, 0xFFFFFFFF));
  bank.CountEvents({0xC0, 0}, 1, Ring::kUser);
  EXPECT_EQ(MustRead(bank, 0xC2), 0u);
  EXPECT_EQ(MustRead(bank, 0x38E), 0x2u);
  EXPECT_EQ(bank.state().interrupts, 1u);
  EXPECT_TRUE(bank.Write(0x38D, 0x30));
  EXPECT_TRUE(bank.Write(0x38F, 0x200000000));
  EXPECT_TRUE(bank.Write(0x30A, 0xFFFFFFFFFFFF));
  bank.CountFixed(1, 3, Ring::kSystem);
  EXPECT_EQ(MustRead(bank, 0x30A), 2u);
  EXPECT_EQ(MustRead(bank, 0x38E), 0x200000002u);
  EXPECT_EQ(bank.state().interrupts, 1u);
  EXPECT_FALSE(bank.Write(0x38E, 0));
  EXPECT_FALSE(bank.Write(0x390, 0x10));
  EXPECT_TRUE(bank.Write(0x390, 0x2));
  EXPECT_EQ(MustRead(bank, 0x38E), 0x200000000u);
  EXPECT_EQ(MustRead(bank, 0x390), 0u);
  EXPECT_TRUE(bank.Write(0x391, 0x1));
  EXPECT_EQ(MustRead(bank, 0x38E), 0x200000001u);
}

TEST(MsrBank, CountsOnlyWhatIsEnabled) {
  MsrBank bank(Skylake());
  const auto count = [&](uint64_t select, uint64_t global, Ring ring) {
    EXPECT_TRUE(bank.Write(0x186, select));
    EXPECT_TRUE(bank.Write(0x38F, global));
    EXPECT_TRUE(bank.Write(0xC1, 0));
    bank.CountEvents({0xC0, 1}, 5, ring);
    return MustRead(bank, 0xC1);
  };
  EXPECT_EQ(count(0x4301C0, 1, Ring::kUser), 5u);
  EXPECT_EQ(count(0x4301C0, 2, Ring::kUser), 0u);  // another counter's bit
  EXPECT_EQ(count(0x0301C0, 1, Ring::kUser), 0u);  // not enabled
  EXPECT_EQ(count(0x4101C0, 1, Ring::kUser), 5u);
  EXPECT_EQ(count(0x4101C0, 1, Ring::kSystem), 0u);
  EXPECT_EQ(count(0x4201C0, 1, Ring::kUser), 0u);
  EXPECT_EQ(count(0x4201C0, 1, Ring::kSystem), 5u);
  EXPECT_EQ(count(0x4300C0, 1, Ring::kUser), 0u);  // another unit mask
}

TEST(MsrBank, InUseTellsProgrammedCounters) {
  MsrBank bank(Skylake());
  EXPECT_EQ(MustRead(bank, 0x392), 0u);
  EXPECT_TRUE(bank.Write(0x188, 0xC0));
  EXPECT_TRUE(bank.Write(0x38D, 0x10));
  EXPECT_EQ(MustRead(bank, 0x392), 0x200000004u);
  EXPECT_FALSE(bank.Write(0x392, 0));
}

TEST(MsrBank, ReadCounterChecksIndexAndPermission) {
  MsrBank bank(Skylake());
  EXPECT_TRUE(bank.Write(0x4C4, 77));
  EXPECT_TRUE(bank.Write(0x30B, 88));
  uint64_t value = 0;
  EXPECT_TRUE(bank.ReadCounter(3, Ring::kSystem, 0, &value));
  EXPECT_EQ(value, 77u);
  EXPECT_FALSE(bank.ReadCounter(3, Ring::kUser, 0, &value));
  EXPECT_TRUE(bank.ReadCounter(0x40000002, Ring::kUser, kUserReads, &value));
  EXPECT_EQ(value, 88u);
  EXPECT_TRUE(bank.ReadCounter(0x80000003, Ring::kUser, kUserReads, &value));
  EXPECT_EQ(value, 77u);
  EXPECT_FALSE(bank.ReadCounter(4, Ring::kSystem, 0, &value));
  EXPECT_FALSE(bank.ReadCounter(0x40000003, Ring::kSystem, 0, &value));
  EXPECT_FALSE(bank.ReadCounter(0x3FFFFFFF, Ring::kSystem, 0, &value));
}

TEST(MsrBank, AmdIgnoresReservedBitsAndKeepsWholeCounters) {
  MsrBank bank(Zen2());
  EXPECT_TRUE(bank.Write(0xC0010200, std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(MustRead(bank, 0xC0010200), 0x30FFFD7FFFFu);
  EXPECT_TRUE(bank.Write(0xC001020B, 0x123480000000));
  EXPECT_EQ(MustRead(bank, 0xC001020B), 0x123480000000u);
  EXPECT_FALSE(Exists(bank, 0xC001020C));
  EXPECT_FALSE(Exists(bank, 0x186));
  // The first four are the legacy registers, too.
  EXPECT_TRUE(bank.Write(0xC0010005, 9));
  EXPECT_EQ(MustRead(bank, 0xC0010203), 9u);
  EXPECT_FALSE(Exists(MsrBank(K10()), 0xC0010200));
}

TEST(MsrBank, SensorsAreReadOnly) {
  MsrBank bank(HaswellServer());
  bank.SetTemperature(30);
  bank.CountEnergy(5, 6);
  EXPECT_EQ(MustRead(bank, 0x19C), 0x801E0000u);
  EXPECT_EQ(MustRead(bank, 0x611), 5u);
  EXPECT_EQ(MustRead(bank, 0x619), 6u);
  EXPECT_EQ(MustRead(bank, 0x1A2), 0x640000u);
  for (const uint32_t msr : {0x19C, 0x611, 0x619, 0x606, 0x345, 0xCE}) {
    EXPECT_FALSE(bank.Write(msr, 0)) << msr;
  }
}

}  // namespace
}  // namespace fleetperf::pmu
