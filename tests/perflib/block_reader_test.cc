#include "perflib/block_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/perflib/parsed_block.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/block_bytes.h"
#include "tests/support/byte_builder.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using enum Defect::Problem;
using testing::Block;
using testing::BlockOfEverything;
using testing::ByteBuilder;
using testing::CounterIds;
using testing::CountersetBody;
using testing::FromHex;
using testing::Instance;
using testing::InstanceList;
using testing::InstanceNamed;
using testing::kCounters;
using testing::kError;
using testing::kInstances;
using testing::kSet;
using testing::kSingle;
using testing::Parsed;
using testing::Result;
using testing::StatusIs;
using testing::Value;
using testing::Value32;
using testing::Value64;
using testing::WithU32;

// A block's bytes, from Microsoft's documentation.
TEST(BlockReader, ReadsABlockByteByByte) {
  const Parsed block(FromHex(
      "50000000 01000000"                  // dwTotalSize, dwNumCounters
      "efcdab8967452301 fea30f7d3850dd01"  // PerfTimeStamp, PerfTime100NSec
      "8096980000000000"                   // PerfFreq
      "ea07 0900 0200 1d00 1100 2000 1700 f302"  // SystemTime
      "00000000 01000000 20000000 00000000"      // status, type, size
      "08000000 10000000 8877665544332211"));    // dwDataSize, dwSize, value
  EXPECT_EQ(block.clocks(), (Clocks{.perf_time_stamp = 0x0123456789ABCDEF,
                                    .perf_time_100nsec = 134351767437550590,
                                    .perf_freq = 10000000}));
  const SystemTime& time = block.header.system_time;
  EXPECT_THAT((std::vector<int>{time.year, time.month, time.day_of_week,
                                time.day, time.hour, time.minute, time.second,
                                time.milliseconds}),
              ElementsAre(2026, 9, 2, 29, 17, 32, 23, 755));
  EXPECT_THAT(block.Results(), ElementsAre("1 at 48: 1234605616436508552/8"));
  EXPECT_EQ(block.defect_count, 0);
  EXPECT_EQ(block.warning_count, 0);
}

TEST(BlockReader, ReadsEveryTypeOfResultInOneBlock) {
  const Parsed block(BlockOfEverything());
  EXPECT_THAT(block.Messages(), IsEmpty());
  EXPECT_EQ(block.warning_count, 0);
  EXPECT_THAT(block.Results(),
              ElementsAre("0 at 48: status 232", "1 at 64: 4294967295/4",
                          "2 at 96: ids 1 2 8; 18446744073709551615/8 5/4 0/3",
                          "4 at 184: C: (3) = 30/8  (4) = 40/8",
                          "6 at 272: ids 7 9; 0,0 (1) = 10/8 11/4 "
                          "0,_Total (2) = 20/8 21/4"));
}

TEST(BlockReader, ReadsEmptyLists) {
  EXPECT_EQ(Parsed(Block({})).defect_count, 0);
  const Parsed block(
      Block({Result(kCounters, CounterIds({})),
             Result(kInstances, InstanceList(0, "")),
             Result(kSet, CounterIds({}) + InstanceList(1, Instance("a", 0))),
             Result(kSet, CounterIds({1}) + InstanceList(0, ""))}));
  EXPECT_THAT(block.Messages(), IsEmpty());
  EXPECT_THAT(
      block.Results(),
      ElementsAre("2 at 48:", "4 at 72:", "6 at 96:", "6 at 144: ids 1;"));
  EXPECT_THAT(block.instances, SizeIs(1));
}

TEST(BlockReader, KeepsTheStatusOfAResultThatHasValues) {
  EXPECT_THAT(Parsed(Block({Result(kSingle, Value32(1), 4201)})).Results(),
              ElementsAre("1 at 48: 1/4 status 4201"));
}

