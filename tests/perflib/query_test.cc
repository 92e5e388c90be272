#include "perflib/query.h"

#include <string>
#include <vector>

#include "tests/support/byte_builder.h"
#include "tests/support/guids.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using testing::FromHex;
using ::testing::IsEmpty;
using testing::kGuid;
using testing::kGuidHex;
using testing::StatusIs;
using testing::WithU32;

const CounterIdentifier kSingleInstance = {.counterset = kGuid,
                                           .counter_id = 26,
                                           .instance = "",
                                           .instance_id = 0,
                                           .status = 4202,
                                           .index = 3};
const CounterIdentifier kAllInstances = {.counterset = kGuid, .instance = "*"};

// The two identifiers above: 40 and 48 bytes.
std::string IdentifierBytes() {
  return FromHex(kGuidHex) +
         // Status, Size, CounterId, InstanceId, Index, Reserved
         FromHex("6a100000 28000000 1a000000 00000000 03000000 00000000") +
         FromHex(kGuidHex) +
         FromHex("00000000 30000000 ffffffff ffffffff 00000000 00000000") +
         FromHex("2a00 0000 00000000");  // "*", NUL, padding
}

TEST(CounterIdentifiers, AreWrittenByteByByte) {
  EXPECT_EQ(WriteCounterIdentifiers({kSingleInstance, kAllInstances}),
            IdentifierBytes());
  EXPECT_EQ(WriteCounterIdentifiers({}), "");
}

TEST(CounterIdentifiers, AreReadBackToBack) {
  ASSERT_OK_AND_ASSIGN(const auto identifiers,
                       ReadCounterIdentifiers(IdentifierBytes()));
  EXPECT_THAT(identifiers, ElementsAre(kSingleInstance, kAllInstances));
  ASSERT_OK_AND_ASSIGN(const auto none, ReadCounterIdentifiers(""));
  EXPECT_THAT(none, IsEmpty());
}

TEST(CounterIdentifiers, RoundTripNamesOfEveryLength) {
  std::vector<CounterIdentifier> identifiers;
  for (uint32_t length = 0; length < 10; ++length) {
    identifiers.push_back({.counterset = kGuid,
                           .counter_id = length,
                           .instance = std::string(length, 'x') + "\u20AC"});
  }
  const std::string bytes = WriteCounterIdentifiers(identifiers);
  EXPECT_EQ(bytes.size() % 8, 0);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadCounterIdentifiers(bytes));
  EXPECT_EQ(read, identifiers);
}

TEST(CounterIdentifiers, AreRejectedIfASizeIsInvalid) {
  const std::string good = IdentifierBytes();
  ASSERT_EQ(good.size(), 88);
  constexpr size_t kFirstSize = 20;
  constexpr size_t kSecondSize = 60;
  const struct {
    std::string bytes;
    const char* error;
  } kCases[] = {
      {good.substr(0, 39),
       "offset 0: PERF_COUNTER_IDENTIFIER needs 40 bytes, 39 remain"},
      {good.substr(0, 41),
       "offset 40: PERF_COUNTER_IDENTIFIER needs 40 bytes, 1 remain"},
      {WithU32(good, kFirstSize, 39),
       "offset 0: PERF_COUNTER_IDENTIFIER.Size is 39, "
       "it must be at least 40"},
      {WithU32(good, kFirstSize, 0),
       "offset 0: PERF_COUNTER_IDENTIFIER.Size is 0, it must be at least 40"},
      {WithU32(good, kSecondSize, 49),
       "offset 40: PERF_COUNTER_IDENTIFIER.Size is 49, "
       "it must be at most 48"},
      {WithU32(good, kSecondSize, 0xFFFFFFFF),
       "offset 40: PERF_COUNTER_IDENTIFIER.Size is 4294967295, "
       "it must be at most 48"},
      {WithU32(good.substr(0, 83), kSecondSize, 43),  // half of the NUL
       "offset 40: PERF_COUNTER_IDENTIFIER's name has no NUL within its 3 "
       "bytes"},
      {WithU32(good, 80, 0x00780078).replace(84, 4, "xxxx"),
       "offset 40: PERF_COUNTER_IDENTIFIER's name has no NUL within its 8 "
       "bytes"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(ReadCounterIdentifiers(test.bytes),
                StatusIs(absl::StatusCode::kInvalidArgument, test.error));
  }
}

// "C:" with id 3, and the empty name with id 4.
std::string InstanceBytes() {
  return FromHex(
      "10000000 03000000 43003a00 00000000"
      "10000000 04000000 0000 000000000000");
}

TEST(InstanceList, IsWrittenByteByByte) {
  EXPECT_EQ(WriteInstanceList({{"C:", 3}, {"", 4}}), InstanceBytes());
  EXPECT_EQ(WriteInstanceList({}), "");
}

TEST(InstanceList, IsReadBackToBack) {
  ASSERT_OK_AND_ASSIGN(const auto instances, ReadInstanceList(InstanceBytes()));
  EXPECT_THAT(instances,
              ElementsAre(InstanceName{"C:", 3}, InstanceName{"", 4}));
  ASSERT_OK_AND_ASSIGN(const auto none, ReadInstanceList(""));
  EXPECT_THAT(none, IsEmpty());
}

TEST(InstanceList, RoundTripsNamesOfEveryLength) {
  std::vector<InstanceName> instances;
  for (uint32_t length = 0; length < 10; ++length)
    instances.push_back({std::string(length, 'x') + "\U0001D11E", length});
  const std::string bytes = WriteInstanceList(instances);
  EXPECT_EQ(bytes.size() % 8, 0);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadInstanceList(bytes));
  EXPECT_EQ(read, instances);
}

TEST(InstanceList, IsRejectedIfASizeIsInvalid) {
  const std::string good = InstanceBytes();
  const struct {
    std::string bytes;
    const char* error;
  } kCases[] = {
      {good.substr(0, 23),
       "offset 16: PERF_INSTANCE_HEADER needs 8 bytes, 7 remain"},
      {WithU32(good, 0, 7),
       "offset 0: PERF_INSTANCE_HEADER.Size is 7, it must be at least 8"},
      {WithU32(good, 16, 17),
       "offset 16: PERF_INSTANCE_HEADER.Size is 17, it must be at most 16"},
      {WithU32(good, 16, 0xFFFFFFFF),
       "offset 16: PERF_INSTANCE_HEADER.Size is 4294967295, "
       "it must be at most 16"},
      {WithU32(good, 0, 8),
       "offset 0: PERF_INSTANCE_HEADER's name has no NUL within its 0 bytes"},
      {WithU32(good, 0, 13),
       "offset 0: PERF_INSTANCE_HEADER's name has no NUL within its 5 bytes"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(ReadInstanceList(test.bytes),
                StatusIs(absl::StatusCode::kInvalidArgument, test.error));
  }
}

TEST(InstanceList, SurvivesTruncationAnywhere) {
  const std::string good = InstanceBytes() + InstanceBytes();
  for (size_t size = 0; size <= good.size(); ++size) {
    EXPECT_EQ(ReadInstanceList(good.substr(0, size)).ok(), size % 16 == 0);
  }
}

}  // namespace
}  // namespace fleetperf::perflib
