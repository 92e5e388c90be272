#include "perflib/block_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
using testing::ByteBuilder;
using testing::CounterIds;
using testing::FromHex;
using testing::Instance;
using testing::InstanceList;
using testing::InstanceNamed;
using testing::kCounters;
using testing::kError;
using testing::kInstances;
using testing::kSet;
using testing::kSingle;
using testing::Result;
using testing::StatusIs;
using testing::Value;
using testing::Value32;
using testing::Value64;
using testing::WithU32;

// A block read from a copy of the bytes that ends where its memory ends, so
// that AddressSanitizer detects reads beyond them.
class Parsed : public ParsedBlock {
 public:
  explicit Parsed(absl::string_view input) : copy_(input.begin(), input.end()) {
    ReadBlock(absl::string_view(copy_.data(), copy_.size()), this);
  }
  Parsed(const Parsed&) = delete;

  std::vector<std::string> Messages() const {
    std::vector<std::string> messages;
    for (const Defect& defect : defects) messages.push_back(defect.ToString());
    return messages;
  }

  // Returns a line for each result: "6 at 48: ids 7 9; 0,0 (1) = 10/8 11/4;
  // 0,_Total (2) = 20/8 21/4". Values are followed by their size. Status and
  // completeness follow at the end unless they are 0 and true.
  std::vector<std::string> Results() const {
    std::vector<std::string> lines;
    for (const QueryResult& result : results) {
      std::string& line = lines.emplace_back(absl::StrCat(
          static_cast<uint32_t>(result.type), " at ", result.offset, ":"));
      const auto ids = CounterIds(result);
      const auto rows = Instances(result);
      if (!ids.empty())
        absl::StrAppend(&line, " ids ", absl::StrJoin(ids, " "), ";");
      const size_t columns = std::max<size_t>(ids.size(), 1);
      for (size_t i = 0; i < result.values.count; ++i) {
        if (!rows.empty() && i % columns == 0)
          absl::StrAppend(&line, " ", Name(rows[i / columns]), " (",
                          rows[i / columns].instance_id, ") =");
        absl::StrAppend(&line, " ", Values(result)[i], "/",
                        ValueSizes(result)[i]);
      }
      if (result.status != 0) absl::StrAppend(&line, " status ", result.status);
      if (!result.complete) line += " broken";
    }
    return lines;
  }

 private:
  const std::vector<char> copy_;
};

// Two instances with two counters each.
std::string CountersetBody() {
  return CounterIds({7, 9}) +
         InstanceList(2, Instance("0,0", 1) + Value64(10) + Value32(11) +
                             Instance("0,_Total", 2) + Value64(20) +
                             Value32(21));
}

// Two instances with one counter each.
std::string InstancesBody() {
  return InstanceList(
      2, Instance("C:", 3) + Value64(30) + Instance("", 4) + Value64(40));
}

// A result of each type.
std::string BlockOfEverything() {
  return Block({Result(kError, "", 232), Result(kSingle, Value32(0xFFFFFFFF)),
                Result(kCounters, CounterIds({1, 2, 8}) + Value64(UINT64_MAX) +
                                      Value32(5) + Value("odd")),
                Result(kInstances, InstancesBody()),
                Result(kSet, CountersetBody())});
}

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
      // Also the value that belongs to neither of them.
      {"more padding than ids need",
       Block(
           {Result(kCounters, WithU32(CounterIds({1, 2}), 4, 0) + Value64(1))}),
       {"offset 64: PERF_MULTI_COUNTERS.dwSize leaves 8 bytes unused",
        "offset 48: PERF_COUNTER_HEADER.dwSize leaves 16 bytes unused"}},
      // Also the result and the block, which become odd.
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

// Checks the invariants for arbitrary bytes.
void CheckInvariants(const ParsedBlock& block) {
  const auto in_range = [](const Slice& slice, size_t size) {
    return slice.begin <= size && slice.count <= size - slice.begin;
  };
  ASSERT_EQ(block.values.size(), block.value_sizes.size());
  ASSERT_EQ(block.defects.size(),
            std::min<uint64_t>(block.defect_count, ParsedBlock::kMaxDefects));
  // Memory is bounded by the size of the bytes, whatever the counts.
  ASSERT_LE(block.values.capacity() * 8, 2 * block.bytes.size() + 64);
  ASSERT_LE(block.instances.capacity() * 8, 2 * block.bytes.size() + 64);
  for (const InstanceView& instance : block.instances) {
    ASSERT_LE(instance.name_offset, block.bytes.size());
    ASSERT_LE(instance.name_size, block.bytes.size() - instance.name_offset);
    block.Name(instance);
  }
  for (const QueryResult& result : block.results) {
    ASSERT_TRUE(in_range(result.counter_ids, block.counter_ids.size()));
    ASSERT_TRUE(in_range(result.instances, block.instances.size()));
    ASSERT_TRUE(in_range(result.values, block.values.size()));
    const uint64_t columns =
        HasCounterIds(result.type) ? result.counter_ids.count : 1;
    const uint64_t rows =
        HasInstances(result.type) ? result.instances.count : 1;
    const bool is_error = result.type == HeaderType::kErrorReturn;
    ASSERT_LE(result.values.count, is_error ? 0 : rows * columns);
    if (result.complete) {
      ASSERT_EQ(result.values.count, is_error ? 0 : rows * columns);
    } else {
      ASSERT_GT(block.defect_count, 0);
    }
  }
}

