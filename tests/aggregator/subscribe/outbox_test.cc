#include "aggregator/subscribe/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// A value of each of some series.
std::shared_ptr<FeedUpdate> MakeUpdate(uint32_t series, double value) {
  auto update = std::make_shared<FeedUpdate>();
  for (uint32_t id = 1; id <= series; ++id) {
    auto named = std::make_shared<v1::Series>();
    named->set_id(id);
    SeriesValues values = {.series = std::move(named)};
    values.points.set_series(id);
    values.points.add_time_unix_nanos(1);
    values.points.add_values(value);
    update->values.push_back(std::move(values));
  }
  return update;
}

class OutboxTest : public ::testing::Test {
 protected:
  std::unique_ptr<Outbox> Make() {
    auto outbox = std::make_unique<Outbox>(Choice());
    auto memory = quota_.TryTake(Pool::kUnreadBytes, "reader", 0);
    EXPECT_OK(memory);
    outbox->SetMemory(*std::move(memory));
    outbox->Begin();
    return outbox;
  }
  int64_t held() const { return quota_.counts(Pool::kUnreadBytes).held; }

  CallerQuota quota_;
};

TEST_F(OutboxTest, UnreadValuesOfACallerHaveABound) {
  quota_.SetLimits(Pool::kUnreadBytes, 1 << 20);
  std::vector<std::unique_ptr<Outbox>> outboxes;
  for (int i = 0; i < 20; ++i) {
    outboxes.push_back(Make());
    outboxes.back()->Add(MakeUpdate(1000, i));
    EXPECT_LE(held(), 1 << 20);
  }
  // The first has what it got, the last has lost it.
  Outbox::Message message;
  ASSERT_TRUE(outboxes.front()->Take(&message));
  EXPECT_EQ(message.response.points_size(), 1000);
  ASSERT_TRUE(outboxes.back()->Take(&message));
  EXPECT_EQ(message.response.points_size(), 0);
  EXPECT_EQ(message.response.lagged(), 1000u);
  // When others are read, it gets the next ones.
  outboxes.erase(outboxes.begin(), outboxes.end() - 1);
  outboxes.back()->Add(MakeUpdate(1000, 99));
  ASSERT_TRUE(outboxes.back()->Take(&message));
  EXPECT_EQ(message.response.points_size(), 1000);
  EXPECT_EQ(message.response.series_size(), 1000);
  outboxes.clear();
  EXPECT_EQ(held(), 0);
}

TEST_F(OutboxTest, BytesThatAreBeingSentCount) {
  quota_.SetLimits(Pool::kUnreadBytes, 1 << 20);
  const auto slow = Make();
  slow->SetHeld(1 << 20);
  const auto other = Make();
  other->Add(MakeUpdate(1000, 1));
  EXPECT_EQ(held(), 1 << 20);
  slow->SetHeld(0);
  other->Add(MakeUpdate(1000, 1));
  EXPECT_GT(held(), 1000);
}

TEST_F(OutboxTest, EndsOfKnownSeriesAreKeptWithoutMemory) {
  const auto outbox = Make();
  outbox->Add(MakeUpdate(2, 1));
  Outbox::Message message;
  ASSERT_TRUE(outbox->Take(&message));
  quota_.SetLimits(Pool::kUnreadBytes, 0);
  const auto ended = MakeUpdate(1, 2);
  ended->ended = {2, 77};
  outbox->Add(ended);
  ASSERT_TRUE(outbox->Take(&message));
  EXPECT_THAT(message.response.ended(), ElementsAre(2));
  EXPECT_EQ(message.response.points_size(), 0);
}

TEST_F(OutboxTest, StoredValuesMayExceedAFreeShareOnly) {
  quota_.SetLimits(Pool::kUnreadBytes, 100'000);
  const auto first = Make();
  first->AddHistory(MakeUpdate(1000, 1));  // alone
  EXPECT_GT(held(), 500'000);
  const auto second = Make();
  second->AddHistory(MakeUpdate(1000, 1));
  EXPECT_THAT(second->ended(), ::testing::Optional(StatusIs(
                                   absl::StatusCode::kResourceExhausted,
                                   HasSubstr("values that were not read"))));
  Outbox::Message message;
  ASSERT_TRUE(first->Take(&message));
  EXPECT_EQ(message.response.points_size(), 1000);
}

}  // namespace
}  // namespace fleetperf::aggregator
