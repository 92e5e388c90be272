#include "driver/perf_event/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "driver/perf_event/record_parser.h"
#include "tests/driver/perf_event/parsed_record.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::FromHex;
using ::testing::ElementsAre;

// Expected orders are those of PERF_RECORD_SAMPLE in
// include/uapi/linux/perf_event.h, except that AUX data is last, where
// perf_output_sample() in kernel/events/core.c writes it.

TEST(SampleTest, FieldsOfFixedSize) {
  const ParsedSample sample(
      Sampling(sample::kIdentifier | sample::kIp | sample::kTid |
               sample::kTime | sample::kAddress | sample::kId |
               sample::kStreamId | sample::kCpu | sample::kPeriod),
      ByteBuilder()
          .U64(1)   // identifier
          .U64(2)   // ip
          .U32(3)   // pid
          .U32(4)   // tid
          .U64(5)   // time
          .U64(6)   // address
          .U64(7)   // id
          .U64(8)   // stream id
          .U32(9)   // CPU
          .U32(99)  // reserved
          .U64(10)  // period
  );
  EXPECT_EQ(sample->id(), 1u);
  EXPECT_EQ(sample->ip(), 2u);
  EXPECT_EQ(sample->thread(), (ThreadId{3, 4}));
  EXPECT_EQ(sample->time(), 5u);
  EXPECT_EQ(sample->address(), 6u);
  EXPECT_EQ(sample->stream_id(), 8u);
  EXPECT_EQ(sample->cpu(), 9u);
  EXPECT_EQ(sample->period(), 10u);
}

TEST(SampleTest, FieldsThatTheEventDoesNotHaveAreAbsent) {
  const ParsedSample sample(Sampling(0), ByteBuilder());
  EXPECT_FALSE(sample->Has(sample::kIp));
  EXPECT_FALSE(sample->id());
  EXPECT_FALSE(sample->ip());
  EXPECT_FALSE(sample->thread());
  EXPECT_FALSE(sample->time());
  EXPECT_FALSE(sample->address());
  EXPECT_FALSE(sample->stream_id());
  EXPECT_FALSE(sample->cpu());
  EXPECT_FALSE(sample->period());
  EXPECT_FALSE(sample->read());
  EXPECT_TRUE(sample->callchain().empty());
  EXPECT_EQ(sample->raw(), "");
  EXPECT_TRUE(sample->branches().empty());
  EXPECT_EQ(sample->user_registers().abi(), RegistersAbi::kNone);
  EXPECT_EQ(sample->interrupt_registers().abi(), RegistersAbi::kNone);
  EXPECT_EQ(sample->user_stack(), "");
  EXPECT_FALSE(sample->weight());
  EXPECT_FALSE(sample->weight_struct());
  EXPECT_FALSE(sample->data_source());
  EXPECT_FALSE(sample->transaction());
  EXPECT_FALSE(sample->physical_address());
  EXPECT_FALSE(sample->cgroup());
  EXPECT_FALSE(sample->data_page_size());
  EXPECT_FALSE(sample->code_page_size());
  EXPECT_EQ(sample->aux(), "");
}

TEST(SampleTest, GoldenBytes) {
  const std::string bytes = FromHex(
      "09 00 00 00  02 40  38 00"
      "00 10 40 00 00 00 00 00"   // ip
      "e8 03 00 00  e9 03 00 00"  // pid, tid
      "15 cd 5b 07 00 00 00 00"   // time
      "01 00 00 00  00 00 00 00"  // CPU
      "10 27 00 00 00 00 00 00"   // period
      "2a 00 00 00 00 00 00 00"   // cgroup
  );
  const RecordParser parser(
      RecordLayout(Sampling(sample::kIp | sample::kTid | sample::kTime |
                            sample::kCpu | sample::kPeriod | sample::kCgroup)));
  Sample sample;
  ASSERT_OK(parser.ParseSample(*RawRecord::FromBytes(bytes), &sample));
  EXPECT_EQ(sample.ip(), 0x401000u);
  EXPECT_EQ(sample.thread(), (ThreadId{1000, 1001}));
  EXPECT_EQ(sample.time(), 123456789u);
  EXPECT_EQ(sample.cpu(), 1u);
  EXPECT_EQ(sample.period(), 10000u);
  EXPECT_EQ(sample.cgroup(), 42u);
}

