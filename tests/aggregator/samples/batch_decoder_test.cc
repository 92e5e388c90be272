#include "aggregator/samples/batch_decoder.h"

#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::BatchWriter;
using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeBatch;
using testing::StatusIs;
using testing::ToText;

class BatchDecoder : public ::testing::Test {
 protected:
  // Returns the frames of all ticks written so far.
  std::vector<Frame> Decode(const QueryFilter& filter = nullptr) {
    const v1::BatchContent content = writer_.TakeContent();
    EXPECT_OK(dictionary_.Apply(content.definitions()));
    auto decoded = testing::Decode(content, &dictionary_, {}, filter);
    EXPECT_OK(decoded);
    losses_ = decoded->losses;
    return std::move(decoded->frames);
  }

  SchemaTable schemas_;
  Dictionary dictionary_{7, &schemas_, nullptr, {}};
  BatchWriter writer_;
  std::vector<Loss> losses_;
  const uint32_t machine_ = writer_.Machine("web-1");
  const uint32_t disk_ = writer_.Counterset(testing::DiskRegistration());
  const uint32_t query_ =
      writer_.Query(machine_, disk_, absl::Seconds(1),
                    {{testing::kTransfers}, {testing::kQueueLength, 4}});
  const uint32_t c_ = writer_.Instance(machine_, disk_, "C:", 5);
  const uint32_t d_ = writer_.Instance(machine_, disk_, "D:", 6, 1);
};

TEST_F(BatchDecoder, DecodesEveryValue) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {10, 3}}, {d_, {7, 3}}});
  writer_.AddTick(query_, ClocksAt(2), {{c_, {25, 2}}, {d_, {7, 3}}});
  writer_.AddTick(query_, ClocksAt(3), {{c_, {5, 0}}, {d_, {7, 3}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]),
              ElementsAre("1 C: 10 3", "2 C: 25 2", "3 C: 5 0", "1 D: 7 3",
                          "2 D: 7 3", "3 D: 7 3"));
  EXPECT_THAT(*frames[0].clocks,
              ElementsAre(ClocksAt(1), ClocksAt(2), ClocksAt(3)));
}

TEST_F(BatchDecoder, ResolvesIds) {
  writer_.AddTick(query_, ClocksAt(1), {{d_, {7, 3}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  const CollectedQuery& query = *frames[0].query;
  EXPECT_EQ(query.machine, "web-1");
  EXPECT_EQ(query.schema->registration, testing::DiskRegistration());
  EXPECT_EQ(query.interval, absl::Seconds(1));
  EXPECT_THAT(query.columns,
              ElementsAre(CollectedQuery::Column{testing::kTransfers, 8},
                          CollectedQuery::Column{testing::kQueueLength, 4}));
  ASSERT_EQ(frames[0].runs.size(), 1);
  const Instance& instance = *frames[0].runs[0].instance;
  EXPECT_EQ(instance.name, "D:");
  EXPECT_EQ(instance.instance_id, 6);
  EXPECT_EQ(instance.occurrence, 1);
  EXPECT_EQ(instance.life, MakeLife(7, d_));
}

TEST_F(BatchDecoder, DecodesAbsentInstances) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {1, 0}}});
  writer_.AddTick(query_, ClocksAt(2), {{c_, {2, 0}}, {d_, {20, 0}}});
  writer_.AddTick(query_, ClocksAt(3), {{d_, {30, 0}}});
  writer_.AddTick(query_, ClocksAt(4), {{d_, {40, 0}}, {c_, {4, 0}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]),
              ElementsAre("1 C: 1 0", "2 C: 2 0", "2 D: 20 0", "3 D: 30 0",
                          "4 D: 40 0", "4 C: 4 0"));
}

TEST_F(BatchDecoder, DecodesMissingValues) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {1, 9}}, {d_, {{}, 9}}});
  writer_.AddTick(query_, ClocksAt(2), {{c_, {{}, 9}}, {d_, {20, 9}}});
  writer_.AddTick(query_, ClocksAt(3), {{c_, {3, 9}}, {d_, {30, {}}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]),
              ElementsAre("1 C: 1 9", "2 C: - 9", "3 C: 3 9", "1 D: - 9",
                          "2 D: 20 9", "3 D: 30 -"));
}

TEST_F(BatchDecoder, DecodesDifferencesModulo2To64) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {UINT64_MAX, 0}}});
  writer_.AddTick(query_, ClocksAt(2), {{c_, {0, 0}}});
  writer_.AddTick(query_, ClocksAt(3), {{c_, {uint64_t{1} << 63, 0}}});
  writer_.AddTick(query_, ClocksAt(4), {{c_, {UINT64_MAX, 0}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(
      ToText(frames[0]),
      ElementsAre("1 C: 18446744073709551615 0", "2 C: 0 0",
                  "3 C: 9223372036854775808 0", "4 C: 18446744073709551615 0"));
}

TEST_F(BatchDecoder, DecodesClocksThatRunBackwards) {
  perflib::Clocks first{INT64_MAX, INT64_MIN, INT64_MAX};
  perflib::Clocks second{INT64_MIN, INT64_MAX, INT64_MIN};
  writer_.AddTick(query_, first, {{c_, {1, 0}}});
  writer_.AddTick(query_, second, {{c_, {1, 0}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(*frames[0].clocks, ElementsAre(first, second));
}

TEST_F(BatchDecoder, SharesClocksWithinAMessage) {
  const uint32_t memory = writer_.Counterset(testing::MemoryRegistration());
  const uint32_t other =
      writer_.Query(machine_, memory, absl::Seconds(1), {{1}});
  const uint32_t single = writer_.Instance(machine_, memory);
  for (const int t : {1, 2}) {
    const uint64_t value = static_cast<uint64_t>(t);
    writer_.AddBlock(
        1, ClocksAt(t),
        {{query_, {{c_, {value, 0}}}}, {other, {{single, {value}}}}});
  }
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 2);
  EXPECT_EQ(frames[0].clocks, frames[1].clocks);
  EXPECT_THAT(ToText(frames[1]), ElementsAre("1  1", "2  2"));
}

TEST_F(BatchDecoder, DecodesFailedTicks) {
  constexpr uint32_t kErrorNoData = 232;
  writer_.AddBlock(1, ClocksAt(1), {{query_, {{c_, {1, 0}}}}});
  writer_.AddBlock(1, ClocksAt(2), {{query_, {}, kErrorNoData}});
  writer_.AddBlock(1, ClocksAt(3), {{query_, {{c_, {3, 0}}}}});
  std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]), ElementsAre("1 C: 1 0", "3 C: 3 0"));
  ASSERT_EQ(frames[0].failures.size(), 1);
  EXPECT_EQ(frames[0].failures[0].tick, 1);
  EXPECT_EQ(frames[0].failures[0].status, kErrorNoData);

  // A query that failed in all ticks has no columns.
  writer_.AddBlock(1, ClocksAt(4), {{query_, {}, 0}});
  frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]), IsEmpty());
  EXPECT_EQ(frames[0].failures.size(), 1);
}

