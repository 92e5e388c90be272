// Requests are data from outside.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/pmu/msr_access.h"
#include "tests/driver/pmu/client.h"

namespace fleetperf::pmu {
namespace {

// A client that has programmed one counter, which runs on.
class Requests : public testing::Test {
 protected:
  SimulatedMachine machine{Skylake(), 1};
  PmuOnMachine pmu{machine};
  size_t reply_size = 1;
  char reply[1000];

  void SetUp() override {
    ASSERT_EQ(pmu.Start(kAlice, General({kInstructions})), Result::kOk);
  }
  Result Handle(Command command, const std::string& request,
                size_t capacity = sizeof(reply)) {
    return pmu->Handle(kAlice, command, request.data(), request.size(), reply,
                       capacity, &reply_size);
  }
  Result Program(const ProgramRequest& request, size_t size) {
    std::string bytes(sizeof(request) + 100, '\0');
    std::memcpy(bytes.data(), &request, sizeof(request));
    return Handle(Command::kProgram, bytes.substr(0, size));
  }
  Result Program(const ProgramRequest& request) {
    return Program(request, sizeof(request));
  }
  Result ProgramGeneral(uint64_t selection) {
    return Program(OneProgram(General({selection})));
  }
  // A refused program leaves the earlier one running.
  void TearDown() override {
    machine.bank(0).CountEvents({0xC0, 0}, 11, Ring::kUser);
    EXPECT_EQ(pmu.MustRead(kAlice)[0].general[0], 11u);
  }
};

TEST_F(Requests, UnknownCommandsAreRefused) {
  EXPECT_EQ(Handle(Command{0}, ""), Result::kUnknownCommand);
  EXPECT_EQ(Handle(Command{6}, ""), Result::kUnknownCommand);
  EXPECT_EQ(Handle(Command{0xFFFFFFFF}, ""), Result::kUnknownCommand);
  EXPECT_EQ(reply_size, 0u);
}

TEST_F(Requests, ProgramOfAnotherSizeIsRefused) {
  ProgramRequest request = OneProgram(General({kCycles}));
  for (const size_t size : {0, 7, 8, 16, 175, 177, 200}) {
    EXPECT_EQ(Program(request, size), Result::kWrongSize) << size;
  }
  for (const uint32_t size : {0u, 8u, 175u, 177u, 0xFFFFFFFFu}) {
    request.header.size = size;
    EXPECT_EQ(Program(request), Result::kWrongSize) << size;
  }
  for (const size_t size : {8, 96, 175, 177, 256}) {
    request.header.size = size;
    EXPECT_EQ(Program(request, size), Result::kWrongSize) << size;
  }
}

TEST_F(Requests, ProgramOfAnotherVersionIsRefused) {
  ProgramRequest request = OneProgram(General({kCycles}));
  for (const uint32_t version : {0u, 2u, 0xFFFFFFFFu}) {
    request.header.version = version;
    EXPECT_EQ(Program(request), Result::kWrongVersion) << version;
  }
}

TEST_F(Requests, OtherCommandsHaveNoRequest) {
  for (const Command command : {Command::kDescribe, Command::kReserve,
                                Command::kRead, Command::kRelease}) {
    EXPECT_EQ(Handle(command, "x"), Result::kWrongSize);
  }
}

TEST_F(Requests, ReplyThatDoesNotFitIsNotWritten) {
  std::memset(reply, 0x5A, sizeof(reply));
  EXPECT_EQ(Handle(Command::kDescribe, "", 87), Result::kWrongSize);
  EXPECT_EQ(Handle(Command::kRead, "", 167), Result::kWrongSize);
  EXPECT_EQ(reply_size, 0u);
  EXPECT_EQ(reply[0], 0x5A);
  EXPECT_EQ(Handle(Command::kDescribe, "", 88), Result::kOk);
  EXPECT_EQ(reply_size, 88u);
  EXPECT_EQ(Handle(Command::kRead, "", 168), Result::kOk);
  EXPECT_EQ(reply_size, 168u);
}

TEST_F(Requests, ReplyTellsItsStructure) {
  ASSERT_EQ(Handle(Command::kRead, ""), Result::kOk);
  Counts counts;
  std::memcpy(&counts, reply, sizeof(counts));
  EXPECT_EQ(counts.header.version, 1u);
  EXPECT_EQ(counts.header.size, 16u);
  EXPECT_EQ(counts.num_cpus, 1u);
  EXPECT_EQ(counts.cpu_size, 152u);
  ASSERT_EQ(Handle(Command::kDescribe, ""), Result::kOk);
  Description description;
  std::memcpy(&description, reply, sizeof(description));
  EXPECT_EQ(description.header.size, 48u);
  EXPECT_EQ(description.cpu_size, 40u);
}

TEST_F(Requests, NumberOfProgramsIsChecked) {
  ProgramRequest request = OneProgram(General({kCycles}));
  for (const uint32_t number : {0u, 3u, 0xFFFFFFFFu}) {
    request.num_programs = number;
    EXPECT_EQ(Program(request), Result::kWrongCoreType) << number;
  }
}

TEST_F(Requests, CoreTypesMustExistAndDiffer) {
  ProgramRequest request = OneProgram(General({kCycles}));
  request.programs[0].core_type = 0x40;
  EXPECT_EQ(Program(request), Result::kWrongCoreType);
  request = OneProgram(General({kCycles}));
  request.num_programs = 2;
  EXPECT_EQ(Program(request), Result::kWrongCoreType);
}

TEST_F(Requests, ReservedFieldsAreRefused) {
  ProgramRequest request = OneProgram(General({kCycles}), 2);
  EXPECT_EQ(Program(request), Result::kWrongEvent);
  request = OneProgram(General({kCycles}));
  request.programs[0].reserved = 1;
  EXPECT_EQ(Program(request), Result::kWrongEvent);
}

// 19 pin control, 20 interrupt, 21 any thread, 22 enable, 32 and 33
// transactions; the rest is reserved.
TEST_F(Requests, DangerousAndReservedBitsOfASelectionAreRefused) {
  for (int bit = 0; bit < 64; ++bit) {
    const bool is_allowed = bit < 19 || bit == 23 || (bit >= 24 && bit < 32);
    if (is_allowed) continue;
    EXPECT_EQ(ProgramGeneral(kCycles | uint64_t{1} << bit), Result::kWrongEvent)
        << bit;
  }
}

TEST_F(Requests, AnyThreadAndInterruptOfFixedCountersAreRefused) {
  CoreProgram program;
  for (const uint64_t control : {0x4, 0x8, 0x40, 0x800, 0x737}) {
    program.fixed_control = control;
    EXPECT_EQ(Program(OneProgram(program)), Result::kWrongEvent) << control;
  }
}

TEST_F(Requests, CountersThatTheCpuLacksAreRefused) {
  CoreProgram program;
  for (uint32_t i = 4; i < 8; ++i) {
    program = CoreProgram{};
    program.general[i] = kCycles;
    EXPECT_EQ(Program(OneProgram(program)), Result::kWrongCounter) << i;
  }
  program = CoreProgram{};
  for (uint32_t i = 3; i < 16; ++i) {
    program.fixed_control = uint64_t{1} << (4 * i);
    EXPECT_EQ(Program(OneProgram(program)), Result::kWrongCounter) << i;
  }
}

TEST_F(Requests, RefusalWritesNoRegister) {
  const auto before = Registers(machine);
  const uint64_t accesses = machine.num_accesses();
  EXPECT_EQ(ProgramGeneral(kCycles | 1 << 21), Result::kWrongEvent);
  EXPECT_EQ(Registers(machine), before);
  EXPECT_EQ(machine.num_accesses(), accesses);
}

TEST(Events, ThoseThatTheCpuLacksAreRefused) {
  SimulatedMachine machine(Nehalem(), 1);  // lacks events 2 and 6, has 7 events
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  const auto program = [&](uint64_t code) {
    return pmu.Program(kAlice, OneProgram(General({kBoth | code})));
  };
  EXPECT_EQ(program(0x003C), Result::kOk);
  EXPECT_EQ(program(0x00C0), Result::kOk);
  EXPECT_EQ(program(0x013C), Result::kWrongEvent);
  EXPECT_EQ(program(0x4F2E), Result::kOk);
  EXPECT_EQ(program(0x412E), Result::kOk);
  EXPECT_EQ(program(0x00C4), Result::kOk);
  EXPECT_EQ(program(0x00C5), Result::kWrongEvent);
  EXPECT_EQ(program(0x01A4), Result::kWrongEvent);
  EXPECT_EQ(program(0x00C5 | 1 << 23 | 5u << 24), Result::kWrongEvent);
  EXPECT_EQ(program(0x20D1), Result::kOk);  // model specific
}

TEST(Events, SlotsExistFromVersion5WithEightEvents) {
  SimulatedMachine machine(IceLake(), 1);
  PmuOnMachine pmu(machine);
  EXPECT_EQ(pmu.Start(kAlice, General({kBoth | 0x01A4})), Result::kOk);
}

TEST(Events, AmdChecksItsOwnBits) {
  SimulatedMachine machine(Zen2(), 1);
  PmuOnMachine pmu(machine);
  ASSERT_EQ(pmu.Send(kAlice, Command::kReserve), Result::kOk);
  for (int bit = 0; bit < 64; ++bit) {
    const bool is_allowed = bit < 19 || (bit >= 23 && bit < 36);
    EXPECT_EQ(
        pmu.Program(kAlice, OneProgram(General({kBoth | uint64_t{1} << bit}))),
        is_allowed ? Result::kOk : Result::kWrongEvent)
        << bit;
  }
  CoreProgram program;
  program.general[6] = kCycles;
  EXPECT_EQ(pmu.Program(kAlice, OneProgram(program)), Result::kWrongCounter);
  program = CoreProgram{};
  program.fixed_control = 1;
  EXPECT_EQ(pmu.Program(kAlice, OneProgram(program)), Result::kWrongCounter);
}

TEST(Events, Version1HasNoFixedCounters) {
  SimulatedMachine machine(CoreDuo(), 1);
  PmuOnMachine pmu(machine);
  CoreProgram program;
  program.fixed_control = 1;
  EXPECT_EQ(pmu.Start(kAlice, program), Result::kWrongCounter);
}

TEST(Events, HybridProgramMustSuitItsCores) {
  SimulatedMachine machine;
  machine.AddCpu(AlderLakeCore());
  machine.AddCpu(AlderLakeAtom());
  PmuOnMachine pmu(machine);
  CoreProgram program;
  program.general[7] = kCycles;
  program.core_type = 0x20;
  EXPECT_EQ(pmu.Start(kAlice, program), Result::kWrongCounter);
  program.core_type = 0x40;
  EXPECT_EQ(pmu.Start(kAlice, program), Result::kOk);
  program.core_type = 0;
  EXPECT_EQ(pmu.Start(kAlice, program), Result::kWrongCoreType);
}

// Counters and controls: numbers from Intel's SDM and AMD's PPRs.
TEST(AllowList, HoldsOnlyCountersAndSensors) {
  const auto in = [](uint32_t msr, uint32_t first, uint32_t last) {
    return msr >= first && msr <= last;
  };
  const auto expect = [&](uint32_t msr) {
    const bool both = in(msr, 0xC1, 0xC8) || in(msr, 0x186, 0x18D) ||
                      in(msr, 0x309, 0x30C) || msr == 0x38D || msr == 0x38F ||
                      in(msr, 0xC0010000, 0xC0010007) ||
                      in(msr, 0xC0010200, 0xC001020B) || msr == 0xC0000301;
    const bool read = msr == 0xCE || msr == 0xE7 || msr == 0xE8 ||
                      msr == 0x19C || msr == 0x1A2 || msr == 0x345 ||
                      msr == 0x606 || msr == 0x611 || msr == 0x619 ||
                      in(msr, 0x18E, 0x195) || msr == 0xC0010299 ||
                      msr == 0xC001029B;
    const bool write =
        msr == 0x390 || msr == 0xC0000302 || in(msr, 0x4C1, 0x4C8);
    EXPECT_EQ(IsReadable(msr), both || read) << std::hex << msr;
    EXPECT_EQ(IsWritable(msr), both || write) << std::hex << msr;
  };
  for (uint32_t msr = 0; msr < 0x20000; ++msr) expect(msr);
  for (uint32_t msr = 0xC0000000; msr < 0xC0020000; ++msr) expect(msr);
  for (uint32_t i = 0; i < 0x10000; ++i) expect(0x10001 * i);
}

TEST(AllowList, OtherRegistersDoNotReachTheMachine) {
  SimulatedMachine machine(Skylake(), 1);
  const MsrAccess msrs(machine);
  uint64_t value = 0;
  EXPECT_FALSE(msrs.Read(0x38E, &value));
  EXPECT_FALSE(msrs.Write(0x19C, 0));
  EXPECT_FALSE(msrs.Write(0xC0000082, 0));
  EXPECT_EQ(machine.num_accesses(), 0u);
}

}  // namespace
}  // namespace fleetperf::pmu