TEST(SampleTest, ReadOfOneEvent) {
  Attributes attributes = Sampling(sample::kRead | sample::kCgroup);
  attributes.read_format = read_format::kTotalTimeRunning | read_format::kId;
  const ParsedSample sample(attributes,
                            ByteBuilder().U64(100).U64(8).U64(77).U64(42));
  const auto read = sample->read();
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->time_enabled());
  EXPECT_EQ(read->time_running(), 8u);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0], (GroupEntry{100, 77, std::nullopt}));
  EXPECT_EQ(sample->cgroup(), 42u);
}

TEST(SampleTest, ReadOfAGroup) {
  Attributes attributes =
      Sampling(sample::kTime | sample::kRead | sample::kCgroup);
  attributes.read_format = read_format::kGroup | read_format::kId |
                           read_format::kLost | read_format::kTotalTimeEnabled |
                           read_format::kTotalTimeRunning;
  const ParsedSample sample(attributes, ByteBuilder()
                                            .U64(1)  // time
                                            .U64(2)  // number of values
                                            .U64(8)
                                            .U64(4)
                                            .U64(100)
                                            .U64(77)
                                            .U64(0)
                                            .U64(200)
                                            .U64(78)
                                            .U64(3)
                                            .U64(42));
  const auto read = sample->read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->time_enabled(), 8u);
  EXPECT_EQ(read->time_running(), 4u);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0], (GroupEntry{100, 77, 0}));
  EXPECT_EQ((*read)[1], (GroupEntry{200, 78, 3}));
  EXPECT_EQ(sample->cgroup(), 42u);
}

TEST(SampleTest, CallChain) {
  const ParsedSample sample(Sampling(sample::kIp | sample::kCallchain),
                            ByteBuilder()
                                .U64(0x1000)
                                .U64(3)
                                .U64(callchain::kUser)
                                .U64(0x1000)
                                .U64(0x2000));
  EXPECT_THAT(sample->callchain().ToVector(),
              ElementsAre(0xFFFFFFFFFFFFFE00, 0x1000, 0x2000));
  EXPECT_TRUE(callchain::IsContext(sample->callchain()[0]));
  EXPECT_FALSE(callchain::IsContext(sample->callchain()[1]));
  EXPECT_FALSE(callchain::IsContext(callchain::kMax - 1));
}

// The kernel pads 4 + size to a multiple of 8.
TEST(SampleTest, Raw) {
  const ParsedSample sample(Sampling(sample::kRaw | sample::kCgroup),
                            ByteBuilder().U32(12).Raw("raw contents").U64(42));
  EXPECT_EQ(sample->raw(), "raw contents");
  EXPECT_EQ(sample->cgroup(), 42u);
}

// Bits: mispredicted, predicted, in transaction, abort, 16 of cycles, 4 of
// type, 2 of speculation, 4 of new type, 3 of privilege.
constexpr uint64_t kBranchFlags = 1 << 1 | 1 << 3 | 0x1234 << 4 |
                                  uint64_t{15} << 20 | uint64_t{3} << 24 |
                                  uint64_t{2} << 26 | uint64_t{2} << 30;
const BranchEntry kBranch = {.from = 0x1000,
                             .to = 0x2000,
                             .predicted = true,
                             .abort = true,
                             .cycles = 0x1234,
                             .type = BranchType::kExtended,
                             .speculation = BranchSpeculation::kCorrectPath,
                             .new_type = NewBranchType::kInstructionFault,
                             .privilege = BranchPrivilege::kKernel};

TEST(SampleTest, BranchStack) {
  const ParsedSample sample(SamplingBranches(branch::kAny),
                            ByteBuilder()
                                .U64(2)
                                .U64(0x1000)
                                .U64(0x2000)
                                .U64(kBranchFlags)
                                .U64(0x3000)
                                .U64(0x4000)
                                .U64(1)
                                .U64(42));
  const BranchStack branches = sample->branches();
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0], kBranch);
  EXPECT_EQ(branches[1],
            (BranchEntry{.from = 0x3000, .to = 0x4000, .mispredicted = true}));
  EXPECT_FALSE(branches.hardware_index());
  EXPECT_TRUE(branches.counters().empty());
  EXPECT_EQ(sample->cgroup(), 42u);
}

