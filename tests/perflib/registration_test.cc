#include "perflib/registration.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/byte_builder.h"
#include "tests/support/guids.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using testing::ByteBuilder;
using ::testing::ElementsAre;
using testing::FromHex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kGuid;
using ::testing::Pair;
using testing::StatusIs;
using testing::WithU32;

// % Processor Utility and its base, as registered by Windows, and a counter
// with a different value in every field.
CountersetRegistration ProcessorInformation() {
  return {.guid = kGuid,
          .detail_level = 100,
          .instance_type = 6,
          .counters = {
              {.counter_id = 26, .type = 0x40020500, .base_counter_id = 27},
              {.counter_id = 27, .type = 0x40030402, .attrib = 2},
              {.counter_id = 1,
               .type = 2,
               .attrib = 0x0807060504030201,
               .detail_level = 200,
               .default_scale = -2,
               .base_counter_id = 3,
               .perf_time_id = 4,
               .perf_freq_id = 5,
               .multi_id = 6,
               .aggregate_function = 7},
          }};
}

constexpr char kThirdCounterHex[] =
    "01000000 02000000 0102030405060708 c8000000 feffffff"
    "03000000 04000000 05000000 06000000 07000000 00000000";

std::string ProcessorInformationBytes() {
  return FromHex(testing::kGuidHex) +
         FromHex(
             // CounterSetType, DetailLevel, NumCounters, InstanceType
             "00000000 64000000 03000000 06000000"
             // CounterId, Type, Attrib, DetailLevel, DefaultScale
             "1a000000 00050240 0000000000000000 64000000 00000000"
             // Base, PerfTime, PerfFreq, Multi, AggregateFunc, Reserved
             "1b000000 ffffffff ffffffff ffffffff 00000000 00000000"
             "1b000000 02040340 0200000000000000 64000000 00000000"
             "ffffffff ffffffff ffffffff ffffffff 00000000 00000000") +
         FromHex(kThirdCounterHex);
}

TEST(CountersetStruct, IsWrittenByteByByte) {
  EXPECT_EQ(WriteCountersetStruct(ProcessorInformation()),
            ProcessorInformationBytes());
  EXPECT_EQ(WriteCounterStruct(ProcessorInformation().counters[2]),
            FromHex(kThirdCounterHex));
}

TEST(CountersetStruct, IsReadAsItWasWritten) {
  ASSERT_OK_AND_ASSIGN(const CountersetRegistration registration,
                       ReadCountersetStruct(ProcessorInformationBytes()));
  EXPECT_TRUE(registration == ProcessorInformation());
  EXPECT_TRUE(registration.HasInstances());
  ASSERT_NE(registration.FindCounter(27), nullptr);
  EXPECT_EQ(registration.FindCounter(27)->type, 0x40030402);
  EXPECT_EQ(registration.FindCounter(28), nullptr);

  ASSERT_OK_AND_ASSIGN(const CounterRegistration counter,
                       ReadCounterStruct(FromHex(kThirdCounterHex)));
  EXPECT_TRUE(counter == ProcessorInformation().counters[2]);
}

TEST(CountersetStruct, KnowsWhichInstanceTypesHaveInstances) {
  for (const uint32_t type : {2, 6, 22}) {
    EXPECT_TRUE(CountersetRegistration{.instance_type = type}.HasInstances());
  }
  for (const uint32_t type : {0, 4, 12}) {
    EXPECT_FALSE(CountersetRegistration{.instance_type = type}.HasInstances());
  }
}

TEST(CountersetStruct, IsReadUpToItsOwnCount) {
  const std::string good = ProcessorInformationBytes();
  ASSERT_OK_AND_ASSIGN(const auto followed, ReadCountersetStruct(good + "xyz"));
  EXPECT_EQ(followed.counters.size(), 3);
  ASSERT_OK_AND_ASSIGN(const auto fewer,
                       ReadCountersetStruct(WithU32(good, 24, 1)));
  EXPECT_EQ(fewer.counters.size(), 1);
  ASSERT_OK_AND_ASSIGN(const auto none,
                       ReadCountersetStruct(WithU32(good, 24, 0)));
  EXPECT_THAT(none.counters, IsEmpty());
}