TEST(BlockReader, ReadsFromAnyAddress) {
  const std::string bytes = Block({Result(kSet, CountersetBody())});
  for (size_t shift = 0; shift < 8; ++shift) {
    SCOPED_TRACE(shift);
    std::vector<uint64_t> memory(bytes.size() / 8 + 2);
    char* start = reinterpret_cast<char*>(memory.data()) + shift;
    std::memcpy(start, bytes.data(), bytes.size());
    ParsedBlock block;
    ReadBlock(absl::string_view(start, bytes.size()), &block);
    ASSERT_EQ(block.defect_count, 0);
    EXPECT_THAT(block.values, ElementsAre(10, 11, 20, 21));
  }
}

TEST(BlockReader, ReplacesPreviousContents) {
  const std::string bad =
      Block({Result(3, ""), Result(kSet, CountersetBody() + "leftover")});
  const std::string good = Block({Result(kSingle, Value32(5))});
  ParsedBlock block;
  ReadBlock(bad, &block);
  ReadBlock(good, &block);
  EXPECT_THAT(block.results, SizeIs(1));
  EXPECT_THAT(block.values, ElementsAre(5));
  EXPECT_THAT(block.value_sizes, ElementsAre(4));
  EXPECT_THAT(block.counter_ids, IsEmpty());
  EXPECT_THAT(block.instances, IsEmpty());
  EXPECT_THAT(block.defects, IsEmpty());
  EXPECT_EQ(block.defect_count + block.warning_count, 0);
  EXPECT_TRUE(block.has_header);

  ReadBlock("", &block);
  EXPECT_FALSE(block.has_header);
  EXPECT_THAT(block.results, IsEmpty());
  EXPECT_EQ(block.clocks(), Clocks());
}

TEST(Defect, NamesStructureFieldOffsetValueAndLimit) {
  const struct {
    Defect::Problem problem;
    const char* text;
  } kCases[] = {
      {kTruncated, "offset 48: A.b needs 7 bytes, 9 remain"},
      {kTooSmall, "offset 48: A.b is 7, it must be at least 9"},
      {kTooLarge, "offset 48: A.b is 7, it must be at most 9"},
      {kUnknown, "offset 48: A.b is 7, which is unknown"},
      {kNegative, "offset 48: A.b is 7, it must be at least 9"},
      {kContradicted, "offset 48: A.b is 7, but the type says 9"},
      {kUnterminated, "offset 48: A.b has no NUL within its 9 bytes"},
      {Defect::Problem::kUnaligned,
       "offset 48: A.b is 7, which is no multiple of 9"},
      {Defect::Problem::kUnused, "offset 48: A.b leaves 7 bytes unused"},
  };
  for (const auto& test : kCases) {
    const Defect defect = {test.problem, "A.b", 48, 7, 9};
    EXPECT_EQ(defect.ToString(), test.text);
    EXPECT_THAT(defect.ToStatus(),
                StatusIs(absl::StatusCode::kInvalidArgument, test.text));
  }
}

constexpr uint32_t kHuge = 0xFFFFFFFF;

TEST(BlockReader, RejectsInvalidHeaders) {
  const std::string good = Block({Result(kSingle, Value64(1))});
  ASSERT_EQ(good.size(), 80);
  const struct {
    std::string bytes;
    const char* defect;
  } kCases[] = {
      {"", "PERF_DATA_HEADER needs 48 bytes, 0 remain"},
      {good.substr(0, 47), "PERF_DATA_HEADER needs 48 bytes, 47 remain"},
      {WithU32(good, 0, 47),
       "PERF_DATA_HEADER.dwTotalSize is 47, it must be at least 48"},
      {WithU32(good, 0, 81),
       "PERF_DATA_HEADER.dwTotalSize is 81, it must be at most 80"},
      {WithU32(good, 0, kHuge),
       "PERF_DATA_HEADER.dwTotalSize is 4294967295, it must be at most 80"},
  };
  for (const auto& test : kCases) {
    const Parsed block(test.bytes);
    EXPECT_THAT(block.Messages(),
                ElementsAre(std::string("offset 0: ") + test.defect));
    EXPECT_FALSE(block.has_header);
    EXPECT_THAT(block.results, IsEmpty());
  }
}

