// Batches are untrusted: any client may send one.

#include <functional>
#include <string>
#include <utility>

#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/tick_span.h"
#include "base/zstd.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::AllocatedBytes;
using ::testing::AllOf;
using testing::BatchWriter;
using testing::ClocksAt;
using ::testing::HasSubstr;
using testing::MakeBatch;
using testing::StatusIs;

using enum absl::StatusCode;

// Three blocks. C: is in all of them, D: in the last two.
class MalformedBatch : public ::testing::Test {
 protected:
  MalformedBatch() {
    writer_.AddTick(query_, ClocksAt(1), {{c_, {1, 0}}});
    writer_.AddTick(query_, ClocksAt(2), {{c_, {2, 0}}, {d_, {20, 1}}});
    writer_.AddTick(query_, ClocksAt(3), {{c_, {3, 0}}, {d_, {30, 2}}});
    content_ = writer_.TakeContent();
    EXPECT_OK(dictionary_.Apply(content_.definitions()));
    EXPECT_OK(Decode(content_));
  }

  absl::Status Decode(const v1::BatchContent& content,
                      const BatchLimits& limits = {}) {
    return testing::Decode(content, &dictionary_, limits).status();
  }

  // Also returns the peak of allocated memory in bytes.
  absl::Status Decode(const v1::BatchContent& content, size_t* allocated) {
    const v1::Batch batch = MakeBatch(1, 1, content);
    const size_t before = AllocatedBytes();
    const auto contents = ParseBatch(batch, {});
    EXPECT_OK(contents);
    const auto decoded = DecodeBatch(*contents, {}, nullptr, &dictionary_);
    *allocated = AllocatedBytes() - before;
    return decoded.status();
  }

  SchemaTable schemas_;
  Dictionary dictionary_{1, &schemas_, nullptr, {}};
  BatchWriter writer_;
  const uint32_t machine_ = writer_.Machine("web-1");
  const uint32_t disk_ = writer_.Counterset(testing::DiskRegistration());
  const uint32_t query_ =
      writer_.Query(machine_, disk_, absl::Seconds(1),
                    {{testing::kTransfers}, {testing::kQueueLength, 4}});
  const uint32_t c_ = writer_.Instance(machine_, disk_, "C:");
  const uint32_t d_ = writer_.Instance(machine_, disk_, "D:");
  v1::BatchContent content_;
};

