// The PMU core at CPL 0 of a virtual machine. Its MSRs and RDPMC are simulated;
// CPUID, CR4, privilege levels and faults are those of a virtual processor.

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "driver/pmu/protocol.h"
#include "driver/pmu/simulation/cpu_model.h"
#include "driver/pmu/simulation/msr_bank.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/driver/ring0/bench.h"

namespace fleetperf::ring0 {
namespace {

using pmu::Command;
using pmu::Result;
using ::testing::Each;
using ::testing::SizeIs;

constexpr pmu::ClientId kClient = 7;
constexpr pmu::ClientId kOther = 8;
constexpr uint64_t kBoth = pmu::kSelectUser | pmu::kSelectSystem;
constexpr uint64_t kInstructions = kBoth | 0xC0;
constexpr uint64_t kCacheMisses = kBoth | 0x412E;
constexpr uint64_t kPce = 1 << 8;
constexpr uint32_t kFixedBit = 1u << 30;  // of RDPMC's ECX

// What each generation's PMU is, from the manuals.
struct Generation {
  friend void PrintTo(const Generation& generation, std::ostream* os) {
    *os << generation.name;
  }

  const char* name;
  pmu::CpuModel first;
  pmu::CpuModel second;  // on CPU 1
  uint32_t version;
  uint32_t num_general;
  uint32_t general_width;
  uint32_t fixed_counters;
};

std::vector<Generation> Generations() {
  return {
      {"CoreDuo", pmu::CoreDuo(), pmu::CoreDuo(), 1, 2, 40, 0},
      {"Penryn", pmu::Penryn(), pmu::Penryn(), 2, 2, 40, 0x7},
      {"Nehalem", pmu::Nehalem(), pmu::Nehalem(), 3, 4, 48, 0x7},
      {"Haswell", pmu::HaswellServer(), pmu::HaswellServer(), 3, 4, 48, 0x7},
      {"Skylake", pmu::Skylake(), pmu::Skylake(), 4, 4, 48, 0x7},
      {"IceLake", pmu::IceLake(), pmu::IceLake(), 5, 8, 48, 0xF},
      {"AlderLake", pmu::AlderLakeCore(), pmu::AlderLakeAtom(), 5, 8, 48, 0xF},
      {"Zen2", pmu::Zen2(), pmu::Zen2(), 1, 6, 48, 0},
      {"Zen4", pmu::Zen4(), pmu::Zen4(), 2, 6, 48, 0},
  };
}

// Counts in general counter 0 and, where they exist, in the fixed counters, of
// all types of core.
pmu::ProgramRequest Request(const Generation& generation, uint64_t selection,
                            uint32_t flags = 0) {
  pmu::ProgramRequest request;
  request.header.size = sizeof(request);
  request.flags = flags;
  const uint32_t types[] = {generation.first.core_type,
                            generation.second.core_type};
  request.num_programs = types[0] == types[1] ? 1 : 2;
  for (uint32_t i = 0; i < request.num_programs; ++i) {
    request.programs[i].core_type = types[i];
    request.programs[i].general[0] = selection;
    request.programs[i].fixed_control =
        generation.fixed_counters != 0 ? 0x333 : 0;
  }
  return request;
}

// Registers that another program left behind: nothing runs.
void LeaveTraces(Bench& bench) {
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    pmu::MsrBank& bank = bench.banks().of(cpu);
    pmu::MsrBank::State state = bank.state();
    state.select[0] = kCacheMisses;
    state.general[0] = 0x1234 + cpu;
    state.general[1] = 0x777;
    if ((bank.model().pmu.edx & 0x1F) != 0) state.fixed[1] = 0x12'3456'789A;
    bank.set_state(state);
  }
}

class Ring0Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = CheckKvm();
    if (!status.ok()) {
      GTEST_SKIP() << "did not run: " << status.message();
    }
  }
};

