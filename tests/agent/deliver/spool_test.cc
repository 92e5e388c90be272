#include "agent/deliver/spool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {
namespace {

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

// Appends a batch of one tick, whose time is its sequence.
void Append(Spool& spool, uint64_t sequence, size_t bytes = 10) {
  v1::Batch batch;
  batch.set_sequence(sequence);
  batch.set_payload(std::string(bytes, 'x'));
  const auto time = At(static_cast<int64_t>(sequence));
  spool.Append(std::move(batch), {.ticks = 1, .start = time, .end = time});
}

// The sequence of the next batch; 0 if there is none.
uint64_t Next(const Spool& spool, uint64_t sequence) {
  const std::shared_ptr<const v1::Batch> batch = spool.Next(sequence);
  return batch == nullptr ? 0 : batch->sequence();
}

void ExpectExtent(const Spool& spool, uint64_t first, uint64_t last) {
  EXPECT_EQ(spool.extent().first, first);
  EXPECT_EQ(spool.extent().last, last);
}

TEST(Spool, HandsOutBatchesInOrder) {
  Spool spool(1000);
  EXPECT_EQ(Next(spool, 0), 0);
  ExpectExtent(spool, 1, 0);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    Append(spool, sequence);
  }
  ExpectExtent(spool, 1, 3);
  EXPECT_EQ(Next(spool, 0), 1);
  EXPECT_EQ(Next(spool, 1), 2);
  EXPECT_EQ(Next(spool, 2), 3);
  EXPECT_EQ(Next(spool, 3), 0);
  EXPECT_EQ(Next(spool, 4), 0);
  EXPECT_EQ(Next(spool, UINT64_MAX), 0);
}

TEST(Spool, KeepsBatchesUntilTheyAreAcknowledged) {
  Spool spool(1000);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    Append(spool, sequence);
  }
  const std::shared_ptr<const v1::Batch> first = spool.Next(0);
  spool.Acknowledge(0);
  ExpectExtent(spool, 1, 5);
  spool.Acknowledge(3);
  ExpectExtent(spool, 4, 5);
  EXPECT_EQ(Next(spool, 0), 4);
  EXPECT_EQ(Next(spool, 4), 5);
  spool.Acknowledge(2);  // late
  ExpectExtent(spool, 4, 5);
  spool.Acknowledge(100);
  ExpectExtent(spool, 6, 5);
  EXPECT_EQ(Next(spool, 0), 0);
  Append(spool, 6);
  ExpectExtent(spool, 6, 6);
  EXPECT_EQ(Next(spool, 0), 6);
  EXPECT_EQ(first->payload().size(), 10);  // while someone has it
  EXPECT_EQ(spool.TakeLost().ticks, 0);
}

TEST(Spool, RemovesWhatIsRejected) {
  Spool spool(1000);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    Append(spool, sequence);
  }
  spool.Reject(3);
  EXPECT_EQ(Next(spool, 2), 4);
  EXPECT_EQ(Next(spool, 4), 5);
  spool.Reject(1);
  spool.Acknowledge(4);
  ExpectExtent(spool, 5, 5);
  spool.Reject(5);
  ExpectExtent(spool, 6, 5);
  spool.Reject(5);  // again; what is not there is counted, too
  EXPECT_EQ(spool.rejected().batches, 4);
  EXPECT_EQ(spool.rejected().ticks, 3);
  EXPECT_TRUE(spool.AwaitAtMost(0, absl::ZeroDuration()));
  EXPECT_EQ(spool.TakeLost().ticks, 0);
}

TEST(Spool, DropsTheOldestWhenItIsFull) {
  Spool spool(30);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    Append(spool, sequence);
  }
  EXPECT_EQ(spool.TakeLost().ticks, 0);
  Append(spool, 4);
  ExpectExtent(spool, 2, 4);
  EXPECT_EQ(Next(spool, 1), 2);
  Append(spool, 5, /*bytes=*/15);
  ExpectExtent(spool, 4, 5);
  const TickRange lost = spool.TakeLost();
  EXPECT_EQ(lost.ticks, 3);
  EXPECT_EQ(lost.start, At(1));
  EXPECT_EQ(lost.end, At(3));
  EXPECT_EQ(spool.TakeLost().ticks, 0);
}

TEST(Spool, HasRoomAgainForWhatWasAcknowledged) {
  Spool spool(30);
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    Append(spool, sequence);
    if (sequence % 3 == 0) spool.Acknowledge(sequence);
  }
  ExpectExtent(spool, 100, 100);
  EXPECT_EQ(spool.TakeLost().ticks, 0);
}

TEST(Spool, KeepsTheNewestWhateverItsSize) {
  Spool spool(30);
  Append(spool, 1, 100);
  ExpectExtent(spool, 1, 1);
  Append(spool, 2, 200);
  ExpectExtent(spool, 2, 2);
  EXPECT_EQ(spool.TakeLost().ticks, 1);
  Append(spool, 3);
  ExpectExtent(spool, 3, 3);
}

TEST(TickRange, CoversWhatItIsExtendedBy) {
  TickRange range;
  range.Extend({.ticks = 2, .start = At(10), .end = At(20)});
  range.Extend({});
  range.Extend({.ticks = 1, .start = At(5), .end = At(5)});
  range.Extend({.ticks = 3, .start = At(15), .end = At(30)});
  EXPECT_EQ(range.ticks, 6);
  EXPECT_EQ(range.start, At(5));
  EXPECT_EQ(range.end, At(30));
}

}  // namespace
}  // namespace fleetperf::agent
