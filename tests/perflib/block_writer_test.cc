#include "perflib/block_writer.h"

#include <string>
#include <vector>

#include "perflib/block_reader.h"
#include "perflib/utf16.h"
#include "tests/support/block_bytes.h"
#include "tests/support/byte_builder.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using testing::Block;
using testing::CounterIds;
using testing::FromHex;
using testing::Instance;
using testing::InstanceList;
using testing::kCounters;
using testing::kError;
using testing::kInstances;
using testing::kSet;
using testing::kSingle;
using testing::Result;
using testing::Value;
using testing::Value32;
using testing::Value64;

constexpr Clocks kClocks = {.perf_time_stamp = testing::kBlockTimeStamp,
                            .perf_time_100nsec = testing::kBlockTime,
                            .perf_freq = testing::kBlockFreq};

// The rows of a failed result are discarded.
TEST(BlockWriter, ReplacesResultsThatFail) {
  std::string failed;
  std::string expected;
  const auto write = [](std::string* bytes, bool begin) {
    BlockWriter writer(kClocks, bytes);
    writer.BeginResult(HeaderType::kSingleCounter);
    writer.AddValue64(1);
    writer.EndResult();
    if (begin) {
      writer.BeginResult(HeaderType::kCounterset, {7});
      writer.BeginInstance(Utf16FromUtf8("C:"), 3);
      writer.AddValue64(2);
      EXPECT_EQ(writer.size(), bytes->size());
      writer.FailResult(kErrorInvalidData);
    } else {
      writer.AddErrorReturn(kErrorInvalidData);
    }
    writer.BeginResult(HeaderType::kSingleCounter);
    writer.AddValue64(3);
    writer.EndResult();
    writer.Finish();
  };
  write(&failed, true);
  write(&expected, false);
  EXPECT_EQ(failed, expected);
}

TEST(BlockWriter, WritesABlockByteByByte) {
  std::string bytes = "what was there before";
  BlockWriter writer(kClocks, &bytes);
  writer.BeginResult(HeaderType::kCounterset, {7});
  writer.BeginInstance(Utf16FromUtf8("C:"), 3);
  writer.AddValue32(0xCAFEF00D);
  writer.EndResult();
  writer.Finish();
  EXPECT_EQ(bytes, FromHex(
                       // PERF_DATA_HEADER
                       "78000000 01000000 efcdab8967452301 fea30f7d3850dd01"
                       "8096980000000000"
                       "ea07 0900 0200 1d00 1100 2000 1700 f302"
                       // PERF_COUNTER_HEADER: status, type, size
                       "00000000 06000000 48000000 00000000"
                       // PERF_MULTI_COUNTERS: size, count, id, padding
                       "10000000 01000000 07000000 00000000"
                       // PERF_MULTI_INSTANCES: size, count
                       "28000000 01000000"
                       // PERF_INSTANCE_HEADER: size, id, "C:", padding
                       "10000000 03000000 43003a00 00000000"
                       // PERF_COUNTER_DATA: data size, size, value, padding
                       "04000000 10000000 0df0feca 00000000"));
}

// One result of each type, with every kind of padding.
std::string WriteEverything() {
  std::string bytes;
  BlockWriter writer(kClocks, &bytes);
  writer.AddErrorReturn(kErrorNoData);
  writer.BeginResult(HeaderType::kSingleCounter);
  writer.AddValue32(1);
  writer.EndResult();
  writer.BeginResult(HeaderType::kMultipleCounters, {{1, 2, 8}});
  writer.AddValue64(UINT64_MAX);
  writer.AddValue32(5);
  writer.AddValueBytes("three");
  writer.EndResult();
  writer.BeginResult(HeaderType::kMultipleInstances);
  writer.BeginInstance(Utf16FromUtf8("abc"), 3);
  writer.AddValue64(30);
  writer.BeginInstance("", 4);
  writer.AddValue64(40);
  writer.EndResult();
  writer.BeginResult(HeaderType::kCounterset, {{7, 9}});
  writer.BeginInstance(Utf16FromUtf8("0,0"), 1);
  writer.AddValue64(10);
  writer.AddValue32(11);
  writer.BeginInstance(Utf16FromUtf8("0,_Total"), kWildcardInstanceId);
  writer.AddValue64(20);
  writer.AddValue32(21);
  writer.EndResult();
  writer.BeginResult(HeaderType::kCounterset);
  writer.EndResult();
  writer.Finish();
  return bytes;
}

TEST(BlockWriter, WritesEveryTypeOfResultAsDocumented) {
  EXPECT_EQ(
      WriteEverything(),
      Block({Result(kError, "", 232), Result(kSingle, Value32(1)),
             Result(kCounters, CounterIds({1, 2, 8}) + Value64(UINT64_MAX) +
                                   Value32(5) + Value("three")),
             Result(kInstances,
                    InstanceList(2, Instance("abc", 3) + Value64(30) +
                                        Instance("", 4) + Value64(40))),
             Result(kSet, CounterIds({7, 9}) +
                              InstanceList(2, Instance("0,0", 1) + Value64(10) +
                                                  Value32(11) +
                                                  Instance("0,_Total", -1) +
                                                  Value64(20) + Value32(21))),
             Result(kSet, CounterIds({}) + InstanceList(0, ""))}));
}

TEST(BlockWriter, RoundTripsThroughTheReader) {
  const std::string bytes = WriteEverything();
  ParsedBlock block;
  ReadBlock(bytes, &block);
  EXPECT_EQ(block.clocks(), kClocks);
  EXPECT_THAT(block.defects, IsEmpty());
  // No unused bytes, and every size is a multiple of 8.
  EXPECT_EQ(block.warning_count, 0);
  EXPECT_THAT(block.results, SizeIs(6));
  EXPECT_EQ(block.results[0].status, kErrorNoData);
  EXPECT_THAT(block.counter_ids, ElementsAre(1, 2, 8, 7, 9));
  EXPECT_THAT(block.values,
              ElementsAre(1, UINT64_MAX, 5, 0, 30, 40, 10, 11, 20, 21));
  EXPECT_THAT(block.value_sizes, ElementsAre(4, 8, 4, 5, 8, 8, 8, 4, 8, 4));
  std::vector<std::string> names;
  for (const InstanceView& instance : block.instances)
    names.push_back(block.Name(instance));
  EXPECT_THAT(names, ElementsAre("abc", "", "0,0", "0,_Total"));
}

TEST(BlockWriter, AlignsEveryStructureTo8) {
  for (size_t length = 0; length < 9; ++length) {
    SCOPED_TRACE(length);
    std::string bytes;
    BlockWriter writer(kClocks, &bytes);
    const std::vector<uint32_t> ids(length, 1);
    writer.BeginResult(HeaderType::kCounterset, ids);
    writer.BeginInstance(Utf16FromUtf8(std::string(length, 'a')), 0);
    for (size_t i = 0; i < length; ++i)
      writer.AddValueBytes(std::string(i, 'x'));
    writer.EndResult();
    writer.Finish();
    EXPECT_EQ(bytes.size() % 8, 0);
    ParsedBlock block;
    ReadBlock(bytes, &block);
    EXPECT_THAT(block.defects, IsEmpty());
    EXPECT_EQ(block.warning_count, 0);
    EXPECT_THAT(block.values, SizeIs(length));
  }
}

TEST(BlockWriter, WritesABlockWithoutResults) {
  std::string bytes;
  BlockWriter(kClocks, &bytes).Finish();
  EXPECT_EQ(bytes, Block({}));
}

}  // namespace
}  // namespace fleetperf::perflib