TEST(CountersetStruct, IsRejectedIfOutOfBounds) {
  const std::string good = ProcessorInformationBytes();
  const struct {
    std::string bytes;
    const char* error;
  } kCases[] = {
      {"", "offset 0: PERF_COUNTERSET_REG_INFO needs 32 bytes, 0 remain"},
      {good.substr(0, 31),
       "offset 0: PERF_COUNTERSET_REG_INFO needs 32 bytes, 31 remain"},
      {WithU32(good, 24, 4),
       "offset 0: PERF_COUNTERSET_REG_INFO.NumCounters is 4, "
       "it must be at most 3"},
      {good.substr(0, good.size() - 1),
       "offset 0: PERF_COUNTERSET_REG_INFO.NumCounters is 3, "
       "it must be at most 2"},
      {WithU32(good, 24, 0xFFFFFFFF),
       "offset 0: PERF_COUNTERSET_REG_INFO.NumCounters is 4294967295, "
       "it must be at most 3"},
      {WithU32(good, 24, 0x10000000),  // times 48 it is 0 in 32 bits
       "offset 0: PERF_COUNTERSET_REG_INFO.NumCounters is 268435456, "
       "it must be at most 3"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(ReadCountersetStruct(test.bytes),
                StatusIs(absl::StatusCode::kInvalidArgument, test.error));
  }
  EXPECT_THAT(
      ReadCounterStruct(good.substr(0, 47)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "offset 0: PERF_COUNTER_REG_INFO needs 48 bytes, 47 remain"));
}

TEST(RegistrationString, EndsAtItsNul) {
  EXPECT_EQ(WriteString("C:\u00E9"), FromHex("4300 3a00 e900 0000"));
  EXPECT_EQ(WriteString(""), FromHex("0000"));
  EXPECT_EQ(ReadString(FromHex("4300 3a00 e900 0000 7800")).value(),
            "C:\u00E9");
  EXPECT_EQ(ReadString(FromHex("0000")).value(), "");
  const struct {
    const char* bytes;
    const char* error;
  } kCases[] = {
      {"", "offset 0: string has no NUL within its 0 bytes"},
      {"4300 3a00 00", "offset 0: string has no NUL within its 5 bytes"},
      {"4300 0041", "offset 0: string has no NUL within its 4 bytes"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(ReadString(FromHex(test.bytes)),
                StatusIs(absl::StatusCode::kInvalidArgument, test.error));
  }
}

TEST(RegistrationGuid, IsThe16BytesOfAWindowsGuid) {
  const std::string bytes = FromHex(testing::kGuidHex);
  EXPECT_EQ(WriteGuid(kGuid), bytes);
  EXPECT_EQ(ReadGuid(bytes).value(), kGuid);
  EXPECT_EQ(ReadGuid(bytes + "xyz").value(), kGuid);
  EXPECT_THAT(ReadGuid(bytes.substr(0, 15)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "offset 0: GUID needs 16 bytes, 15 remain"));
}

using Strings = std::vector<std::pair<uint32_t, std::string>>;

Strings ToPairs(const std::vector<CounterString>& strings) {
  Strings pairs;
  for (const CounterString& string : strings)
    pairs.emplace_back(string.counter_id, string.text);
  return pairs;
}

// Counter 26 is "ab", 27 has no name, 28 is "c". Offsets are relative to the
// start of the buffer: 8 bytes of header and 3 times 8 of entries make 32.
std::string StringBufferBytes() {
  return FromHex(
      "2a000000 03000000"
      "1a000000 20000000  1b000000 ffffffff  1c000000 26000000"
      "6100 6200 0000 6300 0000");
}

TEST(StringBuffer, IsWrittenByteByByte) {
  EXPECT_EQ(WriteStringBuffer({{26, "ab"}, {27, ""}, {28, "c"}}),
            StringBufferBytes());
  EXPECT_EQ(WriteStringBuffer({}), FromHex("08000000 00000000"));
}

TEST(StringBuffer, IsReadWithoutTheEntriesThatHaveNoString) {
  ASSERT_OK_AND_ASSIGN(const auto strings,
                       ReadStringBuffer(StringBufferBytes()));
  EXPECT_THAT(ToPairs(strings), ElementsAre(Pair(26, "ab"), Pair(28, "c")));
  ASSERT_OK_AND_ASSIGN(const auto followed,
                       ReadStringBuffer(StringBufferBytes() + "xyz"));
  EXPECT_THAT(ToPairs(followed), ElementsAre(Pair(26, "ab"), Pair(28, "c")));
}

TEST(StringBuffer, LetsStringsOverlap) {
  // The string of 28 is the end of that of 26.
  ASSERT_OK_AND_ASSIGN(const auto strings,
                       ReadStringBuffer(WithU32(StringBufferBytes(), 28, 34)));
  EXPECT_THAT(ToPairs(strings), ElementsAre(Pair(26, "ab"), Pair(28, "b")));
}

TEST(StringBuffer, IsRejectedIfOutOfBounds) {
  const std::string good = StringBufferBytes();
  ASSERT_EQ(good.size(), 42);
  constexpr size_t kFirstOffset = 12;
  const struct {
    std::string bytes;
    const char* error;
  } kCases[] = {
      {good.substr(0, 7),
       "offset 0: PERF_STRING_BUFFER_HEADER needs 8 bytes, 7 remain"},
      {WithU32(good, 0, 7),
       "offset 0: PERF_STRING_BUFFER_HEADER.dwSize is 7, "
       "it must be at least 8"},
      {WithU32(good, 0, 43),
       "offset 0: PERF_STRING_BUFFER_HEADER.dwSize is 43, "
       "it must be at most 42"},
      {WithU32(good, 4, 5),
       "offset 0: PERF_STRING_BUFFER_HEADER.dwCounters is 5, "
       "it must be at most 4"},
      {WithU32(good, 4, 0x20000000),  // times 8 it is 0 in 32 bits
       "offset 0: PERF_STRING_BUFFER_HEADER.dwCounters is 536870912, "
       "it must be at most 4"},
      {WithU32(good, 0, 31),
       "offset 0: PERF_STRING_BUFFER_HEADER.dwCounters is 3, "
       "it must be at most 2"},
      {WithU32(good, kFirstOffset, 43),
       "offset 8: PERF_STRING_COUNTER_HEADER.dwOffset is 43, "
       "it must be at most 42"},
      {WithU32(good, kFirstOffset, 0xFFFFFFFE),
       "offset 8: PERF_STRING_COUNTER_HEADER.dwOffset is 4294967294, "
       "it must be at most 42"},
      {WithU32(good, kFirstOffset, 42),
       "offset 42: PERF_STRING_COUNTER_HEADER's string has no NUL within its 0 "
       "bytes"},
      {WithU32(good, kFirstOffset, 41),
       "offset 41: PERF_STRING_COUNTER_HEADER's string has no NUL within its 1 "
       "bytes"},
      // The NUL is beyond dwSize.
      {WithU32(good, 0, 40),
       "offset 38: PERF_STRING_COUNTER_HEADER's string has no NUL within its 2 "
       "bytes"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(ReadStringBuffer(test.bytes),
                StatusIs(absl::StatusCode::kInvalidArgument, test.error));
  }
}

// `entries` entries that all refer to one string of `length` letters.
std::string OverlappingStrings(uint32_t entries, size_t length) {
  const uint32_t text = 8 + 8 * entries;
  ByteBuilder buffer;
  buffer.U32(text + 2 * static_cast<uint32_t>(length + 1)).U32(entries);
  for (uint32_t i = 0; i < entries; ++i) buffer.U32(i).U32(text);
  return buffer.Ascii(std::string(length, 'x')).U16(0).Build();
}

TEST(StringBuffer, LimitsTheSizeOfTheResult) {
  // Counters that share a help text are like this.
  EXPECT_OK(ReadStringBuffer(OverlappingStrings(3, 1000)));
  // 2,000 times 4,000 bytes.
  EXPECT_THAT(ReadStringBuffer(OverlappingStrings(2000, 2000)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("PERF_STRING_COUNTER_HEADER")));
}

TEST(CanonicalBytes, ChangeWithTheMeaningOfRawValues) {
  using Change = std::function<void(CountersetRegistration&)>;
  const std::pair<const char*, Change> kChanges[] = {
      {"guid", [](auto& r) { r.guid.data1 = 1; }},
      {"name", [](auto& r) { r.name = "x"; }},
      {"instance type", [](auto& r) { r.instance_type = 0; }},
      {"counter id", [](auto& r) { r.counters[0].counter_id = 99; }},
      {"type", [](auto& r) { r.counters[0].type = 0x10410500; }},
      {"attributes", [](auto& r) { r.counters[0].attrib = 1; }},
      {"scale", [](auto& r) { r.counters[0].default_scale = 1; }},
      {"base", [](auto& r) { r.counters[0].base_counter_id = 1; }},
      {"time", [](auto& r) { r.counters[0].perf_time_id = 1; }},
      {"frequency", [](auto& r) { r.counters[0].perf_freq_id = 1; }},
      {"multi", [](auto& r) { r.counters[0].multi_id = 1; }},
      {"counter name", [](auto& r) { r.counters[1].name = "x"; }},
      {"order", [](auto& r) { std::swap(r.counters[0], r.counters[1]); }},
      {"count", [](auto& r) { r.counters.pop_back(); }},
      {"aggregates", [](auto& r) { r.aggregates = {"x"}; }},
      {"names moved",
       [](auto& r) {
         r.name = "";
         r.counters[0].name = "name";
       }},
  };
  CountersetRegistration original = ProcessorInformation();
  original.name = "name";
  for (const auto& [what, change] : kChanges) {
    CountersetRegistration changed = original;
    change(changed);
    EXPECT_NE(changed.CanonicalBytes(), original.CanonicalBytes()) << what;
  }
}

TEST(CanonicalBytes, IgnoreDisplayTexts) {
  const CountersetRegistration original = ProcessorInformation();
  CountersetRegistration changed = original;
  changed.help = "x";
  changed.provider_name = "x";
  changed.counters[0].help = "x";
  EXPECT_EQ(changed.CanonicalBytes(), original.CanonicalBytes());
}

}  // namespace
}  // namespace fleetperf::perflib
