// The queries whose values are those of now.

#include "aggregator/export/last_ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQueueLength;
using testing::kTransfers;
using ::testing::UnorderedElementsAre;

constexpr absl::Duration kSecond = absl::Seconds(1);

class FindLastTicksTest : public ::testing::Test {
 protected:
  // Returns the ticks of a query of a counter each second.
  std::shared_ptr<QueryTicks> Query(uint32_t counter) {
    return directory_.AddQuery({.machine = "web-1",
                                .schema = schema_,
                                .interval = kSecond,
                                .thinned_from = {},
                                .columns = {{.counter_id = counter}}});
  }

  // Returns the first counters of the queries.
  std::vector<uint32_t> Found() const {
    std::vector<uint32_t> counters;
    for (const LastTick& tick : FindLastTicks(directory_, "web-1")) {
      counters.push_back(*tick.query->counters().begin());
    }
    return counters;
  }

  const std::shared_ptr<const Schema> schema_ = std::make_shared<const Schema>(
      Schema{.hash = "hash", .registration = testing::DiskRegistration()});
  Directory directory_;
};

TEST_F(FindLastTicksTest, LeavesOutAnEndedQueryAfterAClockWasSetBack) {
  EXPECT_THAT(Found(), IsEmpty());
  const auto ended = Query(kTransfers);
  const auto present = Query(kQueueLength);
  directory_.SetNewestSample("web-1", At(1000));
  ended->Note(At(1000), 50 * kSecond);
  present->Note(At(500), 52 * kSecond);
  // It may have its next tick.
  EXPECT_THAT(Found(), UnorderedElementsAre(kTransfers, kQueueLength));
  present->Note(At(501), 53 * kSecond);
  EXPECT_THAT(Found(), ElementsAre(kQueueLength));
  // The clock reaches the time of the last tick again.
  present->Note(At(1001), 553 * kSecond);
  EXPECT_THAT(Found(), ElementsAre(kQueueLength));
}

// After an outage, ticks arrive faster than they were made.
TEST_F(FindLastTicksTest, LeavesOutAnEndedQueryWhoseTicksArriveLate) {
  directory_.SetNewestSample("web-1", At(1));
  Query(kTransfers)->Note(At(1), kSecond);
  Query(kQueueLength)->Note(At(9), kSecond);
  EXPECT_THAT(Found(), ElementsAre(kQueueLength));
}

}  // namespace
}  // namespace fleetperf::aggregator
