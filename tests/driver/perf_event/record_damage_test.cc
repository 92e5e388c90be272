// Records are bytes from outside: damage is an error.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/perf_event/record_parser.h"
#include "tests/driver/perf_event/parsed_record.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::AllocatedBytes;
using ::fleetperf::testing::StatusIs;
using ::testing::HasSubstr;

TEST(RawRecordTest, RejectsBytesThatAreNoRecord) {
  const auto error = [](const std::string& bytes) {
    return RawRecord::FromBytes(bytes).status();
  };
  EXPECT_THAT(error(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("0")));
  EXPECT_THAT(error("1234567"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("7 are left")));
  EXPECT_THAT(error(ByteBuilder().U32(9).U16(0).U16(0).Build()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("size 0")));
  EXPECT_THAT(error(ByteBuilder().U32(9).U16(0).U16(16).Build()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("size 16, and 8 bytes are left")));
}

TEST(RawRecordTest, MayBeFollowedByOtherBytes) {
  ASSERT_OK_AND_ASSIGN(const RawRecord raw,
                       RawRecord::FromBytes(Filled(16, 'a') + "rest"));
  EXPECT_EQ(raw.size(), 16u);
}

void ExpectNoRoom(const Parsed& parsed, absl::string_view what) {
  EXPECT_THAT(parsed.status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(absl::StrCat("no room for its ", what))));
}

TEST(RecordDamageTest, RejectsBodiesSmallerThanTheTrailer) {
  ExpectNoRoom({RecordOf(3, 0, std::string(40, 'x')), WithIds()},
               "fields of where and when");
}

// Fields are not read from the trailer.
TEST(RecordDamageTest, RejectsBodiesThatEndTooEarly) {
  const ByteBuilder one = ByteBuilder().U32(1);
  for (uint32_t type = 1; type <= 21; ++type) {
    if (type == 9 || type == 14) continue;
    EXPECT_THAT(Parse(type, 0, one).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no room")))
        << type;
  }
}

TEST(RecordDamageTest, RejectsGroupsOfTooManyValues) {
  Attributes attributes = WithIds(0);
  attributes.read_format = read_format::kGroup | read_format::kId;
  for (const uint64_t count : {uint64_t{3}, uint64_t{1} << 60, ~uint64_t{0}}) {
    ExpectNoRoom(
        {RecordOf(
             8, 0,
             ByteBuilder().U64(0).U64(count).Raw(std::string(40, 'x')).Build()),
         attributes},
        "values");
  }
}

TEST(RecordDamageTest, RejectsTooManyNamespaces) {
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 60, ~uint64_t{0}}) {
    ExpectNoRoom(
        Parse(16, 0, ByteBuilder().U64(0).U64(count).U64(1).U64(2).U64(3)),
        "namespaces");
  }
}

TEST(RecordDamageTest, RejectsTextBeyondTheBody) {
  ExpectNoRoom(
      Parse(20, 0, ByteBuilder().U64(1).U16(4).U16(0xFFFF).Raw("12345678")),
      "new bytes");
}

TEST(RecordDamageTest, SamplesAreNoOtherRecords) {
  const RecordParser parser((RecordLayout(Attributes())));
  const std::string bytes = RecordOf(13, 0, ByteBuilder().U64(5).Build());
  Sample sample;
  EXPECT_THAT(parser.ParseSample(*RawRecord::FromBytes(bytes), &sample),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("13")));
}

void ExpectMissing(const ParsedSample& sample, absl::string_view what) {
  EXPECT_THAT(sample.status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(absl::StrCat("no room for its ", what))));
}

TEST(SampleDamageTest, RejectsFieldsThatDoNotFit) {
  const uint64_t kHuge[] = {2, uint64_t{1} << 32, uint64_t{1} << 61,
                            std::numeric_limits<uint64_t>::max() - 6,
                            std::numeric_limits<uint64_t>::max()};
  Attributes group = Sampling(sample::kRead);
  group.read_format = read_format::kGroup;
  for (const uint64_t count : kHuge) {
    const ByteBuilder body = ByteBuilder().U64(count).U64(1);
    ExpectMissing({Sampling(sample::kCallchain), body}, "call chain");
    ExpectMissing({group, body}, "values");
    ExpectMissing({SamplingBranches(0), body}, "branch stack");
    if (count == 2) continue;
    ExpectMissing({Sampling(sample::kAux), body}, "AUX data");
    ExpectMissing({Sampling(sample::kStackUser), body}, "user stack");
  }
  ExpectMissing({Sampling(sample::kRaw), ByteBuilder().U32(0xFFFFFFFF).U32(0)},
                "raw data");
  Attributes registers = Sampling(sample::kRegsUser);
  registers.sample_regs_user = ~uint64_t{0};
  ExpectMissing({registers, ByteBuilder().U64(2).U64(1)}, "user registers");
  ExpectMissing({Sampling(sample::kIp | sample::kTid), ByteBuilder().U64(1)},
                "fields of fixed size");
  for (const uint64_t field :
       {sample::kCallchain, sample::kRaw, sample::kBranchStack,
        sample::kRegsUser, sample::kStackUser, sample::kWeight,
        sample::kDataSource, sample::kRegsIntr, sample::kCgroup, sample::kAux,
        sample::kRead}) {
    EXPECT_THAT(ParsedSample(Sampling(field), ByteBuilder()).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no room")));
  }
}

// No count makes the parser allocate: at most the text of the error.
TEST(SampleDamageTest, HugeCountsAllocateNothing) {
  const Attributes attributes = Sampling(sample::kCallchain);
  const RecordParser parser((RecordLayout(attributes)));
  const std::string bytes =
      RecordOf(9, 0, ByteBuilder().U64(uint64_t{1} << 61).U64(1).Build());
  const RawRecord raw = *RawRecord::FromBytes(bytes);
  Sample sample;
  const size_t before = AllocatedBytes();
  const absl::Status status = parser.ParseSample(raw, &sample);
  EXPECT_LT(AllocatedBytes() - before, 1024u);
  EXPECT_FALSE(status.ok());
}

TEST(SampleDamageTest, ParsingAllocatesNothing) {
  const RecordParser parser(
      RecordLayout(Sampling(sample::kIp | sample::kCallchain)));
  const std::string bytes =
      RecordOf(9, 0, ByteBuilder().U64(1).U64(2).U64(3).U64(4).Build());
  const RawRecord raw = *RawRecord::FromBytes(bytes);
  Record record;
  const size_t before = AllocatedBytes();
  const absl::Status status = parser.Parse(raw, &record);
  EXPECT_EQ(AllocatedBytes() - before, 0u);
  EXPECT_OK(status);
}

}  // namespace
}  // namespace fleetperf::perf_event