TEST_F(BatchDecoder, OmitsUnwantedQueries) {
  const uint32_t other_machine = writer_.Machine("web-2");
  const uint32_t other =
      writer_.Query(other_machine, disk_, absl::Seconds(1), {{1}});
  writer_.AddTick(query_, ClocksAt(1), {{c_, {1, 0}}});
  writer_.AddTick(other, ClocksAt(1), {{c_, {2}}});
  const std::vector<Frame> frames = Decode(
      [](const CollectedQuery& query) { return query.machine == "web-2"; });
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]), ElementsAre("1 C: 2"));
}

TEST_F(BatchDecoder, DecodesLossesWithCauses) {
  const struct {
    v1::LossCause cause;
    LossCause expected;
  } kCases[] = {
      {v1::LOSS_CAUSE_UNSPECIFIED, LossCause::kUnknown},
      {v1::LOSS_CAUSE_SPOOL_FULL, LossCause::kSpoolFull},
      {v1::LOSS_CAUSE_SPOOL_EXPIRED, LossCause::kSpoolExpired},
      {v1::LOSS_CAUSE_SPOOL_DAMAGED, LossCause::kSpoolDamaged},
      {v1::LOSS_CAUSE_DISK_FULL, LossCause::kDiskFull},
      {v1::LOSS_CAUSE_REJECTED, LossCause::kRejected},
      {v1::LOSS_CAUSE_OVERRUN, LossCause::kOverrun},
      {v1::LOSS_CAUSE_SOURCE_FAILED, LossCause::kSourceFailed},
      {static_cast<v1::LossCause>(99), LossCause::kUnknown},
  };
  const absl::Time end = testing::kStart + absl::Seconds(2.5);
  for (const auto& test : kCases) {
    writer_.Lose("web-1", testing::kStart, end, 3, test.cause);
    EXPECT_THAT(Decode(), IsEmpty());
    ASSERT_EQ(losses_.size(), 1);
    EXPECT_EQ(losses_[0].machine, "web-1");
    EXPECT_EQ(losses_[0].start, testing::kStart);
    EXPECT_EQ(losses_[0].end, end);
    EXPECT_EQ(losses_[0].ticks, 3);
    EXPECT_EQ(losses_[0].cause, test.expected);
  }
}

TEST_F(BatchDecoder, ReadsCompressedAndUncompressedPayloads) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {10, 3}}});
  const v1::BatchContent content = writer_.TakeContent();
  for (const auto compression : {v1::COMPRESSION_NONE, v1::COMPRESSION_ZSTD}) {
    const v1::Batch batch = MakeBatch(1, 1, content, compression);
    ASSERT_OK_AND_ASSIGN(const BatchContents contents, ParseBatch(batch, {}));
    EXPECT_EQ(contents.definitions->SerializeAsString(),
              content.definitions().SerializeAsString());
    EXPECT_THAT(contents.blocks,
                ElementsAre(content.blocks(0).SerializeAsString()));
  }
}

TEST_F(BatchDecoder, MergesSplitMessages) {
  v1::BatchContent first;
  first.mutable_definitions()->add_machines()->set_name("web-1");
  first.add_retired_instances(1);
  v1::BatchContent second;
  second.mutable_definitions()->add_machines()->set_name("web-2");
  second.add_retired_instances(2);
  second.add_retired_instances(300);
  const std::string bytes =
      first.SerializeAsString() + second.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const BatchContents contents, ParseContents(bytes));
  EXPECT_THAT(contents.retired_instances, ElementsAre(1, 2, 300));
  ASSERT_EQ(contents.definitions->machines_size(), 2);
  EXPECT_EQ(contents.definitions->machines(1).name(), "web-2");
}

TEST_F(BatchDecoder, AcceptsRepeatedDefinitions) {
  writer_.AddTick(query_, ClocksAt(1), {{c_, {1, 0}}});
  EXPECT_EQ(Decode().size(), 1);
  // As if the agent did not know whether the first definitions arrived.
  EXPECT_OK(dictionary_.Apply(writer_.definitions()));
  writer_.AddTick(query_, ClocksAt(2), {{c_, {2, 0}}});
  const std::vector<Frame> frames = Decode();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(ToText(frames[0]), ElementsAre("2 C: 2 0"));
}

}  // namespace
}  // namespace fleetperf::aggregator