TEST(BlockReader, IgnoresBytesBeyondTheTotalSize) {
  const Parsed block(Block({Result(kSingle, Value64(1))}) + "what follows");
  EXPECT_THAT(block.values, ElementsAre(1));
  EXPECT_EQ(block.defect_count, 0);
  EXPECT_EQ(block.warning_count, 0);
}

TEST(BlockReader, KeepsTheResultsBeforeOneWhoseEndIsUncertain) {
  // At 48, 80 and 112.
  const std::string good =
      Block({Result(kSingle, Value64(1)), Result(kSingle, Value64(2)),
             Result(kSingle, Value64(3))});
  const struct {
    size_t field;
    uint32_t value;
    const char* defect;
  } kCases[] = {
      {88, 15, "PERF_COUNTER_HEADER.dwSize is 15, it must be at least 16"},
      {88, 0, "PERF_COUNTER_HEADER.dwSize is 0, it must be at least 16"},
      {88, 65, "PERF_COUNTER_HEADER.dwSize is 65, it must be at most 64"},
      {88, kHuge,
       "PERF_COUNTER_HEADER.dwSize is 4294967295, it must be at most 64"},
      // The total size ends within the second header, or before it.
      {0, 95, "PERF_COUNTER_HEADER needs 16 bytes, 15 remain"},
      {0, 80, "PERF_COUNTER_HEADER needs 16 bytes, 0 remain"},
  };
  for (const auto& test : kCases) {
    const Parsed block(WithU32(good, test.field, test.value));
    EXPECT_THAT(block.Messages(),
                ElementsAre(std::string("offset 80: ") + test.defect));
    EXPECT_THAT(block.values, ElementsAre(1));
  }
}

TEST(BlockReader, ReportsMissingResults) {
  const std::string good = Block({Result(kSingle, Value64(1))});
  for (const uint32_t count : {2u, kHuge}) {
    const Parsed block(WithU32(good, 4, count));
    EXPECT_EQ(block.defect_count, 1);
    EXPECT_THAT(block.values, ElementsAre(1));
  }
}

// Places a broken result between two good ones, at offset 80, with its body at
// 96. Only the broken part may be lost: of its values 5 and 6, the first
// `num_values` can be read.
void ExpectOneDefect(const std::string& broken, const Defect& defect,
                     size_t num_values) {
  SCOPED_TRACE(defect.ToString());
  const Parsed block(Block(
      {Result(kSingle, Value64(1)), broken, Result(kSingle, Value64(2))}));
  EXPECT_THAT(block.Messages(), ElementsAre(defect.ToString()));
  const std::vector<std::string> results = block.Results();
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(results[0], "1 at 48: 1/8");
  EXPECT_THAT(results[1], EndsWith(" broken"));
  EXPECT_THAT(results[2], EndsWith(": 2/8"));
  EXPECT_EQ(block.Values(block.results[1]),
            absl::MakeConstSpan({uint64_t{5}, uint64_t{6}}).first(num_values));
}