class EveryGeneration : public ::testing::TestWithParam<Generation> {
 protected:
  EveryGeneration() : generation_(GetParam()) {}
  void SetUp() override {
    const absl::Status status = CheckKvm();
    if (!status.ok()) {
      GTEST_SKIP() << "did not run: " << status.message();
    }
    bench_.emplace(generation_.first, generation_.second);
    LeaveTraces(*bench_);
  }

  Result Start(uint32_t flags = 0) {
    const Result result = bench_->Send(kClient, Command::kReserve);
    if (result != Result::kOk) return result;
    return bench_->Program(kClient, Request(generation_, kInstructions, flags));
  }

  const Generation generation_;
  std::optional<Bench> bench_;
};

// So that the other tests test what they say.
TEST_P(EveryGeneration, HasTheForgedCpuid) {
  const pmu::CpuModel& model = generation_.first;
  const uint32_t version = generation_.version;
  const bool is_intel = model.vendor == pmu::Vendor::kIntel;
  EXPECT_EQ(bench_->Cpuid(0)[0], model.last_leaf);
  EXPECT_EQ(bench_->Cpuid(0)[1], is_intel ? 0x756E6547 : 0x68747541);
  EXPECT_EQ(bench_->Cpuid(1)[0], model.signature);
  EXPECT_EQ(bench_->Cpuid(0xA)[0] & 0xFF, is_intel ? version : 0);
}

TEST_P(EveryGeneration, IsDescribed) {
  std::vector<pmu::CpuDescription> cpus;
  const auto before = bench_->AllRegisters();
  const pmu::Description description = bench_->Describe(&cpus);
  EXPECT_EQ(description.vendor, generation_.first.vendor);
  EXPECT_EQ(description.num_cpus, kNumCpus);
  EXPECT_EQ(cpus[0].is_online, 1u);
  EXPECT_EQ(cpus[0].pmu_version, generation_.version);
  EXPECT_EQ(cpus[0].num_general, generation_.num_general);
  EXPECT_EQ(cpus[0].general_width, generation_.general_width);
  EXPECT_EQ(cpus[0].fixed_counters, generation_.fixed_counters);
  EXPECT_EQ(cpus[0].core_type, generation_.first.core_type);
  EXPECT_EQ(cpus[1].core_type, generation_.second.core_type);
  EXPECT_EQ(bench_->AllRegisters(), before);
  EXPECT_THAT(bench_->banks().accesses().written, SizeIs(0));
}

