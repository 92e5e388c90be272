#include "agent/deliver/delivery.h"

#include <map>
#include <string>
#include <vector>

#include "proto/conversions.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/gate.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using testing::BatchesOf;
using testing::ContentsOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;

class DeliveryTest : public ::testing::Test {
 protected:
  Delivery& Make(Delivery::Options options = {}) {
    options.epoch = 42;
    options.clock = &clock_;
    delivery_ = std::make_unique<Delivery>(options);
    return *delivery_;
  }

  // Returns a block of the current time with this many instances.
  BlockSamples Block(absl::Duration interval, uint64_t instances = 1) const {
    QuerySamples query;
    query.query = 1;
    for (uint64_t i = 1; i <= instances; ++i) {
      query.instances.push_back(static_cast<uint32_t>(i));
      query.values.push_back(i * 0x9E3779B97F4A7C15);  // hard to compress
    }
    return {.handle = 1,
            .interval = interval,
            .clocks = {.perf_time_100nsec =
                           perflib::PerfTime100NSecFromTime(clock_.Now())},
            .queries = {query}};
  }
  // Takes a tick and advances the clock by its interval.
  void Tick(absl::Duration interval = absl::Seconds(1)) {
    delivery_->Add(Block(interval));
    clock_.Advance(interval);
  }
  // Returns the number of ticks in each batch.
  std::vector<int> BatchSizes() const {
    std::vector<int> sizes;
    for (const v1::BatchContent& content : ContentsOf(delivery_->spool())) {
      sizes.push_back(
          content.blocks_size() == 0 ? 0 : content.blocks(0).perf_freq_size());
    }
    return sizes;
  }
  TickRange TicksOf(uint64_t ticks, absl::Duration duration) const {
    return {
        .ticks = ticks, .start = clock_.Now() - duration, .end = clock_.Now()};
  }

  testing::SimulatedClock clock_;
  std::unique_ptr<Delivery> delivery_;
};

TEST_F(DeliveryTest, SendsTheFirstTickAtOnceAndOthersTogether) {
  Make();
  for (int tick = 0; tick < 35; ++tick) Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 10, 10, 10));
}

TEST_F(DeliveryTest, CutsBatchesByNumberRegardlessOfTimeAndWatchers) {
  Make({.blocks_per_batch = 3});
  for (int tick = 0; tick < 8; ++tick) {
    delivery_->SetLive(tick % 2 == 0);
    Tick(absl::Minutes(tick));
  }
  delivery_->Flush();
  EXPECT_THAT(BatchSizes(), ElementsAre(3, 3, 2));
}

TEST_F(DeliveryTest, HoldsNoTickLongerThanThePeriod) {
  Make({.batch_period = absl::Seconds(10)});
  for (const absl::Duration interval :
       {absl::Milliseconds(950), absl::Milliseconds(1050), absl::Seconds(3),
        absl::Seconds(10), absl::Seconds(60)}) {
    Make();
    Tick();  // the first is sent at once
    std::map<uint64_t, absl::Time> sent_at;
    for (int tick = 0; tick < 100; ++tick) {
      delivery_->Add(Block(interval));
      sent_at.try_emplace(delivery_->spool().open_sequence() - 1, clock_.Now());
      clock_.Advance(interval);
    }
    for (const v1::Batch& batch : BatchesOf(delivery_->spool())) {
      if (batch.sequence() == 1) continue;
      const auto content = testing::ContentOf(batch);
      const absl::Time oldest = perflib::TimeFromPerfTime100NSec(
          content.blocks(0).perf_time_100nsec(0));
      EXPECT_LE(sent_at[batch.sequence()] - oldest, absl::Seconds(10));
    }
  }
}

TEST_F(DeliveryTest, SendsRareTicksAtOnce) {
  Make({.batch_period = absl::Seconds(10)});
  for (int tick = 0; tick < 3; ++tick) Tick(absl::Seconds(60));
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 1, 1));
}

TEST_F(DeliveryTest, SendsEachTickAtOnceWithoutAPeriod) {
  Make({.batch_period = absl::ZeroDuration()});
  for (int tick = 0; tick < 3; ++tick) Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 1, 1));
}

TEST_F(DeliveryTest, SendsEachTickAtOnceWhileWatched) {
  Make();
  for (int tick = 0; tick < 4; ++tick) Tick();
  delivery_->SetLive(true);  // sends the held ticks
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 3));
  Tick();
  Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 3, 1, 1));
  delivery_->SetLive(false);
  for (int tick = 0; tick < 10; ++tick) Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 3, 1, 1, 10));
}

TEST_F(DeliveryTest, SendsHeldTicksWithTheNextTickOnRequest) {
  Make();
  for (int tick = 0; tick < 4; ++tick) Tick();
  delivery_->SetLiveFromNextTick(true);
  EXPECT_THAT(BatchSizes(), ElementsAre(1));
  Tick();
  Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 4, 1));
  delivery_->SetLiveFromNextTick(false);
  for (int tick = 0; tick < 10; ++tick) Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 4, 1, 10));
}