TEST_F(MalformedBatch, NamesTheInvalidField) {
  using Blocks = v1::BlockColumns;
  const auto query = [](Blocks& blocks) { return blocks.mutable_queries(0); };
  const auto column = [](Blocks& blocks) {
    return blocks.mutable_queries(0)->mutable_columns(0);
  };
  const struct {
    std::function<void(Blocks&)> change;
    absl::StatusCode code;
    const char* message;
  } kCases[] = {
      {[](Blocks& b) { b.add_perf_time_100nsec(1); }, kInvalidArgument,
       "BlockColumns.perf_time_stamp has 3 elements instead of 4"},
      {[](Blocks& b) { b.clear_perf_time_stamp(); }, kInvalidArgument,
       "BlockColumns.perf_time_stamp has 0 elements instead of 3"},
      {[](Blocks& b) { b.add_perf_freq(0); }, kInvalidArgument,
       "BlockColumns.perf_freq has 4 elements instead of 3"},
      {[&](Blocks& b) { query(b)->add_first_block(0); }, kInvalidArgument,
       "QueryColumns.first_block has 3 elements instead of 2"},
      {[&](Blocks& b) { query(b)->clear_first_block(); }, kInvalidArgument,
       "QueryColumns.block_count has 2 elements instead of 0"},
      {[&](Blocks& b) { query(b)->clear_block_count(); }, kInvalidArgument,
       "QueryColumns.block_count has 0 elements instead of 2"},
      {[&](Blocks& b) { query(b)->set_block_count(1, 0); }, kInvalidArgument,
       "a run of 0 blocks from block 1 in a message of 3"},
      {[&](Blocks& b) { query(b)->set_block_count(1, 3); }, kInvalidArgument,
       "a run of 3 blocks from block 1 in a message of 3"},
      {[&](Blocks& b) { query(b)->set_first_block(1, 3); }, kInvalidArgument,
       "a run of 2 blocks from block 3 in a message of 3"},
      // The sum is 1.
      {[&](Blocks& b) {
         query(b)->set_first_block(1, UINT32_MAX);
         query(b)->set_block_count(1, 2);
       },
       kInvalidArgument, "a run of 2 blocks from block 4294967295"},
      {[&](Blocks& b) { query(b)->set_block_count(1, UINT32_MAX); },
       kInvalidArgument, "a run of 4294967295 blocks from block 1"},
      {[&](Blocks& b) { query(b)->add_columns(); }, kInvalidArgument,
       "QueryColumns.columns has 3 elements instead of 2"},
      {[&](Blocks& b) { query(b)->clear_columns(); }, kInvalidArgument,
       "QueryColumns.columns has 0 elements instead of 2"},
      {[&](Blocks& b) { column(b)->add_first(1); }, kInvalidArgument,
       "Column.first has 3 elements instead of 2"},
      {[&](Blocks& b) { column(b)->clear_first(); }, kInvalidArgument,
       "Column.first has 0 elements instead of 2"},
      {[&](Blocks& b) { column(b)->add_differences(1); }, kInvalidArgument,
       "Column.differences has 4 elements instead of 3"},
      {[&](Blocks& b) { column(b)->mutable_differences()->RemoveLast(); },
       kInvalidArgument, "Column.differences has 2 elements instead of 3"},
      {[&](Blocks& b) { column(b)->add_missing(5); }, kInvalidArgument,
       "Column.missing has position 5 of 5"},
      {[&](Blocks& b) {
         column(b)->add_missing(3);
         column(b)->add_missing(3);
       },
       kInvalidArgument, "Column.missing does not ascend at 3"},
      {[&](Blocks& b) {
         column(b)->add_missing(3);
         column(b)->add_missing(2);
       },
       kInvalidArgument, "Column.missing does not ascend at 2"},
      {[&](Blocks& b) { query(b)->add_failures()->set_block(3); },
       kInvalidArgument, "QueryFailure.block is 3 in a message of 3 blocks"},
      {[&](Blocks& b) {
         query(b)->add_failures()->set_block(1);
         query(b)->add_failures()->set_block(1);
       },
       kInvalidArgument, "QueryFailure.block does not ascend at 1"},
      {[&](Blocks& b) { query(b)->set_query(77); }, kFailedPrecondition,
       "query 77 is not defined"},
      {[&](Blocks& b) { query(b)->set_query(c_); }, kFailedPrecondition,
       "query 4 is not defined"},
      {[&](Blocks& b) { query(b)->set_instances(1, 73); }, kFailedPrecondition,
       "instance 77 is not defined"},
      // Ids are differences modulo 2^32.
      {[&](Blocks& b) { query(b)->set_instances(1, -5); }, kFailedPrecondition,
       "instance 4294967295 is not defined"},
      {[](Blocks& b) {
         b.clear_perf_time_100nsec();
         b.clear_perf_time_stamp();
         b.clear_perf_freq();
       },
       kInvalidArgument, "in a message of 0"},
  };
  for (const auto& test : kCases) {
    v1::BatchContent content = content_;
    test.change(*content.mutable_blocks(0));
    EXPECT_THAT(Decode(content), StatusIs(test.code, HasSubstr(test.message)));
  }
}