TEST(BlockReader, RejectsOutOfBoundsFieldsAndReadsTheOtherQueries) {
  const std::string single = Result(kSingle, Value64(5));
  const std::string ids =
      Result(kCounters, CounterIds({1, 2}) + Value64(5) + Value64(6));
  // "a" is at 104 and its value at 120, "b" at 136 and its value at 152.
  const std::string list =
      Result(kInstances, InstanceList(2, Instance("a", 0) + Value64(5) +
                                             Instance("b", 0) + Value64(6)));
  // A list that ends after "a" although the result continues.
  const std::string short_list = WithU32(list, 16, 40);
  const struct {
    std::string good;
    size_t field;  // the field to change, relative to the PERF_COUNTER_HEADER
    Defect::Problem problem;
    const char* what;
    size_t offset;
    uint32_t limit;
    size_t num_values = 0;
  } kCases[] = {
      {ids, 16, kTooSmall, "PERF_MULTI_COUNTERS.dwSize", 96, 8},
      {ids, 16, kTooLarge, "PERF_MULTI_COUNTERS.dwSize", 96, 48},
      {ids, 20, kTooLarge, "PERF_MULTI_COUNTERS.dwCounters", 96, 2},
      {list, 16, kTooSmall, "PERF_MULTI_INSTANCES.dwTotalSize", 96, 8},
      {list, 16, kTooLarge, "PERF_MULTI_INSTANCES.dwTotalSize", 96, 72},
      {list, 24, kTooSmall, "PERF_INSTANCE_HEADER.Size", 104, 8},
      {list, 56, kTooLarge, "PERF_INSTANCE_HEADER.Size", 136, 32, 1},
      {short_list, 24, kTooLarge, "PERF_INSTANCE_HEADER.Size", 104, 32},
      {single, 20, kTooSmall, "PERF_COUNTER_DATA.dwSize", 96, 8},
      {single, 20, kTooLarge, "PERF_COUNTER_DATA.dwSize", 96, 16},
      {list, 76, kTooLarge, "PERF_COUNTER_DATA.dwSize", 152, 16, 1},
      {short_list, 44, kTooLarge, "PERF_COUNTER_DATA.dwSize", 120, 16},
  };
  for (const auto& test : kCases) {
    // 0x40000000 times 4, or 0x20000000 times 8, is 0 in 32 bits.
    const std::vector<uint32_t> wrong =
        test.problem == kTooSmall
            ? std::vector<uint32_t>{test.limit - 1, 0}
            : std::vector<uint32_t>{test.limit + 1, 0x20000000 + test.limit,
                                    0x40000000, kHuge};
    for (const uint32_t value : wrong) {
      ExpectOneDefect(WithU32(test.good, test.field, value),
                      {test.problem, test.what, test.offset, value, test.limit},
                      test.num_values);
    }
  }
}

TEST(BlockReader, RejectsUnknownTypesOfResults) {
  for (const uint32_t type : {3u, 5u, 7u, 8u, kHuge}) {
    ExpectOneDefect(Result(type, Value64(5)),
                    {kUnknown, "PERF_COUNTER_HEADER.dwType", 80, type, 0}, 0);
  }
}

TEST(BlockReader, RejectsTruncatedStructuresAndReadsTheOtherQueries) {
  const std::string one = Instance("a", 0) + Value64(5);
  const std::string odd(7, '\0');
  const struct {
    std::string broken;
    const char* what;
    size_t offset;
    uint64_t needed;
    uint64_t remain;
    size_t num_values = 0;
  } kCases[] = {
      {Result(kCounters, ""), "PERF_MULTI_COUNTERS", 96, 8, 0},
      {Result(kSet, odd), "PERF_MULTI_COUNTERS", 96, 8, 7},
      {Result(kInstances, odd), "PERF_MULTI_INSTANCES", 96, 8, 7},
      {Result(kSet, CounterIds({1, 2})), "PERF_MULTI_INSTANCES", 112, 8, 0},
      {Result(kInstances, InstanceList(1, odd)), "PERF_INSTANCE_HEADER", 104, 8,
       7},
      {Result(kSingle, ""), "PERF_COUNTER_DATA", 96, 8, 0},
      {Result(kSingle, odd), "PERF_COUNTER_DATA", 96, 8, 7},
      // Counts that exceed the content.
      {Result(kCounters, CounterIds({1, 2}) + Value64(5)), "PERF_COUNTER_DATA",
       128, 8, 0, 1},
      {Result(kInstances, InstanceList(2, one)), "PERF_INSTANCE_HEADER", 136, 8,
       0, 1},
      {Result(kInstances, InstanceList(kHuge, one)), "PERF_INSTANCE_HEADER",
       136, 8, 0, 1},
      {Result(kSet, CounterIds({1, 2}) + InstanceList(1, one)),
       "PERF_COUNTER_DATA", 152, 8, 0, 1},
  };
  for (const auto& test : kCases) {
    ExpectOneDefect(
        test.broken,
        {kTruncated, test.what, test.offset, test.needed, test.remain},
        test.num_values);
  }
}

