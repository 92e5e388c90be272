// The bytes on the wire, as specified by proto/fleetperf/v1/collection.proto.

#include "agent/deliver/batch_builder.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <utility>
#include <vector>

#include "fleetperf/v1/collection.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr uint32_t kQuery = 5;

QuerySamples Rows(std::vector<uint32_t> instances,
                  std::vector<uint64_t> values) {
  return {.query = kQuery,
          .instances = std::move(instances),
          .values = std::move(values)};
}
QuerySamples Failed(uint32_t status) {
  return {.query = kQuery, .failed = true, .failure_status = status};
}

// Returns the wire format of consecutive blocks of one handle with these
// samples, one second apart.
v1::BatchContent Build(const std::vector<std::vector<QuerySamples>>& blocks) {
  BatchBuilder builder;
  int64_t second = 0;
  for (const auto& queries : blocks) {
    const int64_t time = second++ * 10'000'000;
    builder.Add({.handle = 1,
                 .interval = absl::Seconds(1),
                 .clocks = {.perf_time_stamp = 1000 + time,
                            .perf_time_100nsec = 500'000 + time,
                            .perf_freq = 10'000'000},
                 .queries = queries});
  }
  v1::BatchContent content;
  builder.Build(&content);
  return content;
}

// Checks the only query of the only handle.
void ExpectQuery(const v1::BatchContent& content, const std::string& expected) {
  ASSERT_EQ(content.blocks_size(), 1);
  ASSERT_EQ(content.blocks(0).queries_size(), 1);
  v1::QueryColumns columns;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "query: 5 " + expected, &columns));
  std::string differences;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(columns, content.blocks(0).queries(0)))
      << differences;
}

TEST(BatchBuilder, SendsDifferences) {
  const v1::BatchContent content = Build({{Rows({7, 9, 4}, {10, 20, 30,  //
                                                            1, 2, 3})},
                                          {Rows({7, 9, 4}, {11, 19, 30,  //
                                                            1, 2, 3})},
                                          {Rows({7, 9, 4}, {13, 19, 36,  //
                                                            1, 2, 3})}});
  // Defaults are omitted: runs that cover all blocks, and columns without
  // changes.
  ExpectQuery(content, R"(
    instances: [7, 2, -5]
    columns { first: [10, 20, 30] differences: [1, 2, -1, 0, 0, 6] }
    columns { first: [1, 2, 3] })");
  const v1::BlockColumns& block = content.blocks(0);
  EXPECT_THAT(block.perf_time_stamp(),
              ::testing::ElementsAre(1000, 10'000'000, 10'000'000));
  EXPECT_THAT(block.perf_time_100nsec(),
              ::testing::ElementsAre(500'000, 10'000'000, 10'000'000));
  EXPECT_THAT(block.perf_freq(), ::testing::ElementsAre(10'000'000, 0, 0));
}

TEST(BatchBuilder, ComputesDifferencesModulo64Bits) {
  ExpectQuery(Build({{Rows({1}, {UINT64_MAX})},
                     {Rows({1}, {0})},
                     {Rows({1}, {uint64_t{1} << 63})}}),
              R"(instances: [1] columns {
                first: [18446744073709551615]
                differences: [1, -9223372036854775808] })");
}

TEST(BatchBuilder, EncodesEachContiguousPresenceAsARun) {
  // 1 is absent in the third block; 2 appears in the second.
  ExpectQuery(Build({{Rows({1}, {10})},
                     {Rows({1, 2}, {11, 20})},
                     {Rows({2}, {21})},
                     {Rows({2, 1}, {22, 15})}}),
              R"(instances: [1, 1, -1]
                 first_block: [0, 1, 3] block_count: [2, 3, 1]
                 columns { first: [10, 20, 15] differences: [1, 1, 1] })");
}

TEST(BatchBuilder, MatchesInstancesThatChangePosition) {
  ExpectQuery(
      Build({{Rows({1, 2}, {10, 20})}, {Rows({2, 1}, {21, 11})}}),
      R"(instances: [1, 1] columns { first: [10, 20] differences: [1, 1] })");
}

TEST(BatchBuilder, MarksMissingValues) {
  QuerySamples first = Rows({1, 2}, {0, 20, 1, 2});
  first.present = {0, 1, 1, 1};
  QuerySamples second = Rows({1, 2}, {11, 0, 1, 2});
  second.present = {1, 0, 1, 1};
  // A missing value repeats the previous one, or is 0.
  ExpectQuery(Build({{first}, {second}}),
              R"(instances: [1, 1]
                 columns { first: [0, 20] differences: [11, 0] missing: [0, 3] }
                 columns { first: [1, 2] })");
}

TEST(BatchBuilder, MarksFailures) {
  ExpectQuery(
      Build({{Rows({1}, {10})}, {Failed(232)}, {Failed(0)}, {Rows({1}, {13})}}),
      R"(instances: [1, 0]
                 first_block: [0, 3] block_count: [1, 1]
                 columns { first: [10, 13] }
                 failures { block: 1 status: 232 } failures { block: 2 })");
  ExpectQuery(Build({{Failed(5)}}), "failures { status: 5 }");
}

TEST(BatchBuilder, SendsQueriesWithoutInstances) {
  ExpectQuery(Build({{Rows({}, {})}, {Rows({}, {})}}), "");
}

TEST(BatchBuilder, LeavesGapsForQueriesThatAreNotInEveryBlock) {
  QuerySamples other = Rows({3}, {30});
  other.query = 6;
  const v1::BatchContent content =
      Build({{Rows({1}, {10})}, {other}, {Rows({1}, {12})}});
  ASSERT_EQ(content.blocks(0).queries_size(), 2);
  const v1::QueryColumns& late = content.blocks(0).queries(1);
  EXPECT_EQ(late.query(), 6);
  EXPECT_THAT(late.first_block(), ::testing::ElementsAre(1));
  EXPECT_THAT(late.block_count(), ::testing::ElementsAre(1));
  EXPECT_EQ(content.blocks(0).queries(0).first_block_size(), 2);
}

TEST(BatchBuilder, EncodesHandlesSeparately) {
  BatchBuilder builder;
  EXPECT_TRUE(builder.empty());
  for (const uint32_t handle : {2, 1, 2}) {
    builder.Add({.handle = handle, .queries = {Rows({1, 2}, {1, 2, 3, 4})}});
  }
  EXPECT_FALSE(builder.empty());
  EXPECT_EQ(builder.values(), 12);
  v1::BatchContent content;
  builder.Build(&content);
  ASSERT_EQ(content.blocks_size(), 2);
  EXPECT_EQ(content.blocks(0).perf_freq_size(), 1);
  EXPECT_EQ(content.blocks(1).perf_freq_size(), 2);
  // Nothing is left for the next batch.
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.values(), 0);
  content.Clear();
  builder.Build(&content);
  EXPECT_EQ(content.ByteSizeLong(), 0);
}

}  // namespace
}  // namespace fleetperf::agent
