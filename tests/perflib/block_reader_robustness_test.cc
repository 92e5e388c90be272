// The block reader's invariants and its memory with arbitrary bytes.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "perflib/block_reader.h"
#include "tests/perflib/parsed_block.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/block_bytes.h"
#include "tests/support/byte_builder.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using testing::Block;
using testing::BlockOfEverything;
using testing::CounterIds;
using testing::Instance;
using testing::InstanceList;
using ::testing::IsEmpty;
using testing::kCounters;
using testing::kInstances;
using testing::Parsed;
using testing::Result;
using testing::Value64;
using testing::WithU32;
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