TEST(BlockReader, RejectsNamesWithoutANul) {
  const std::string good = Instance("a", 0);
  // Two adjacent zeros, but in different units: 0061 4100 0041 0062.
  const std::string straddled =
      FromHex("10000000 00000000 6100 0041 4100 6200");
  const struct {
    std::string header;
    uint64_t size;  // of the name's field
  } kCases[] = {
      {WithU32(good, 0, 8), 0},
      {WithU32(good, 0, 11), 3},  // half of the NUL
      {straddled, 8},
  };
  for (const auto& test : kCases) {
    ExpectOneDefect(
        Result(kInstances, InstanceList(1, test.header + Value64(5))),
        {kUnterminated, "PERF_INSTANCE_HEADER's name", 104, 0, test.size}, 0);
  }
}

TEST(BlockReader, RejectsOnlyTheValueThatExceedsItsOwnSize) {
  for (const uint32_t data_size : {9u, 0x80000000u, kHuge}) {
    const Parsed block(Block({Result(
        kSet, CounterIds({7, 9}) +
                  InstanceList(2, Instance("a", 0) + Value64(10) +
                                      WithU32(Value64(11), 0, data_size) +
                                      Instance("b", 0) + Value64(20) +
                                      Value64(21)))}));
    EXPECT_THAT(block.Results(),
                ElementsAre("6 at 48: ids 7 9; a (0) = 10/8 0/4294967295 "
                            "b (0) = 20/8 21/8"));
    EXPECT_THAT(
        block.Messages(),
        ElementsAre(absl::StrCat("offset 120: PERF_COUNTER_DATA.dwDataSize is ",
                                 data_size, ", it must be at most 8")));
  }
}

TEST(BlockReader, ReturnsNumbersOnlyForSizes4And8) {
  for (const size_t size : {0, 1, 2, 3, 5, 6, 7, 9, 12, 16, 100}) {
    SCOPED_TRACE(size);
    const Parsed block(
        Block({Result(kSingle, Value(std::string(size, '\x11')))}));
    EXPECT_THAT(block.Messages(), IsEmpty());
    EXPECT_THAT(block.values, ElementsAre(0));
    EXPECT_THAT(block.value_sizes, ElementsAre(size));
  }
  // A number of 4 bytes without padding, at the end of its structure.
  const Parsed unpadded(
      Block({Result(kSingle, ByteBuilder().U32(4).U32(12).U32(77).Build())}));
  EXPECT_THAT(unpadded.values, ElementsAre(77));
}

TEST(BlockReader, IgnoresPaddingAndReservedFields) {
  const std::string good = Block({Result(
      kSet, CounterIds({1}) + InstanceList(1, Instance("a", 0) + Value32(5)))});
  std::string dirty = WithU32(good, 48 + 12, 0xDEADBEEF);  // Reserved
  dirty = WithU32(dirty, 64 + 12, 0xDEADBEEF);             // after the id
  dirty = WithU32(dirty, 88 + 12, 0xDEADBEEF);             // after the name
  dirty = WithU32(dirty, 104 + 12, 0xDEADBEEF);            // after the value
  const Parsed block(dirty);
  EXPECT_THAT(block.Messages(), IsEmpty());
  EXPECT_THAT(block.Results(), ElementsAre("6 at 48: ids 1; a (0) = 5/4"));
}

TEST(BlockReader, ReadsNamesInUtf16) {
  const std::string clef = FromHex("34d8 1edd e900");  // a surrogate pair, é
  const std::string lone = FromHex("34d8 6100");
  const Parsed block(Block({Result(
      kInstances, InstanceList(2, InstanceNamed(clef, 0) + Value64(1) +
                                      InstanceNamed(lone, 0) + Value64(2)))}));
  ASSERT_THAT(block.instances, SizeIs(2));
  EXPECT_EQ(block.NameBytes(block.instances[0]), clef);
  EXPECT_EQ(block.Name(block.instances[0]), "\U0001D11E\u00E9");
  // NameBytes returns ill-formed names unchanged.
  EXPECT_EQ(block.NameBytes(block.instances[1]), lone);
  EXPECT_EQ(block.Name(block.instances[1]), "\uFFFDa");
}