TEST_F(DeliveryTest, TakesTicksWhileABatchIsCompressed) {
  testing::Gate gate;
  delivery_ = std::make_unique<Delivery>(
      Delivery::Options{.clock = &clock_},
      std::make_unique<Spool>(Spool::Options{
          .epoch = 42, .clock = &clock_, .before_seal = [&] { gate.Pass(); }}));
  for (int tick = 0; tick < 3; ++tick) Tick();
  testing::ThreadAtGate flusher(&gate, [&] { delivery_->Flush(); });
  ASSERT_TRUE(flusher.has_stopped());
  EXPECT_TRUE(flusher.LetsRun([&] {
    for (int tick = 0; tick < 4; ++tick) Tick();
    delivery_->SetLiveFromNextTick(true);
  }));
  flusher.Finish();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 2));
  Tick();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 2, 5));
}

TEST_F(DeliveryTest, FlushesHeldTicks) {
  Make();
  delivery_->Flush();
  EXPECT_THAT(BatchSizes(), IsEmpty());
  Tick();
  Tick();
  delivery_->Flush();
  delivery_->Flush();
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 1));
}

TEST_F(DeliveryTest, NotifiesTheListenerOfEachBatch) {
  Make();
  int calls = 0;
  delivery_->SetBatchListener([&] {
    ++calls;
    EXPECT_EQ(delivery_->spool().open_sequence(), calls + 1);
  });
  for (int tick = 0; tick < 12; ++tick) Tick();
  EXPECT_EQ(calls, 2);
  delivery_->Flush();
  EXPECT_EQ(calls, 3);
  delivery_->SetBatchListener(nullptr);
  Tick();
  delivery_->Flush();
  EXPECT_EQ(calls, 3);
}

TEST_F(DeliveryTest, NumbersBatchesConsecutively) {
  Make();
  for (int i = 0; i < 20; ++i) {
    Tick();
    if (i % 3 == 0) delivery_->SetLive(i % 2 == 0);
    if (i % 4 == 0) delivery_->AddLoss("", TicksOf(1, {}), LossCause::kOverrun);
  }
  delivery_->Flush();
  uint64_t expected = 1;
  for (const v1::Batch& batch : BatchesOf(delivery_->spool())) {
    EXPECT_EQ(batch.sequence(), expected++);
  }
  EXPECT_GT(expected, 10);
}