TEST_F(MalformedBatch, NamesTheUnreadableMessage) {
  v1::BlockColumns clocks = content_.blocks(0);
  clocks.clear_queries();
  v1::QueryColumns query = content_.blocks(0).queries(0);
  const std::string whole_query = query.SerializeAsString();
  query.clear_columns();
  const std::string without_columns = query.SerializeAsString();
  const auto field = [](int number, const std::string& bytes) {
    EXPECT_LT(bytes.size(), 0x80);
    return std::string{static_cast<char>(number << 3 | 2),
                       static_cast<char>(bytes.size())} +
           bytes;
  };
  // Field 5 of a query is a column, whose field 1 has the first values.
  const auto with_columns = [&](const std::string& column) {
    return field(4, without_columns + field(5, column) + field(5, column));
  };
  const std::string too_long(10, '\x80');
  const std::string query_id = {8, static_cast<char>(query_)};
  const std::string id = {static_cast<char>(2 * c_)};  // sint32
  const std::pair<std::string, std::string> kCases[] = {
      {"\xFF", "a BlockColumns cannot be read"},
      {field(1, "\x02"), "a BlockColumns cannot be read"},  // repeated field
      {field(4, "\xFF"), "a QueryColumns cannot be read"},
      {field(4, whole_query + field(6, "\xFF")),
       "a QueryFailure cannot be read"},
      {with_columns("\xFF"), "a Column cannot be read"},
      {with_columns(field(1, "\x01\x01\x80")), "a Column cannot be read"},
      {with_columns(field(1, too_long + "\x01\x01")),
       "a Column cannot be read"},
      {with_columns(field(1, "\x01\x01") + field(2, "\x01\x01\x01\x80")),
       "a Column cannot be read"},
      {with_columns(field(1, "\x01\x01") + field(2, "\x01\x01\x01") +
                    field(3, "\x01\x80")),
       "Column.missing cannot be read"},
      {field(4, query_id + field(2, too_long + "\x01")),
       "QueryColumns.instances cannot be read"},
      {field(4, query_id + field(2, id) + field(3, too_long + "\x01") +
                    field(4, "\x01")),
       "QueryColumns.first_block and block_count cannot be read"},
      {field(4, query_id + field(2, id) + field(3, std::string(1, 0)) +
                    field(4, too_long + "\x01")),
       "QueryColumns.first_block and block_count cannot be read"},
  };
  for (const auto& [bytes, message] : kCases) {
    const std::string blocks = clocks.SerializeAsString() + bytes;
    BatchContents contents;
    contents.blocks.push_back(blocks);
    EXPECT_THAT(DecodeBatch(contents, {}, nullptr, &dictionary_).status(),
                StatusIs(kInvalidArgument, HasSubstr(message)));
  }
}

TEST_F(MalformedBatch, SkipsUnwantedQueriesWithoutDecoding) {
  content_.mutable_blocks(0)->mutable_queries(0)->clear_columns();
  EXPECT_THAT(Decode(content_),
              StatusIs(kInvalidArgument, HasSubstr("columns")));
  ASSERT_OK_AND_ASSIGN(
      const DecodedBatch decoded,
      testing::Decode(content_, &dictionary_, {},
                      [](const CollectedQuery&) { return false; }));
  EXPECT_TRUE(decoded.frames.empty());
}

// An undefined id may be one that is no longer known. Malformed data is
// malformed whatever its ids are.
TEST_F(MalformedBatch, ReportsMalformedBeforeUndefinedIds) {
  v1::QueryColumns* query = content_.mutable_blocks(0)->mutable_queries(0);
  query->set_instances(1, 73);
  query->clear_block_count();
  EXPECT_THAT(Decode(content_),
              StatusIs(kInvalidArgument, HasSubstr("block_count")));
}