TEST(BlockReader, SurvivesTruncationAnywhere) {
  const std::string good = BlockOfEverything();
  const size_t results = Parsed(good).results.size();
  for (size_t size = 0; size < good.size(); ++size) {
    SCOPED_TRACE(size);
    const Parsed cut(good.substr(0, size));
    EXPECT_THAT(cut.results, IsEmpty());
    EXPECT_EQ(cut.defect_count, 1);
    if (size < 48) continue;
    // Same, with a matching total size.
    const Parsed agreed(
        WithU32(good.substr(0, size), 0, static_cast<uint32_t>(size)));
    EXPECT_LT(agreed.results.size(), results);
    EXPECT_EQ(agreed.defect_count, 1);
    ASSERT_NO_FATAL_FAILURE(CheckInvariants(agreed));
  }
}

TEST(BlockReader, SurvivesAnyByteChanged) {
  const std::string good = BlockOfEverything();
  std::string changed = good;
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      SCOPED_TRACE(::testing::Message() << "byte " << i << " = " << value);
      changed[i] = static_cast<char>(value);
      ASSERT_NO_FATAL_FAILURE(CheckInvariants(Parsed(changed)));
    }
    changed[i] = good[i];
  }
}

// Memory does not depend on the counts.
TEST(BlockReader, AllocatesASmallMultipleOfItsInput) {
  constexpr size_t kMultiple = 8;
  constexpr size_t kAFewDefects = 4096;
  const std::string good = BlockOfEverything();
  for (size_t at = 0; at + 4 <= good.size(); at += 4) {
    for (const uint32_t value : {0xFFFFFFFFu, 0x10000000u, 0x00FFFFFFu}) {
      const std::string changed = WithU32(good, at, value);
      const size_t before = testing::AllocatedBytes();
      ParsedBlock block;
      ReadBlock(changed, &block);
      EXPECT_LE(testing::AllocatedBytes() - before,
                kMultiple * changed.size() + kAFewDefects)
          << "field at " << at << " = " << value;
    }
  }
}

TEST(BlockReader, AllocatesInProportionToIdsAndInstances) {
  for (const uint32_t count : {1000u, 64'000u}) {
    std::vector<uint32_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    std::string values, instances;
    for (uint32_t i = 0; i < count; ++i) {
      values += Value64(i);
      instances += Instance("n", i) + Value64(i);
    }
    const std::string block_bytes =
        Block({Result(kCounters, CounterIds(ids) + values),
               Result(kInstances, InstanceList(count, instances))});
    const size_t before = testing::AllocatedBytes();
    ParsedBlock block;
    ReadBlock(block_bytes, &block);
    EXPECT_EQ(block.defect_count, 0);
    EXPECT_EQ(block.counter_ids.size(), count);
    EXPECT_EQ(block.instances.size(), count);
    EXPECT_EQ(block.values.size(), 2 * count);
    EXPECT_LE(testing::AllocatedBytes() - before, 4 * block_bytes.size());
    // The second read reuses the memory.
    const size_t after = testing::AllocatedBytes();
    ReadBlock(block_bytes, &block);
    EXPECT_EQ(testing::AllocatedBytes(), after);
  }
}

TEST(BlockReader, SurvivesManyFieldsChanged) {
  const std::string good = BlockOfEverything();
  std::mt19937 random(20261120);
  const uint32_t kValues[] = {0, 1, 8, 16, 17, 48, 0x7FFFFFFF, 0xFFFFFFFF};
  for (int round = 0; round < 20000; ++round) {
    SCOPED_TRACE(round);
    std::string changed = good;
    for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
      const uint32_t value =
          random() % 4 == 0 ? random() % good.size() : kValues[random() % 8];
      changed = WithU32(changed, random() % (good.size() / 4) * 4, value);
    }
    // Half of the blocks pass the first check.
    if (round % 2 == 0)
      changed = WithU32(changed, 0, static_cast<uint32_t>(good.size()));
    ASSERT_NO_FATAL_FAILURE(CheckInvariants(Parsed(changed)));
  }
}

}  // namespace
}  // namespace fleetperf::perflib
