// The parts in which an aggregator sends samples to another one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/sample_answer.h"
#include "aggregator/peers/sample_decoder.h"
#include "fleetperf/v1/peer.pb.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using testing::TestStore;

std::vector<SelectedCounterset> AllDisks(std::shared_ptr<const Schema> schema) {
  return {{.schema = std::move(schema),
           .selections = {{.instance = perflib::Pattern("*"),
                           .counter_ids = {testing::kQueueLength}}}}};
}

ReadableStore::ReadRequest RequestFor(
    const std::vector<SelectedCounterset>& selected) {
  return {.machine = "web-1",
          .from = At(-1000),
          .to = At(1000),
          .selected = &selected};
}

absl::Status Decode(SampleDecoder& decoder,
                    const v1::ReadSamplesResponse& part) {
  return decoder.Decode(
      part, [](const Frame&) { return absl::OkStatus(); }, [](const Loss&) {});
}

// An agent may define names that together are larger than a message, and lose
// as many ticks as it likes.
TEST(SampleParts, AreBoundedWhateverAnAgentSends) {
  constexpr size_t kDisks = 300;
  constexpr size_t kLosses = 60'000;
  TestStore store;
  DiskAgent agent(&store);
  ASSERT_OK(agent.Connect());
  std::vector<std::pair<uint32_t, uint64_t>> rates;
  for (size_t i = 0; i < kDisks; ++i) {
    rates.emplace_back(agent.Disk(absl::StrCat(i, std::string(4000, 'x'))), 1);
  }
  agent.Ticks(0, 1, rates);
  for (size_t i = 0; i < kLosses; ++i) {
    agent.Lose("web-1", At(2), At(3), 1, v1::LOSS_CAUSE_OVERRUN);
  }
  ASSERT_OK(agent.Send());
  const auto selected =
      AllDisks(store->directory().Countersets("web-1").front()->schema);
  const ReadableStore::ReadRequest request = RequestFor(selected);
  SampleDecoder decoder(request);
  size_t parts = 0;
  size_t series = 0;
  size_t losses = 0;
  const auto use = [&](const v1::ReadSamplesResponse& part) {
    ++parts;
    EXPECT_LE(part.ByteSizeLong(), 1 << 20);
    return decoder.Decode(
        part,
        [&](const Frame& frame) {
          series += frame.runs.size();
          return absl::OkStatus();
        },
        [&](const Loss&) { ++losses; });
  };
  ASSERT_OK(AnswerReadSamples(*store, *store, RequestToPeer(request),
                              /*is_cancelled=*/nullptr, use));
  EXPECT_GE(parts, 3);
  EXPECT_EQ(series, kDisks);
  EXPECT_EQ(losses, kLosses);
}

class SampleDecoderTest : public ::testing::Test {
 protected:
  const std::vector<SelectedCounterset> selected_ =
      AllDisks(std::make_shared<const Schema>(
          Schema{.hash = "hash", .registration = testing::DiskRegistration()}));
  const ReadableStore::ReadRequest request_ = RequestFor(selected_);
  SampleDecoder decoder_{request_};
};

TEST_F(SampleDecoderTest, RejectsMoreColumnsThanACountersetCanHave) {
  v1::ReadSamplesResponse part;
  v1::ReadSamplesResponse::Query* query = part.add_queries();
  query->set_interval_nanos(1'000'000'000);
  for (int i = 0; i <= 4096 * 16; ++i) {
    v1::ReadSamplesResponse::Column* column = query->add_columns();
    column->set_counter_id(testing::kQueueLength);
    column->set_value_size(4);
  }
  EXPECT_EQ(Decode(decoder_, part).code(), absl::StatusCode::kDataLoss);
}

TEST_F(SampleDecoderTest, RejectsCountersThatTheCountersetLacks) {
  v1::ReadSamplesResponse part;
  v1::ReadSamplesResponse::Query* query = part.add_queries();
  query->set_interval_nanos(1'000'000'000);
  v1::ReadSamplesResponse::Column* column = query->add_columns();
  column->set_counter_id(testing::kQueueLength);
  column->set_value_size(4);
  ASSERT_OK(Decode(decoder_, part));
  column->set_counter_id(12345);
  EXPECT_EQ(Decode(decoder_, part).code(), absl::StatusCode::kDataLoss);
}

TEST_F(SampleDecoderTest, LimitsTheLossesOfAnAnswer) {
  v1::ReadSamplesResponse part;
  for (int i = 0; i < 200'000; ++i) part.add_losses()->set_ticks(1);
  absl::Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) status = Decode(decoder_, part);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace fleetperf::aggregator