TEST_F(MalformedBatch, CountsClocksBeforeAllocating) {
  content_.mutable_blocks(0)->mutable_perf_time_100nsec()->Resize(1'000'000, 0);
  size_t allocated;
  EXPECT_THAT(
      Decode(content_, &allocated),
      StatusIs(kInvalidArgument, HasSubstr("3 elements instead of 1000000")));
  EXPECT_LT(allocated, 10'000);
}

TEST_F(MalformedBatch, ReportsReadableTicks) {
  const auto span_of = [](const std::string& blocks) {
    BatchContents contents;
    contents.blocks.push_back(blocks);
    const TickSpan span = ReadTickSpan(contents);
    return absl::StrCat(span.ticks, " ", absl::FormatTime(span.start), " ",
                        absl::FormatTime(span.end));
  };
  const std::string blocks = content_.blocks(0).SerializeAsString();
  const std::string span = span_of(blocks);
  EXPECT_THAT(span, ::testing::StartsWith("3 "));
  // A repeated field of clocks, clocks of the wrong type, and an invalid field.
  EXPECT_EQ(span_of(blocks + "\x0A\x01\x02"), span);
  EXPECT_EQ(span_of(blocks + "\x08\x02"), span);
  EXPECT_EQ(span_of(blocks + "\xFF"), span);
  v1::BlockColumns none = content_.blocks(0);
  none.clear_perf_time_100nsec();
  EXPECT_THAT(span_of(none.SerializeAsString() + "\x08\x02"),
              ::testing::StartsWith("0 "));
}

TEST_F(MalformedBatch, LimitsValues) {
  // Ten values: five of each column, including constant columns.
  EXPECT_OK(Decode(content_, {.max_values = 10}));
  EXPECT_THAT(Decode(content_, {.max_values = 9}),
              StatusIs(kResourceExhausted, HasSubstr("more than 9 values")));
  // The limit applies to all blocks of the batch together.
  *content_.add_blocks() = v1::BlockColumns(content_.blocks(0));
  EXPECT_OK(Decode(content_, {.max_values = 20}));
  EXPECT_THAT(Decode(content_, {.max_values = 19}),
              StatusIs(kResourceExhausted, HasSubstr("max_values")));
}

TEST_F(MalformedBatch, LimitsRuns) {
  EXPECT_OK(Decode(content_, {.max_runs = 2}));
  EXPECT_THAT(
      Decode(content_, {.max_runs = 1}),
      StatusIs(kResourceExhausted, HasSubstr("more than 1 runs (max_runs)")));
  // Runs are counted before memory is allocated for them.
  v1::QueryColumns* query = content_.mutable_blocks(0)->mutable_queries(0);
  query->mutable_instances()->Resize(2'000'000, 0);
  size_t allocated;
  EXPECT_THAT(Decode(content_, &allocated),
              StatusIs(kResourceExhausted, HasSubstr("max_runs")));
  EXPECT_LT(allocated, 10'000);
}

TEST(ParseBatch, ChecksSizesAndCompression) {
  const v1::BatchContent content;
  v1::BatchContent large;
  for (int i = 0; i < 1000; ++i) large.add_retired_instances(1);
  const size_t large_size = large.SerializeAsString().size();
  const v1::Batch packed = MakeBatch(1, 1, large, v1::COMPRESSION_ZSTD);
  const v1::Batch plain = MakeBatch(1, 1, large);
  const auto with = [](v1::Batch batch, auto change) {
    change(batch);
    return batch;
  };
  const BatchLimits kNone;
  const struct {
    v1::Batch batch;
    BatchLimits limits;
    absl::StatusCode code;
    std::string message;
  } kCases[] = {
      {plain,
       {.max_payload_bytes = 1000},
       kResourceExhausted,
       "max_payload_bytes"},
      {packed,
       {.max_content_bytes = 1000},
       kResourceExhausted,
       "max_content_bytes"},
      {with(plain, [](auto& b) { b.set_content_size(5); }), kNone,
       kInvalidArgument,
       absl::StrCat("Batch.payload has ", large_size, " bytes instead of 5")},
      {with(packed, [](auto& b) { b.set_content_size(5); }), kNone,
       kInvalidArgument, "not a zstd frame of 5 bytes"},
      {with(packed, [](auto& b) { b.set_content_size(2000); }), kNone,
       kInvalidArgument, absl::StrCat(large_size, " bytes instead of 2000")},
      {with(packed, [](auto& b) { b.mutable_payload()->pop_back(); }), kNone,
       kInvalidArgument, "not a zstd frame"},
      {with(plain, [](auto& b) { b.set_compression(v1::COMPRESSION_ZSTD); }),
       kNone, kInvalidArgument, "not a zstd frame"},
      {with(packed,
            [](auto& b) { b.set_compression(v1::COMPRESSION_UNSPECIFIED); }),
       kNone, kInvalidArgument, "Batch.compression is 0"},
      {with(
           plain,
           [](auto& b) { b.set_compression(static_cast<v1::Compression>(9)); }),
       kNone, kInvalidArgument, "Batch.compression is 9"},
      {with(plain,
            [](auto& b) {
              b.set_payload("\xFF\xFF\xFF");
              b.set_content_size(3);
            }),
       kNone, kInvalidArgument, "Batch.payload is not a BatchContent"},
  };
  EXPECT_OK(ParseBatch(plain, kNone));
  EXPECT_OK(ParseBatch(packed, kNone));
  for (const auto& test : kCases) {
    EXPECT_THAT(ParseBatch(test.batch, test.limits),
                StatusIs(test.code, HasSubstr(test.message)));
  }
}

// Memory is bounded by the size of the input, not by declared sizes.

TEST(ParseBatch, AllocatesLittleForDeclaredSize) {
  v1::Batch batch = MakeBatch(1, 1, {}, v1::COMPRESSION_ZSTD);
  const BatchLimits limits;
  batch.set_content_size(limits.max_content_bytes);
  const size_t before = AllocatedBytes();
  EXPECT_FALSE(ParseBatch(batch, limits).ok());
  EXPECT_LT(AllocatedBytes() - before, size_t{1} << 20);
}

TEST(ParseBatch, LimitsLosses) {
  v1::BatchContent content;
  for (int i = 0; i < 100'000; ++i) content.add_losses();
  const v1::Batch most = MakeBatch(1, 1, content);
  ASSERT_OK_AND_ASSIGN(const BatchContents contents, ParseBatch(most, {}));
  EXPECT_EQ(contents.losses.size(), 100'000);
  content.add_losses();
  EXPECT_THAT(
      ParseBatch(MakeBatch(1, 1, content), {}),
      StatusIs(kResourceExhausted, HasSubstr("more than 100000 losses")));
  for (int i = 0; i < 400'000; ++i) content.add_losses();
  const v1::Batch batch = MakeBatch(1, 1, content);
  const size_t before = AllocatedBytes();
  EXPECT_THAT(
      ParseBatch(batch, {}),
      StatusIs(kResourceExhausted, HasSubstr("more than 100000 losses")));
  EXPECT_LT(AllocatedBytes() - before, size_t{32} << 20);
}

TEST_F(MalformedBatch, DoesNotExpandConstantColumns) {
  // 10,000 blocks of 1000 instances: 20 million values in 70 kB.
  constexpr int kBlocks = 10'000;
  constexpr int kInstances = 200;
  v1::BatchContent content;
  v1::BlockColumns& blocks = *content.add_blocks();
  for (int i = 0; i < kBlocks; ++i) {
    blocks.add_perf_time_100nsec(10);
    blocks.add_perf_time_stamp(10);
    blocks.add_perf_freq(0);
  }
  v1::QueryColumns& query = *blocks.add_queries();
  query.set_query(query_);
  for (int i = 0; i < kInstances; ++i) {
    query.add_instances(i == 0 ? static_cast<int32_t>(c_) : 0);
  }
  for (int c = 0; c < 2; ++c) {
    v1::Column& column = *query.add_columns();
    for (int i = 0; i < kInstances; ++i) column.add_first(1);
  }
  const size_t size = content.SerializeAsString().size();
  ASSERT_LT(size, 70'000);
  size_t allocated;
  EXPECT_OK(Decode(content, &allocated));
  EXPECT_LT(allocated, 12 * size);

  // One more instance exceeds the limit.
  query.add_instances(0);
  for (v1::Column& column : *query.mutable_columns()) column.add_first(1);
  EXPECT_THAT(Decode(content),
              StatusIs(kResourceExhausted, HasSubstr("max_values")));
}

}  // namespace
}  // namespace fleetperf::aggregator