TEST(SampleTest, BranchStackWithIndexAndCounters) {
  const ParsedSample sample(
      SamplingBranches(branch::kAny | branch::kHardwareIndex |
                       branch::kCounters),
      ByteBuilder()
          .U64(2)
          .U64(31)  // index
          .U64(1)
          .U64(2)
          .U64(0)
          .U64(3)
          .U64(4)
          .U64(0)
          .U64(0xAA)  // counters
          .U64(0xBB)
          .U64(42));
  const BranchStack branches = sample->branches();
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches.hardware_index(), 31u);
  EXPECT_EQ(branches[1].from, 3u);
  EXPECT_THAT(branches.counters().ToVector(), ElementsAre(0xAA, 0xBB));
  EXPECT_EQ(sample->cgroup(), 42u);
}

// The kernel writes no index if the sample has no stack at all, and one if the
// stack has no entries.
TEST(SampleTest, EmptyBranchStackWithAndWithoutIndex) {
  const Attributes attributes =
      SamplingBranches(branch::kAny | branch::kHardwareIndex);
  const ParsedSample without(attributes, ByteBuilder().U64(0).U64(42));
  EXPECT_TRUE(without->branches().empty());
  EXPECT_EQ(without->cgroup(), 42u);
  const ParsedSample with(attributes, ByteBuilder().U64(0).U64(31).U64(42));
  EXPECT_TRUE(with->branches().empty());
  EXPECT_EQ(with->cgroup(), 42u);
}

// Every flag of the kernel has a name. Those that change a sample's layout are
// tested above.
TEST(SampleTest, NumbersOfBranchFlags) {
  EXPECT_EQ(branch::kNoFlags, 0x4000u);
  EXPECT_EQ(branch::kNoCycles, 0x8000u);
  EXPECT_EQ(branch::kTypeSave, 0x10000u);
  EXPECT_EQ(branch::kHardwareIndex, 0x20000u);
  EXPECT_EQ(branch::kPrivilegeSave, 0x40000u);
  EXPECT_EQ(branch::kCounters, 0x80000u);
}

TEST(SampleTest, UserRegistersAndStack) {
  Attributes attributes =
      Sampling(sample::kRegsUser | sample::kStackUser | sample::kCgroup);
  attributes.sample_regs_user = 1 << 0 | 1 << 7 | uint64_t{1} << 63;
  const ParsedSample sample(attributes, ByteBuilder()
                                            .U64(2)
                                            .U64(100)
                                            .U64(107)
                                            .U64(163)
                                            .U64(16)
                                            .Raw("stack---writtens")
                                            .U64(16)
                                            .U64(42));
  const Registers registers = sample->user_registers();
  EXPECT_EQ(registers.abi(), RegistersAbi::k64);
  EXPECT_THAT(registers.values().ToVector(), ElementsAre(100, 107, 163));
  EXPECT_EQ(registers.Get(0), 100u);
  EXPECT_EQ(registers.Get(7), 107u);
  EXPECT_EQ(registers.Get(63), 163u);
  EXPECT_FALSE(registers.Get(1));
  EXPECT_FALSE(registers.Get(64));
  EXPECT_FALSE(registers.Get(-1));
  EXPECT_EQ(sample->user_stack(), "stack---writtens");
  EXPECT_EQ(sample->cgroup(), 42u);
}

TEST(SampleTest, OnlyThatPartOfTheStackIsValid) {
  const ParsedSample sample(
      Sampling(sample::kStackUser | sample::kCgroup),
      ByteBuilder().U64(16).Raw("stack---unwritte").U64(8).U64(42));
  EXPECT_EQ(sample->user_stack(), "stack---");
  EXPECT_EQ(sample->cgroup(), 42u);
}