TEST(BlockReader, WarnsAboutUnusualContent) {
  const std::string one = Instance("a", 0) + Value64(1);
  const std::string extra(8, 'x');
  // Instance("a") in 13 bytes.
  const std::string odd = FromHex("0d000000 00000000 6100 0000 78");
  const struct {
    const char* what;
    std::string bytes;
    std::vector<std::string> warnings;
  } kCases[] = {
      {"nothing", BlockOfEverything(), {}},
      {"bytes after the last result",
       WithU32(Block({Result(kSingle, Value64(1)), extra}), 4, 1),
       {"offset 0: PERF_DATA_HEADER.dwTotalSize leaves 8 bytes unused"}},
      {"bytes after a value",
       Block({Result(kSingle, Value64(1) + extra)}),
       {"offset 48: PERF_COUNTER_HEADER.dwSize leaves 8 bytes unused"}},
      {"bytes after an error",
       Block({Result(kError, extra, 232)}),
       {"offset 48: PERF_COUNTER_HEADER.dwSize leaves 8 bytes unused"}},
      {"an instance that is not counted",
       Block({Result(kInstances, InstanceList(1, one + one))}),
       {"offset 64: PERF_MULTI_INSTANCES.dwTotalSize leaves 32 bytes "
        "unused"}},
      {"bytes after the instances",
       Block({Result(kInstances, InstanceList(1, one) + extra)}),
       {"offset 48: PERF_COUNTER_HEADER.dwSize leaves 8 bytes unused"}},
      // The second warning is for the value that belongs to neither id.
      {"more padding than ids need",
       Block(
           {Result(kCounters, WithU32(CounterIds({1, 2}), 4, 0) + Value64(1))}),
       {"offset 64: PERF_MULTI_COUNTERS.dwSize leaves 8 bytes unused",
        "offset 48: PERF_COUNTER_HEADER.dwSize leaves 16 bytes unused"}},
      // The other warnings are for the result and the block, which become odd.
      {"an instance of 13 bytes",
       Block({Result(kInstances, InstanceList(1, odd + Value64(1)))}),
       {"offset 0: PERF_DATA_HEADER.dwTotalSize is 101, which is no multiple "
        "of 8",
        "offset 48: PERF_COUNTER_HEADER.dwSize is 53, which is no multiple of "
        "8",
        "offset 72: PERF_INSTANCE_HEADER.Size is 13, which is no multiple of "
        "8"}},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.what);
    const Parsed block(test.bytes);
    EXPECT_THAT(block.Messages(), IsEmpty());
    std::vector<std::string> warnings;
    for (const Defect& warning : block.warnings) {
      warnings.push_back(warning.ToString());
    }
    EXPECT_EQ(warnings, test.warnings);
    EXPECT_EQ(block.warning_count, test.warnings.size());
  }
}

TEST(BlockReader, ReadsAnOddNumberOfIdsWithAndWithoutPadding) {
  const std::string values = Value64(10) + Value64(11) + Value64(12);
  const std::string unpadded =
      FromHex("14000000 03000000 07000000 08000000 09000000");
  const Parsed without(Block({Result(kCounters, unpadded + values)}));
  const Parsed with(Block({Result(kCounters, CounterIds({7, 8, 9}) + values)}));
  for (const Parsed* block : {&without, &with}) {
    EXPECT_THAT(block->Messages(), IsEmpty());
    EXPECT_THAT(block->Results(),
                ElementsAre("2 at 48: ids 7 8 9; 10/8 11/8 12/8"));
  }
  EXPECT_EQ(with.warning_count, 0);
  EXPECT_EQ(without.warning_count, 3);  // the list, the result and the block
}

TEST(BlockReader, ListsTheFirstDefectsAndCountsAll) {
  const Parsed block(Block(std::vector<std::string>(20, Result(9, ""))));
  EXPECT_EQ(block.defect_count, 20);
  EXPECT_THAT(block.defects, SizeIs(ParsedBlock::kMaxDefects));
  EXPECT_EQ(block.defects.back().offset, 48 + 15 * 16);
  EXPECT_THAT(block.results, SizeIs(20));
}

}  // namespace
}  // namespace fleetperf::perflib