TEST_P(EveryGeneration, CountsWhatTheScriptCounts) {
  ASSERT_EQ(Start(), Result::kOk);
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    pmu::MsrBank& bank = bench_->banks().of(cpu);
    bank.CountEvents({.event = 0xC0}, 5'000'000'000 + cpu, pmu::Ring::kUser);
    bank.CountEvents({.event = 0xC0}, 70, pmu::Ring::kSystem);
    bank.CountFixed(2, 600 + cpu, pmu::Ring::kUser);
  }
  const std::vector<pmu::CpuCounts> counts = bench_->Read(kClient);
  ASSERT_THAT(counts, SizeIs(kNumCpus));
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    EXPECT_EQ(counts[cpu].is_online, 1u);
    EXPECT_EQ(counts[cpu].general[0], 5'000'000'070 + cpu);
    EXPECT_EQ(counts[cpu].fixed[2],
              generation_.fixed_counters != 0 ? 600 + cpu : 0);
    EXPECT_NE(counts[cpu].tsc, 0u);
  }
  // Further counts add to these.
  bench_->banks().of(1).CountEvents({.event = 0xC0}, 3, pmu::Ring::kUser);
  EXPECT_EQ(bench_->Read(kClient)[1].general[0], 5'000'000'074u);
}

TEST_P(EveryGeneration, IsAsBeforeAfterRelease) {
  const auto before = bench_->AllRegisters();
  ASSERT_EQ(Start(pmu::kAllowUserReads), Result::kOk);
  EXPECT_EQ(bench_->mailbox().is_pmu_reserved, 1u);
  for (const Registers& cpu : bench_->AllRegisters()) {
    EXPECT_EQ(cpu.cr4 & kPce, kPce);
  }
  bench_->banks().of(1).CountEvents({.event = 0xC0}, 99, pmu::Ring::kUser);
  EXPECT_EQ(bench_->Send(kClient, Command::kRelease), Result::kOk);
  EXPECT_EQ(bench_->AllRegisters(), before);
  EXPECT_EQ(bench_->mailbox().is_pmu_reserved, 0u);
}

TEST_P(EveryGeneration, IsAsBeforeAfterTheClientsEnd) {
  const auto before = bench_->AllRegisters();
  ASSERT_EQ(Start(pmu::kAllowUserReads), Result::kOk);
  bench_->Close(kOther);
  EXPECT_NE(bench_->AllRegisters(), before);
  bench_->Close(kClient);
  EXPECT_EQ(bench_->AllRegisters(), before);
}

TEST_P(EveryGeneration, IsAsBeforeAfterStop) {
  const auto before = bench_->AllRegisters();
  ASSERT_EQ(Start(pmu::kAllowUserReads), Result::kOk);
  bench_->Do(Task::kStop);
  EXPECT_EQ(bench_->AllRegisters(), before);
}

// User mode may read counters while the client that asked for it holds the PMU.
TEST_P(EveryGeneration, AllowsUserReadsForAClientsLifetime) {
  EXPECT_EQ(bench_->UserReadPmc(0), std::nullopt);
  EXPECT_EQ(bench_->KernelReadPmc(0), 0x1234u);
  ASSERT_EQ(Start(), Result::kOk);
  EXPECT_EQ(bench_->UserReadPmc(0), std::nullopt);
  ASSERT_EQ(bench_->Program(kClient, Request(generation_, kInstructions,
                                             pmu::kAllowUserReads)),
            Result::kOk);
  pmu::MsrBank& bank = bench_->banks().of(0);
  const std::optional<uint64_t> first = bench_->UserReadPmc(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(*first, bank.state().general[0]);
  bank.CountEvents({.event = 0xC0}, 120, pmu::Ring::kUser);
  EXPECT_EQ(bench_->UserReadPmc(0), *first + 120);
  if (generation_.fixed_counters != 0) {
    bank.CountFixed(1, 55, pmu::Ring::kUser);
    EXPECT_EQ(bench_->UserReadPmc(kFixedBit | 1), bank.state().fixed[1]);
  }
  // A counter that the CPU lacks.
  EXPECT_EQ(bench_->UserReadPmc(9), std::nullopt);
  bench_->Close(kClient);
  EXPECT_EQ(bench_->UserReadPmc(0), std::nullopt);
  EXPECT_EQ(bench_->KernelReadPmc(0), 0x1234u);
}

// Each access in turn raises #GP in the guest, which survives; the core then
// gives up, and puts back what it had changed.
TEST_P(EveryGeneration, SurvivesAFaultOfEachAccess) {
  const auto before = bench_->AllRegisters();
  int failures = 0;
  for (bool is_hit = true; is_hit; ++failures) {
    bench_->banks().FailAccess(failures);
    if (Start(pmu::kAllowUserReads) == Result::kOk) bench_->Read(kClient);
    is_hit = !bench_->banks().will_fail();
    bench_->banks().FailNoAccess();
    bench_->Close(kClient);
    ASSERT_EQ(bench_->AllRegisters(), before) << "access " << failures;
    ASSERT_EQ(bench_->mailbox().is_pmu_reserved, 0u) << "access " << failures;
  }
  // At least: save a selection and a counter, write both, read the counter; on
  // each CPU.
  EXPECT_GT(failures, 10);
}

using RegistersOfAllCpus = std::array<Registers, kNumCpus>;

// The number of registers that differ.
size_t NumDifferences(const RegistersOfAllCpus& a,
                      const RegistersOfAllCpus& b) {
  static_assert(std::has_unique_object_representations_v<RegistersOfAllCpus>);
  std::array<uint64_t, sizeof(a) / sizeof(uint64_t)> one, other;
  std::memcpy(one.data(), &a, sizeof(a));
  std::memcpy(other.data(), &b, sizeof(b));
  size_t differences = 0;
  for (size_t i = 0; i < one.size(); ++i) differences += one[i] != other[i];
  return differences;
}

// The core continues if the CPU refuses a register on the way back: then only
// that register may differ.
TEST_P(EveryGeneration, RestoresAllOthersIfARegisterIsRefused) {
  const auto before = bench_->AllRegisters();
  for (int skipped = 0;; ++skipped) {
    ASSERT_EQ(Start(pmu::kAllowUserReads), Result::kOk);
    bench_->banks().FailAccess(skipped);
    bench_->Send(kClient, Command::kRelease);
    const bool is_hit = !bench_->banks().will_fail();
    bench_->banks().FailNoAccess();
    const auto after = bench_->AllRegisters();
    if (!is_hit) {
      EXPECT_EQ(after, before);
      break;
    }
    EXPECT_EQ(after[0].cr4, before[0].cr4);
    EXPECT_EQ(after[1].cr4, before[1].cr4);
    EXPECT_LE(NumDifferences(after, before), 1) << "access " << skipped;
    EXPECT_EQ(bench_->mailbox().is_pmu_reserved, 0u);
    for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
      bench_->banks().of(cpu).set_state(before[cpu].bank);
    }
  }
}

// MSRs that the core may name: Intel's manual, volume 4, and AMD's volume 2.
std::set<uint32_t> Range(uint32_t first, uint32_t count) {
  std::set<uint32_t> msrs;
  for (uint32_t i = 0; i < count; ++i) msrs.insert(first + i);
  return msrs;
}

std::set<uint32_t> Union(const std::vector<std::set<uint32_t>>& sets) {
  std::set<uint32_t> all;
  for (const std::set<uint32_t>& set : sets) all.insert(set.begin(), set.end());
  return all;
}

std::set<uint32_t> CounterMsrs() {
  return Union({Range(0xC1, 8), Range(0x186, 8), Range(0x309, 4),
                Range(0x38D, 1), Range(0x38F, 2), Range(0x4C1, 8),
                Range(0xC0010200, 12), Range(0xC0000301, 2)});
}

std::set<uint32_t> ReadableMsrs() {
  return Union({CounterMsrs(),
                Range(0x18E, 8),
                // PLATFORM_INFO, MPERF, APERF, thermal status, its target,
                // PERF_CAPABILITIES, energy.
                {0xCE, 0xE7, 0xE8, 0x19C, 0x1A2, 0x345, 0x606, 0x611, 0x619,
                 0xC0010299, 0xC001029B}});
}

TEST_P(EveryGeneration, HasOnlyRegistersOfItsPmuWritten) {
  std::vector<pmu::CpuDescription> cpus;
  bench_->Describe(&cpus);
  ASSERT_EQ(Start(pmu::kAllowUserReads), Result::kOk);
  bench_->Read(kClient);
  bench_->Do(Task::kSuspend);
  bench_->Do(Task::kResume);
  bench_->Read(kClient);
  bench_->Close(kClient);
  const Accesses& accesses = bench_->banks().accesses();
  EXPECT_THAT(accesses.read, Each(::testing::AnyOfArray(ReadableMsrs())));
  EXPECT_THAT(accesses.written, Each(::testing::AnyOfArray(CounterMsrs())));
  EXPECT_GE(accesses.written.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Ring0, EveryGeneration,
                         ::testing::ValuesIn(Generations()),
                         [](const auto& param) {
                           return std::string(param.param.name);
                         });

TEST_F(Ring0Test, RefusesACpuWithoutPmu) {
  Bench bench(pmu::WithoutPmu());
  EXPECT_EQ(bench.Send(kClient, Command::kReserve), Result::kNoPmu);
  EXPECT_THAT(bench.banks().accesses().written, SizeIs(0));
}

TEST_F(Ring0Test, RefusesAPmuThatIsInUse) {
  Bench bench(pmu::Skylake());
  pmu::MsrBank::State state = bench.banks().of(1).state();
  state.select[3] = kInstructions | 1 << 22;  // EN
  bench.banks().of(1).set_state(state);
  EXPECT_EQ(bench.Send(kClient, Command::kReserve), Result::kInUse);
  EXPECT_EQ(bench.banks().of(1).state(), state);
  EXPECT_EQ(bench.mailbox().is_pmu_reserved, 0u);
}

TEST_F(Ring0Test, RefusesAPmuThatAnotherDriverReserved) {
  Bench bench(pmu::Skylake());
  bench.mailbox().is_pmu_taken = 1;
  EXPECT_EQ(bench.Send(kClient, Command::kReserve), Result::kReservedBySystem);
  EXPECT_THAT(bench.banks().accesses().written, SizeIs(0));
}

TEST_F(Ring0Test, KeepsUserReadsThatWereAllowedBefore) {
  Bench bench(pmu::Skylake());
  const uint64_t cr4 = bench.AllRegisters()[0].cr4;
  ASSERT_TRUE(bench.monitor().SetCr4(0, cr4 | kPce).ok());
  EXPECT_NE(bench.UserReadPmc(0), std::nullopt);
  ASSERT_EQ(bench.Send(kClient, Command::kReserve), Result::kOk);
  bench.Close(kClient);
  EXPECT_EQ(bench.AllRegisters()[0].cr4, cr4 | kPce);
  EXPECT_EQ(bench.AllRegisters()[1].cr4, cr4);
}

TEST_F(Ring0Test, ProgramsCpusAgainAfterTheyLostTheirStateInSleep) {
  const Generation generation = Generations()[4];  // Skylake
  Bench bench(generation.first);
  const uint64_t cr4 = bench.AllRegisters()[1].cr4;
  ASSERT_EQ(bench.Send(kClient, Command::kReserve), Result::kOk);
  ASSERT_EQ(bench.Program(kClient, Request(generation, kInstructions,
                                           pmu::kAllowUserReads)),
            Result::kOk);
  bench.banks().of(1).CountEvents({.event = 0xC0}, 1000, pmu::Ring::kUser);
  bench.Do(Task::kSuspend);
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    bench.banks().of(cpu).Reset();
    ASSERT_TRUE(bench.monitor().SetCr4(cpu, cr4).ok());
  }
  bench.Do(Task::kResume);
  EXPECT_EQ(bench.AllRegisters()[1].cr4, cr4 | kPce);
  bench.banks().of(1).CountEvents({.event = 0xC0}, 20, pmu::Ring::kUser);
  const std::vector<pmu::CpuCounts> counts = bench.Read(kClient);
  ASSERT_THAT(counts, SizeIs(kNumCpus));
  EXPECT_EQ(counts[1].general[0], 1020u);
}

TEST_F(Ring0Test, ProgramsACpuThatComesOnline) {
  const Generation generation = Generations()[4];  // Skylake
  Bench bench(generation.first);
  bench.mailbox().online_cpus = 1;
  ASSERT_EQ(bench.Send(kClient, Command::kReserve), Result::kOk);
  ASSERT_EQ(bench.Program(kClient, Request(generation, kInstructions)),
            Result::kOk);
  EXPECT_EQ(bench.Read(kClient)[1].is_online, 0u);
  bench.mailbox().online_cpus = 3;
  bench.Do(Task::kCpuOnline, 1);
  bench.banks().of(1).CountEvents({.event = 0xC0}, 20, pmu::Ring::kUser);
  EXPECT_EQ(bench.Read(kClient)[1].is_online, 1u);
  EXPECT_EQ(bench.Read(kClient)[1].general[0], 20u);
}

}  // namespace
}  // namespace fleetperf::ring0