// Threads of the kernel have neither registers nor a stack of user mode.
TEST(SampleTest, NoRegistersAndNoStack) {
  Attributes attributes =
      Sampling(sample::kRegsUser | sample::kStackUser | sample::kCgroup);
  attributes.sample_regs_user = 0xFF;
  const ParsedSample sample(attributes, ByteBuilder().U64(0).U64(0).U64(42));
  EXPECT_EQ(sample->user_registers().abi(), RegistersAbi::kNone);
  EXPECT_FALSE(sample->user_registers().Get(0));
  EXPECT_EQ(sample->user_stack(), "");
  EXPECT_EQ(sample->cgroup(), 42u);
}

TEST(SampleTest, Weight) {
  const ParsedSample sample(Sampling(sample::kWeight | sample::kDataSource),
                            ByteBuilder().U64(100).U64(2));
  EXPECT_EQ(sample->weight(), 100u);
  EXPECT_FALSE(sample->weight_struct());
  EXPECT_EQ(sample->data_source()->operation(), DataSource::kLoad);
}

// Both kinds of weight have the same place, and the fields behind it do not
// move.
TEST(SampleTest, WeightStruct) {
  Attributes attributes = Sampling(
      sample::kWeightStruct | sample::kDataSource | sample::kTransaction |
      sample::kRegsIntr | sample::kPhysicalAddress | sample::kCgroup |
      sample::kDataPageSize | sample::kCodePageSize | sample::kAux);
  attributes.sample_regs_intr = 3;
  const ParsedSample sample(attributes,
                            ByteBuilder()
                                .U32(100)
                                .U16(200)
                                .U16(300)
                                .U64(2)
                                .U64(1)
                                .U64(1)  // 32-bit registers
                                .U64(5)
                                .U64(6)
                                .U64(0xABC000)
                                .U64(42)
                                .U64(4096)
                                .U64(2097152)
                                .U64(8)
                                .Raw("AUX-data"));
  EXPECT_EQ(sample->weight_struct(), (WeightStruct{100, 200, 300}));
  EXPECT_FALSE(sample->weight());
  EXPECT_EQ(sample->data_source()->operation(), DataSource::kLoad);
  EXPECT_TRUE(sample->transaction()->elision());
  EXPECT_EQ(sample->interrupt_registers().abi(), RegistersAbi::k32);
  EXPECT_EQ(sample->interrupt_registers().Get(1), 6u);
  EXPECT_EQ(sample->physical_address(), 0xABC000u);
  EXPECT_EQ(sample->cgroup(), 42u);
  EXPECT_EQ(sample->data_page_size(), 4096u);
  EXPECT_EQ(sample->code_page_size(), 2097152u);
  EXPECT_EQ(sample->aux(), "AUX-data");
}

TEST(SampleTest, DataSource) {
  const DataSource source = {
      2u | uint64_t{0x42} << 5 | uint64_t{0x10} << 19 | uint64_t{2} << 24 |
      uint64_t{0x12} << 26 | uint64_t{0xD} << 33 | uint64_t{1} << 37 |
      uint64_t{1} << 38 | uint64_t{4} << 40 | uint64_t{3} << 43};
  EXPECT_EQ(source.operation(), DataSource::kLoad);
  EXPECT_EQ(source.level(), DataSource::kLevelHit | DataSource::kLevelL3);
  EXPECT_EQ(source.snoop(), DataSource::kSnoopHitModified);
  EXPECT_EQ(source.lock(), DataSource::kLocked);
  EXPECT_EQ(source.tlb(), DataSource::kTlbHit | DataSource::kTlbL2);
  EXPECT_EQ(source.level_number(), DataSource::kRam);
  EXPECT_TRUE(source.remote());
  EXPECT_EQ(source.snoop_extended(), DataSource::kForwarded);
  EXPECT_EQ(source.blocked(), DataSource::kBlockedAddress);
  EXPECT_EQ(source.hops(), 3u);
}

TEST(SampleTest, Transaction) {
  const Transaction transaction = {uint64_t{0xDEADBEEF} << 32 | 0xA2};
  EXPECT_FALSE(transaction.elision());
  EXPECT_TRUE(transaction.transaction());
  EXPECT_FALSE(transaction.synchronous());
  EXPECT_TRUE(transaction.conflict());
  EXPECT_FALSE(transaction.capacity_write());
  EXPECT_TRUE(transaction.capacity_read());
  EXPECT_EQ(transaction.abort_code(), 0xDEADBEEFu);
}