// The size of a batch must stay far below the aggregator's limit.
TEST_F(DeliveryTest, DoesNotHoldLargeBatches) {
  Make();
  Tick();
  for (int tick = 0; tick < 3; ++tick) {
    delivery_->Add(Block(absl::Seconds(1), /*instances=*/100'000));
  }
  EXPECT_THAT(BatchSizes(), ElementsAre(1, 3));
}

TEST_F(DeliveryTest, CompressesIfThatIsSmaller) {
  Make({.batch_period = absl::ZeroDuration()});
  Tick();
  BlockSamples constant = Block(absl::Seconds(1), 1000);
  std::fill(constant.queries[0].values.begin(),
            constant.queries[0].values.end(), 7);
  delivery_->Add(constant);
  const auto batches = BatchesOf(delivery_->spool());
  ASSERT_EQ(batches.size(), 2);
  EXPECT_EQ(batches[0].compression(), v1::COMPRESSION_NONE);
  EXPECT_EQ(batches[0].content_size(), batches[0].payload().size());
  EXPECT_EQ(batches[1].compression(), v1::COMPRESSION_ZSTD);
  EXPECT_LT(batches[1].payload().size(), batches[1].content_size() / 2);
}

TEST_F(DeliveryTest, SendsDefinitionsWithTheirFirstUse) {
  Make();
  const uint32_t machine = delivery_->dictionary().DefineMachine("web-1");
  Tick();
  const uint32_t sda =
      delivery_->dictionary().DefineInstance(machine, 1, "sda", 8, 0);
  Tick();
  delivery_->Flush();
  delivery_->dictionary().RetireInstance(sda);
  Tick();
  delivery_->Flush();
  const auto contents = ContentsOf(delivery_->spool());
  ASSERT_EQ(contents.size(), 3);
  EXPECT_EQ(contents[0].definitions().machines_size(), 1);
  EXPECT_EQ(contents[1].definitions().instances(0).id(), sda);
  EXPECT_FALSE(contents[2].has_definitions());
  EXPECT_THAT(contents[2].retired_instances(), ElementsAre(sda));
}

TEST_F(DeliveryTest, AddsUpLossesOfOneMachineAndCause) {
  Make();
  Tick();
  const absl::Time start = clock_.Now();
  clock_.Advance(absl::Seconds(2));
  delivery_->AddLoss("b", TicksOf(2, absl::Seconds(2)), LossCause::kOverrun);
  clock_.Advance(absl::Seconds(3));
  delivery_->AddLoss("b", TicksOf(3, absl::Seconds(3)), LossCause::kOverrun);
  delivery_->AddLoss("b", TicksOf(1, absl::Seconds(1)),
                     LossCause::kSourceFailed);
  delivery_->AddLoss("a", TicksOf(7, absl::Seconds(1)), LossCause::kOverrun);
  EXPECT_EQ(BatchSizes().size(), 1);
  Tick();
  delivery_->Flush();
  const auto contents = ContentsOf(delivery_->spool());
  std::map<std::string, uint64_t> ticks;
  for (const v1::Loss& loss : contents.back().losses()) {
    ticks[loss.machine() + " " + v1::LossCause_Name(loss.cause())] =
        loss.ticks();
    if (loss.ticks() != 5) continue;
    EXPECT_EQ(FromProto(loss.start()), start);
    EXPECT_EQ(FromProto(loss.end()), start + absl::Seconds(5));
  }
  EXPECT_EQ(ticks, (std::map<std::string, uint64_t>{
                       {"a LOSS_CAUSE_OVERRUN", 7},
                       {"b LOSS_CAUSE_OVERRUN", 5},
                       {"b LOSS_CAUSE_SOURCE_FAILED", 1}}));
  delivery_->AddLoss("c", TicksOf(1, {}), LossCause::kRejected);
  delivery_->Flush();
  const auto last = ContentsOf(delivery_->spool()).back();
  ASSERT_EQ(last.losses_size(), 1);  // once only
  EXPECT_EQ(last.losses(0).cause(), v1::LOSS_CAUSE_REJECTED);
}

TEST_F(DeliveryTest, SendsLossesWithoutTicksWithinThePeriod) {
  Make();
  Tick();
  int losses = 0;
  while (BatchSizes().size() < 2 && ++losses < 100) {
    delivery_->AddLoss("a", TicksOf(1, {}), LossCause::kSourceFailed);
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(losses, AllOf(Gt(1), Le(12)));
  EXPECT_EQ(ContentsOf(delivery_->spool())[1].losses(0).ticks(), losses);
}

// However long the aggregator is unreachable: a batch that reports losses can
// itself be lost.
TEST_F(DeliveryTest, CountsEveryTickThatASmallSpoolDrops) {
  Make({.batch_period = absl::ZeroDuration(), .spool_bytes = 4000});
  const absl::Time start = clock_.Now();
  constexpr int kTicks = 200;
  for (int tick = 0; tick < kTicks; ++tick) {
    delivery_->Add(Block(absl::Seconds(1), /*instances=*/50));
    if (tick == 5) {
      delivery_->AddLoss("a", TicksOf(7, {}), LossCause::kOverrun);
    }
    clock_.Advance(absl::Seconds(1));
  }
  delivery_->spool().Append({}, {});  // reports the last drops
  uint64_t ticks = 0;
  uint64_t overrun = 0;
  absl::Time oldest = clock_.Now();
  for (const v1::BatchContent& content : ContentsOf(delivery_->spool())) {
    for (const v1::BlockColumns& block : content.blocks()) {
      ticks += static_cast<uint64_t>(block.perf_freq_size());
    }
    for (const v1::Loss& loss : content.losses()) {
      oldest = std::min(oldest, FromProto(loss.start()));
      if (loss.cause() == v1::LOSS_CAUSE_OVERRUN) {
        EXPECT_EQ(loss.machine(), "a");
        overrun += loss.ticks();
      } else {
        EXPECT_EQ(loss.cause(), v1::LOSS_CAUSE_SPOOL_FULL);
        EXPECT_EQ(loss.machine(), "");
        ticks += loss.ticks();
      }
    }
  }
  EXPECT_EQ(ticks, kTicks);
  EXPECT_EQ(overrun, 7);
  EXPECT_EQ(oldest, start);
}

// Processes come and go while the aggregator is unreachable.
TEST_F(DeliveryTest, ForgetsInstancesOfDroppedBatches) {
  Make({.batch_period = absl::ZeroDuration(), .spool_bytes = 4000});
  Dictionary& dictionary = delivery_->dictionary();
  for (uint32_t tick = 0; tick < 500; ++tick) {
    const uint32_t instance = dictionary.DefineInstance(1, 2, "sh", tick, 0);
    delivery_->Add(Block(absl::Seconds(1), /*instances=*/50));
    dictionary.RetireInstance(instance);
    clock_.Advance(absl::Seconds(1));
  }
  const size_t held = BatchesOf(delivery_->spool()).size();
  EXPECT_EQ(testing::AllDefinitions(dictionary).instances_size(), held + 1);
  EXPECT_LT(held, 50);
}

}  // namespace
}  // namespace fleetperf::agent
