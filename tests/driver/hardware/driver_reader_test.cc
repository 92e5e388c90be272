// The reader on the PMU core and simulated machines, whose scripts are the
// expected values.

#include "driver/hardware/driver_reader.h"

#include <cstring>
#include <functional>
#include <map>

#include "tests/driver/hardware/in_process_device.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::hardware {
namespace {

using enum HardwareCount;
using pmu::MsrBank;
using pmu::Ring;
using pmu::SimulatedMachine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InProcessPmu;

class DriverReaderTest : public ::testing::Test {
 protected:
  // Creates the core once all CPUs are there.
  void Start(const ReaderOptions& options = {}) {
    core_ = std::make_unique<InProcessPmu>(machine_);
    auto reader = MakeDriverReader(core_->Open(), options, clock_);
    ASSERT_OK(reader);
    reader_ = *std::move(reader);
    ASSERT_OK(reader_->Update());
  }

  HardwareReading Read(int cpu) {
    EXPECT_OK(reader_->Update());
    return reader_->ReadingOf(cpu);
  }

  std::map<HardwareCount, std::string> EventsOfReader() const {
    std::map<HardwareCount, std::string> events;
    for (const CountedEvent& event : reader_->events()) {
      events[event.count] = event.event;
    }
    return events;
  }

  testing::SimulatedClock clock_;
  SimulatedMachine machine_;
  std::unique_ptr<InProcessPmu> core_;
  std::unique_ptr<HardwareReader> reader_;
};

// A second at 2 · 10^9 cycles/s and IPC 1.5, half of it in the kernel.
TEST_F(DriverReaderTest, CountsOnFixedCountersOfIntel) {
  machine_.AddCpu(pmu::HaswellServer());
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  EXPECT_THAT(reader_->cpus(), ElementsAre(0, 1));
  EXPECT_EQ(reader_->timestamp_hertz(), 3'500'000'000u);
  EXPECT_EQ(reader_->origin(), "fleetperf_pmu");
  MsrBank& bank = machine_.bank(1);
  for (const Ring ring : {Ring::kUser, Ring::kSystem}) {
    bank.CountFixed(0, 1'500'000'000, ring);
    bank.CountFixed(1, 1'000'000'000, ring);
    bank.CountFixed(2, 900'000'000, ring);
    bank.CountEvents({0x2E, 0x4F}, 2000, ring);
    bank.CountEvents({0x2E, 0x41}, 500, ring);
    bank.CountEvents({0xD1, 0x02}, 4000, ring);
    bank.CountEvents({0xD1, 0x10}, 20, ring);
  }
  machine_.AdvanceTsc(3'500'000'000);
  const HardwareReading before = reader_->ReadingOf(1);
  const HardwareReading reading = Read(1);
  EXPECT_EQ(reading.cpu, 1);
  EXPECT_EQ(reading[kInstructions], 3'000'000'000u);
  EXPECT_EQ(reading[kCycles], 2'000'000'000u);
  EXPECT_EQ(reading[kReferenceCycles], 1'800'000'000u);
  EXPECT_EQ(*reading[kTimestamp] - *before[kTimestamp], 3'500'000'000u);
  EXPECT_EQ(reading[kL3References], 4000u);
  EXPECT_EQ(reading[kL3Misses], 1000u);
  EXPECT_EQ(reading[kL3Instructions], 3'000'000'000u);
  EXPECT_EQ(reading[kL2Hits], 8000u);
  EXPECT_EQ(reading[kL2Misses], 40u);
  EXPECT_FALSE(reading[kBranches]);  // four general counters
  EXPECT_FALSE(reading[kTimeRunning]);
  EXPECT_EQ(reader_->ReadingOf(0)[kInstructions], 0u);
}

// Eight general counters: the second level, by the names of the model, and the
// first.
TEST_F(DriverReaderTest, UsesAllGeneralCounters) {
  machine_.AddCpu(pmu::IceLake());
  Start();
  machine_.bank(0).CountEvents({0xD1, 0x02}, 90, Ring::kUser);
  machine_.bank(0).CountEvents({0xD1, 0x10}, 10, Ring::kUser);
  machine_.bank(0).CountEvents({0xD0, 0x81}, 1000, Ring::kUser);
  machine_.bank(0).CountEvents({0xD1, 0x08}, 100, Ring::kUser);
  const HardwareReading reading = Read(0);
  EXPECT_EQ(reading[kL2Hits], 90u);
  EXPECT_EQ(reading[kL2Misses], 10u);
  EXPECT_EQ(reading[kL1Loads], 1000u);
  EXPECT_EQ(reading[kL1Misses], 100u);
  EXPECT_EQ(EventsOfReader()[kL2Misses], "MEM_LOAD_RETIRED.L2_MISS");
}

// Two of the four general counters.
TEST_F(DriverReaderTest, CountsChosenEventsFirst) {
  machine_.AddCpu(pmu::HaswellServer());
  Start({.events = {{0xD1, 0x08}, {0xD1, 0x40}}});
  machine_.bank(0).CountEvents({0xD1, 0x08}, 70, Ring::kUser);
  machine_.bank(0).CountEvents({0xD1, 0x40}, 9, Ring::kSystem);
  machine_.bank(0).CountEvents({0x2E, 0x41}, 5, Ring::kUser);
  machine_.bank(0).CountFixed(0, 100, Ring::kUser);
  const HardwareReading reading = Read(0);
  EXPECT_THAT(reading.chosen, ElementsAre(70, 9));
  EXPECT_EQ(reading[kInstructions], 100u);
  EXPECT_EQ(reading[kL3Misses], 5u);
  EXPECT_FALSE(reading[kL2Misses]);
}

TEST_F(DriverReaderTest, RejectsMoreChosenEventsThanCounters) {
  machine_.AddCpu(pmu::Zen2());
  InProcessPmu core(machine_);
  // Two of six count instructions and cycles.
  const ReaderOptions options = {
      .events = {{0x64, 1}, {0x64, 2}, {0x64, 4}, {0x64, 8}, {0x64, 16}}};
  const auto reader = MakeDriverReader(core.Open(), options, clock_);
  EXPECT_TRUE(absl::IsInvalidArgument(reader.status())) << reader.status();
  EXPECT_THAT(reader.status().message(), HasSubstr("4 events"));
}

// Counts that keep their counters continue; so do those that get one again.
TEST_F(DriverReaderTest, PreferredCountsReplaceOthers) {
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  MsrBank& bank = machine_.bank(0);
  const auto count = [&] {
    bank.CountFixed(0, 1000, Ring::kUser);
    bank.CountEvents({0x2E, 0x41}, 50, Ring::kUser);
    bank.CountEvents({0xC5, 0x00}, 7, Ring::kUser);
    bank.CountEvents({0xD1, 0x08}, 3, Ring::kUser);
    bank.CountEnergy(1 << 14, 0);
  };
  count();
  const HardwareReading first = Read(0);
  EXPECT_EQ(first[kL3Misses], 50u);
  EXPECT_FALSE(first[kBranchMisses]);

  count();
  reader_->Prefer({kL1Misses, kBranches});
  ASSERT_OK(reader_->Update());
  count();
  const HardwareReading second = Read(0);
  EXPECT_EQ(second[kInstructions], 3000u);
  EXPECT_EQ(second[kPackageMicrojoules], 3'000'000u);
  EXPECT_EQ(second[kBranchMisses], 7u);
  EXPECT_EQ(second[kL1Misses], 3u);
  EXPECT_FALSE(second[kL3Misses]);
  EXPECT_FALSE(second[kL2Misses]);

  reader_->Prefer({});
  ASSERT_OK(reader_->Update());
  count();
  const HardwareReading third = Read(0);
  EXPECT_EQ(third[kInstructions], 4000u);
  EXPECT_EQ(third[kL3Misses], 150u);
  EXPECT_FALSE(third[kBranchMisses]);
}

// Version 1 has two general counters, and no others.
TEST_F(DriverReaderTest, CountsInstructionsAndCyclesWithoutFixedCounters) {
  machine_.AddCpu(pmu::CoreDuo());
  Start();
  machine_.bank(0).CountEvents({0xC0, 0}, 300, Ring::kUser);
  machine_.bank(0).CountEvents({0x3C, 0}, 200, Ring::kUser);
  const HardwareReading reading = Read(0);
  EXPECT_EQ(reading[kInstructions], 300u);
  EXPECT_EQ(reading[kCycles], 200u);
  EXPECT_FALSE(reading[kReferenceCycles]);
  EXPECT_FALSE(reading[kL3Misses]);
}

TEST_F(DriverReaderTest, CountsOnGeneralCountersOfAmd) {
  machine_.AddCpu(pmu::Zen2());
  Start();
  MsrBank& bank = machine_.bank(0);
  bank.CountEvents({0xC0, 0}, 300, Ring::kUser);
  bank.CountEvents({0x76, 0}, 200, Ring::kSystem);
  bank.CountEvents({0xC2, 0}, 80, Ring::kUser);
  bank.CountEvents({0xC3, 0}, 4, Ring::kUser);
  bank.CountPerformance(200, 150);
  const HardwareReading reading = Read(0);
  EXPECT_EQ(reading[kInstructions], 300u);
  EXPECT_EQ(reading[kCycles], 200u);
  EXPECT_EQ(reading[kReferenceCycles], 150u);
  EXPECT_EQ(reading[kBranches], 80u);
  EXPECT_EQ(reading[kBranchMisses], 4u);
  EXPECT_FALSE(reading[kL3References]);  // not counted by cores
  EXPECT_FALSE(reading[kL3Instructions]);
  EXPECT_EQ(EventsOfReader()[kReferenceCycles], "MPERF");
}

// CPUID of AMD does not tell the frequency.
TEST_F(DriverReaderTest, MeasuresTheTimestampCounterOfAmd) {
  machine_.AddCpu(pmu::Zen2());
  Start();
  EXPECT_EQ(reader_->timestamp_hertz(), 0u);
  machine_.AdvanceTsc(1'250'000'000);
  clock_.Advance(absl::Milliseconds(500));
  const HardwareReading reading = Read(0);
  EXPECT_EQ(reading.time, clock_.Monotonic());
  EXPECT_EQ(reader_->timestamp_hertz(), 2'500'000'000u);
}

TEST_F(DriverReaderTest, ProgramsEachTypeOfCore) {
  machine_.AddCpu(pmu::AlderLakeCore());
  machine_.AddCpu(pmu::AlderLakeAtom());
  Start();
  machine_.bank(0).CountFixed(0, 100, Ring::kUser);
  machine_.bank(1).CountFixed(0, 7, Ring::kUser);
  machine_.bank(0).CountEvents({0xC5, 0}, 3, Ring::kUser);
  machine_.bank(1).CountEvents({0xC5, 0}, 2, Ring::kUser);
  EXPECT_EQ(Read(0)[kInstructions], 100u);
  EXPECT_EQ(reader_->ReadingOf(1)[kInstructions], 7u);
  EXPECT_EQ(reader_->ReadingOf(0)[kBranchMisses], 3u);
  EXPECT_EQ(reader_->ReadingOf(1)[kBranchMisses], 2u);
}

// A unit is 2^-14 J for packages; for the memory of this server 2^-16 J.
TEST_F(DriverReaderTest, CountsEnergyAtTheFirstCpuOfEachPackage) {
  for (int cpu = 0; cpu < 9; ++cpu) machine_.AddCpu(pmu::HaswellServer());
  Start();
  for (int cpu = 0; cpu < 9; ++cpu) {
    machine_.bank(cpu).CountEnergy(40 << 14, 3 << 16);
  }
  EXPECT_EQ(Read(0)[kPackageMicrojoules], 40'000'000u);
  EXPECT_EQ(reader_->ReadingOf(0)[kMemoryMicrojoules], 3'000'000u);
  EXPECT_FALSE(reader_->ReadingOf(1)[kPackageMicrojoules]);
  // Two threads of four cores are a package.
  EXPECT_EQ(reader_->ReadingOf(8)[kPackageMicrojoules], 40'000'000u);
}

TEST_F(DriverReaderTest, AnEnergyCounterThatStays0IsAbsent) {
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  EXPECT_FALSE(Read(0)[kPackageMicrojoules]);
}

// The limit of this CPU is 100 degrees.
TEST_F(DriverReaderTest, ReadsTheTemperature) {
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  machine_.bank(0).SetTemperature(42);
  const HardwareReading reading = Read(0);
  EXPECT_EQ(reading.temperature_headroom, 42u);
  EXPECT_EQ(reading.temperature, 58u);
}

TEST_F(DriverReaderTest, FollowsCpusThatComeAndGo) {
  for (int cpu = 0; cpu < 2; ++cpu) machine_.AddCpu(pmu::HaswellServer());
  machine_.SetOnline(1, false);
  Start();
  EXPECT_THAT(reader_->cpus(), ElementsAre(0));
  machine_.SetOnline(1, true);
  core_->pmu().CpuOnline(1);
  ASSERT_OK(reader_->Update());
  machine_.bank(1).CountFixed(0, 50, Ring::kUser);
  EXPECT_EQ(Read(1)[kInstructions], 50u);
  EXPECT_THAT(reader_->cpus(), ElementsAre(0, 1));
  core_->pmu().CpuOffline(1);
  machine_.SetOnline(1, false);
  ASSERT_OK(reader_->Update());
  EXPECT_THAT(reader_->cpus(), ElementsAre(0));
  EXPECT_THAT(reader_->known_cpus(), ElementsAre(0, 1));
  EXPECT_EQ(reader_->ReadingOf(1)[kInstructions], 50u);
}

TEST_F(DriverReaderTest, WaitsForAnotherOwner) {
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  auto other = MakeDriverReader(core_->Open(), {}, clock_);
  ASSERT_OK(other);
  const absl::Status status = (*other)->Update();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("another program holds the PMU"));
  reader_.reset();
  EXPECT_OK((*other)->Update());
}

TEST_F(DriverReaderTest, LeavesAllRegistersAsTheyWere) {
  machine_.AddCpu(pmu::HaswellServer());
  const MsrBank::State before = machine_.bank(0).state();
  Start({.allow_user_reads = true});
  EXPECT_NE(machine_.bank(0).state(), before);
  reader_.reset();
  EXPECT_EQ(machine_.bank(0).state(), before);
  EXPECT_EQ(machine_.cr4(0), 0u);
}

// Bit 30 selects fixed counters.
TEST_F(DriverReaderTest, TellsTheCounterForUserMode) {
  machine_.AddCpu(pmu::HaswellServer());
  Start();
  EXPECT_FALSE(reader_->user_counter(kInstructions, 0));
  reader_.reset();
  Start({.allow_user_reads = true});
  const auto instructions = reader_->user_counter(kInstructions, 0);
  ASSERT_TRUE(instructions);
  EXPECT_EQ(instructions->index, 0x40000000u);
  EXPECT_EQ(instructions->width, 48u);
  uint64_t value;
  EXPECT_TRUE(machine_.bank(0).ReadCounter(instructions->index, Ring::kUser,
                                           machine_.cr4(0), &value));
  EXPECT_EQ(reader_->user_counter(kL3References, 0)->index, 0u);
  EXPECT_FALSE(reader_->user_counter(kTimestamp, 0));
  EXPECT_FALSE(reader_->user_counter(kInstructions, 7));
}

TEST_F(DriverReaderTest, NeedsAPmu) {
  machine_.AddCpu(pmu::WithoutPmu());
  InProcessPmu core(machine_);
  const auto reader = MakeDriverReader(core.Open(), {}, clock_);
  EXPECT_TRUE(absl::IsNotFound(reader.status())) << reader.status();
  EXPECT_THAT(reader.status().message(), HasSubstr("hypervisor"));
}

// A driver that is of another version, or broken.
class WrongDevice : public Device {
 public:
  WrongDevice(std::unique_ptr<Device> device, pmu::Command command,
              std::function<void(std::string*)> change)
      : device_(std::move(device)),
        command_(command),
        change_(std::move(change)) {}

  absl::StatusOr<std::string> Call(pmu::Command command,
                                   absl::string_view request) override {
    auto reply = device_->Call(command, request);
    if (command == command_ && reply.ok()) change_(&*reply);
    return reply;
  }

 private:
  const std::unique_ptr<Device> device_;
  const pmu::Command command_;
  const std::function<void(std::string*)> change_;
};

// Writes a number of 32 bits into a reply.
void Put(std::string* reply, size_t offset, uint32_t value) {
  std::memcpy(reply->data() + offset, &value, sizeof(value));
}

class WrongReplyTest : public DriverReaderTest {
 protected:
  WrongReplyTest() : core_(Machine()) {}

  // Returns the status of opening and of the first Update.
  absl::Status With(pmu::Command command,
                    std::function<void(std::string*)> change) {
    auto reader = MakeDriverReader(
        std::make_unique<WrongDevice>(core_.Open(), command, std::move(change)),
        {}, clock_);
    return reader.ok() ? (*reader)->Update() : reader.status();
  }

  InProcessPmu core_;

 private:
  SimulatedMachine& Machine() {
    machine_.AddCpu(pmu::HaswellServer());
    return machine_;
  }
};

TEST_F(WrongReplyTest, IsAnError) {
  const auto expect_loss = [&](pmu::Command command,
                               std::function<void(std::string*)> change) {
    const absl::Status status = With(command, std::move(change));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  };
  for (const pmu::Command command :
       {pmu::Command::kDescribe, pmu::Command::kRead}) {
    const size_t num_cpus = command == pmu::Command::kDescribe
                                ? offsetof(pmu::Description, num_cpus)
                                : offsetof(pmu::Counts, num_cpus);
    expect_loss(command, [](std::string* reply) { reply->clear(); });
    expect_loss(command, [](std::string* reply) { reply->resize(10); });
    expect_loss(command, [](std::string* reply) { reply->pop_back(); });
    expect_loss(command, [](std::string* reply) { reply->push_back('x'); });
    expect_loss(command, [](std::string* reply) { Put(reply, 0, 2); });
    expect_loss(command, [](std::string* reply) { Put(reply, 4, 1 << 30); });
    expect_loss(command, [](std::string* reply) { Put(reply, 4, 8); });
    expect_loss(command,
                [&](std::string* reply) { Put(reply, num_cpus, ~0u); });
    expect_loss(command, [&](std::string* reply) { Put(reply, num_cpus, 2); });
    expect_loss(command,
                [&](std::string* reply) { Put(reply, num_cpus + 4, 1); });
  }
  const size_t first_cpu = sizeof(pmu::Description);
  for (const size_t field : {offsetof(pmu::CpuDescription, num_general),
                             offsetof(pmu::CpuDescription, general_width),
                             offsetof(pmu::CpuDescription, fixed_counters),
                             offsetof(pmu::CpuDescription, fixed_width)}) {
    expect_loss(pmu::Command::kDescribe,
                [&](std::string* reply) { Put(reply, first_cpu + field, 65); });
  }
  expect_loss(pmu::Command::kDescribe, [](std::string* reply) {
    Put(reply, offsetof(pmu::Description, energy_unit), 64);
  });
}

TEST_F(WrongReplyTest, FieldsOfALaterVersionAreIgnored) {
  EXPECT_OK(With(pmu::Command::kRead, [](std::string* reply) {
    Put(reply, offsetof(pmu::Header, size), sizeof(pmu::Counts) + 8);
    Put(reply, offsetof(pmu::Counts, cpu_size), sizeof(pmu::CpuCounts) + 4);
    reply->insert(sizeof(pmu::Counts), "appended");
    reply->append("more");
  }));
}

TEST(ErrorOf, NamesTheRequestAndTheNextStep) {
  EXPECT_OK(ErrorOf(pmu::Command::kRead, pmu::Result::kOk));
  EXPECT_THAT(
      ErrorOf(pmu::Command::kReserve, pmu::Result::kReservedBySystem).message(),
      HasSubstr("reserve: another driver or a profiler holds the PMU"));
  EXPECT_TRUE(absl::IsUnknown(
      ErrorOf(pmu::Command::kRead, static_cast<pmu::Result>(99))));
}

}  // namespace
}  // namespace fleetperf::hardware