TEST(SampleTest, EverythingAtOnce) {
  Attributes attributes =
      Sampling((1 << 25) - 1 - static_cast<uint64_t>(sample::kWeight));
  attributes.read_format = read_format::kGroup;
  attributes.sample_regs_user = 1;
  attributes.sample_regs_intr = 1;
  ByteBuilder body;
  for (uint64_t i = 1; i <= 9; ++i) body.U64(i);
  body.U64(1).U64(10);                   // read
  body.U64(1).U64(11);                   // call chain
  body.U32(4).Raw("raw!");               // raw
  body.U64(1).U64(12).U64(13).U64(0);    // branches
  body.U64(2).U64(14);                   // user registers
  body.U64(8).Raw("stack...").U64(8);    // user stack
  body.U64(15).U64(16).U64(17);          // weight, data source, transaction
  body.U64(2).U64(18);                   // interrupt registers
  body.U64(19).U64(20).U64(21).U64(22);  // addresses
  body.U64(8).Raw("auxiliar");           // AUX
  const ParsedSample sample(attributes, body);
  EXPECT_EQ(sample->id(), 1u);
  EXPECT_EQ(sample->period(), 9u);
  EXPECT_EQ((*sample->read())[0].value, 10u);
  EXPECT_THAT(sample->callchain().ToVector(), ElementsAre(11));
  EXPECT_EQ(sample->raw(), "raw!");
  EXPECT_EQ(sample->branches()[0].to, 13u);
  EXPECT_EQ(sample->user_registers().Get(0), 14u);
  EXPECT_EQ(sample->user_stack(), "stack...");
  EXPECT_EQ(sample->weight_struct()->var1_dw, 15u);
  EXPECT_EQ(sample->data_source()->value, 16u);
  EXPECT_EQ(sample->transaction()->value, 17u);
  EXPECT_EQ(sample->interrupt_registers().Get(0), 18u);
  EXPECT_EQ(sample->physical_address(), 19u);
  EXPECT_EQ(sample->cgroup(), 20u);
  EXPECT_EQ(sample->data_page_size(), 21u);
  EXPECT_EQ(sample->code_page_size(), 22u);
  EXPECT_EQ(sample->aux(), "auxiliar");
}

// A big-endian compiler allocates bit fields from the highest bit.
TEST(SampleTest, SamplesOfABigEndianMachine) {
  Attributes attributes =
      Sampling(sample::kTid | sample::kCallchain | sample::kBranchStack |
               sample::kWeightStruct);
  const std::string bytes = FromHex(
      "00 00 00 09  00 02  00 50"
      "00 00 00 01  00 00 00 02"
      "00 00 00 00 00 00 00 02"
      "00 00 00 00 00 00 10 00"
      "00 00 00 00 00 00 20 00"
      "00 00 00 00 00 00 00 01"
      "00 00 00 00 00 00 10 00"
      "00 00 00 00 00 00 20 00"
      // 0101 0001 0010 0011 0100 1111 1100 10 01 0...
      "51 23 4f c9 00 00 00 00"
      "01 2c  00 c8  00 00 00 64");
  ASSERT_OK_AND_ASSIGN(const RawRecord raw,
                       RawRecord::FromBytes(bytes, std::endian::big));
  const RecordParser parser(RecordLayout(attributes, std::endian::big));
  Sample sample;
  ASSERT_OK(parser.ParseSample(raw, &sample));
  EXPECT_EQ(sample.thread(), (ThreadId{1, 2}));
  EXPECT_THAT(sample.callchain().ToVector(), ElementsAre(0x1000, 0x2000));
  BranchEntry expected = kBranch;
  expected.privilege = BranchPrivilege::kKernel;
  EXPECT_EQ(sample.branches()[0], expected);
  EXPECT_EQ(sample.weight_struct(), (WeightStruct{100, 200, 300}));
}

}  // namespace
}  // namespace fleetperf::perf_event
