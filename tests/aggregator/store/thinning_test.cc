// Thinning of old samples, and removal of data from a store that is too large.
// range_query_property_test checks that query results stay the same.

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/store.h"
#include "tests/support/countersets.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/query_results.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using testing::TestStore;

// Adds one transfer per second, for `seconds` seconds starting at `first`.
void Count(int first, int seconds, OneDiskAgent* agent) {
  for (int i = first; i < first + seconds; ++i) {
    agent->Tick(i, static_cast<uint64_t>(1000 + i));
  }
  ASSERT_OK(agent->Send(kStart + absl::Seconds(first + seconds)));
}

TEST(Thinning, RetainsTheLastSampleOfEachMinute) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  Count(1, 150, &agent);
  ASSERT_OK(store.Compact());
  ASSERT_OK(store.Thin(Resolution::kMinute));
  const auto left = ElementsAre("60 C: 1060", "120 C: 1120", "150 C: 1150");
  EXPECT_THAT(store.Read("web-1"), left);
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"), left);
  ASSERT_OK(store.Thin(Resolution::kHour));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("150 C: 1150"));
}

TEST(Thinning, SkipsChunksThatWouldNotShrink) {
  TestStore store;
  testing::TestAgent agent(&store, "web-1");
  const uint32_t machine = agent.Machine("web-1");
  const uint32_t disk = agent.Counterset(testing::DiskRegistration());
  const uint32_t query =
      agent.Query(machine, disk, absl::Seconds(10), {{testing::kTransfers}});
  const uint32_t c = agent.Instance(machine, disk, "C:");
  for (uint64_t i = 1; i <= 30; ++i) {
    agent.AddTick(query, testing::ClocksAt(10.0 * static_cast<double>(i)),
                  {{c, {i}}});
  }
  ASSERT_OK(agent.Send());
  ASSERT_OK(store.Compact());
  ASSERT_OK(store.Thin(Resolution::kMinute));
  EXPECT_EQ(store.Read("web-1").size(), 30);
  ASSERT_OK(store.Thin(Resolution::kHour));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("300 C: 30"));
}

TEST(Thinning, ThinsWholePeriods) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  for (int hour = 0; hour < 8; ++hour) Count(3600 * hour + 1, 2, &agent);
  ASSERT_OK(store.Compact());
  // Data received within six hours is thinned together. kStart is within such a
  // period.
  const size_t all = store.Read("web-1").size();
  ASSERT_OK(store.Thin(Resolution::kMinute, kStart + absl::Hours(1)));
  EXPECT_EQ(store.Read("web-1").size(), all);
  ASSERT_OK(store.Thin(Resolution::kMinute, kStart + absl::Hours(7)));
  const size_t some = store.Read("web-1").size();
  EXPECT_LT(some, all);
  ASSERT_OK(store.Thin(Resolution::kMinute, kStart + absl::Hours(20)));
  EXPECT_EQ(store.Read("web-1").size(), 8);
  EXPECT_GT(some, 8);
}

// Later samples continue after thinned ones: none is lost, and none is counted
// twice.
TEST(Thinning, ContinuesSeamlesslyAfterThinnedData) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  const auto total = [&] {
    const auto results = testing::CollectRangeQuery(
        {.paths = {"\\Disk(C:)\\Transfers/sec"},
         .start = kStart,
         .end = kStart + absl::Hours(30)},
        {.store = *store, .now_of = [](const std::string&) { return kStart; }});
    EXPECT_OK(results);
    return results->front().total;
  };
  for (int part = 0; part < 4; ++part) {
    Count(1 + 95 * part, 95, &agent);
    ASSERT_OK(store.Compact());
    ASSERT_OK(store.Thin(Resolution::kMinute));
    EXPECT_EQ(total().result.value, 1) << part;
    EXPECT_EQ(total().breaks, 0) << part;
    EXPECT_EQ(total().ratio.denominator, 0);
    EXPECT_NEAR(total().coverage, (95 * (part + 1) - 1) / (30 * 3600.0), 1e-9);
  }
  Count(1 + 95 * 4, 95, &agent);  // not thinned
  EXPECT_EQ(total().result.value, 1);
  EXPECT_EQ(total().breaks, 0);
  EXPECT_NEAR(total().coverage, (95 * 5 - 1) / (30 * 3600.0), 1e-9);
}

// No growth is measured from a value before the retained tick: it would be that
// of 2 s, by a piece of 1 s.
TEST(Thinning, AValueBeforeTheRetainedTickBeginsNoPiece) {
  for (const bool is_absent : {false, true}) {
    TestStore store;
    OneDiskAgent agent(&store, "web-1");
    Count(1, 59, &agent);
    std::vector<testing::TestAgent::Row> rows;
    if (!is_absent) rows.push_back({agent.c, {std::nullopt}});
    agent.AddTick(agent.query, testing::ClocksAt(60), rows);
    ASSERT_OK(agent.Send(kStart + absl::Seconds(60)));
    ASSERT_OK(store.Compact());
    ASSERT_OK(store.Thin(Resolution::kMinute));
    Count(61, 60, &agent);
    const auto results = testing::CollectRangeQuery(
        {.paths = {"\\Disk(C:)\\Transfers/sec"},
         .start = kStart + absl::Seconds(60),
         .end = kStart + absl::Seconds(120)},
        {.store = *store, .now_of = [](const std::string&) { return kStart; }});
    ASSERT_OK(results);
    EXPECT_EQ(results->front().total.result.value, 1) << is_absent;
    EXPECT_EQ(results->front().total.breaks, 1) << is_absent;
  }
}

TEST(Thinning, RetainsTheMaximumOfASecond) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  uint64_t transfers = 0;
  for (int i = 1; i <= 7200; ++i) {
    transfers += i == 4321 ? 777 : 3;
    agent.Tick(i, transfers);
  }
  ASSERT_OK(agent.Send());
  ASSERT_OK(store.Compact());
  ASSERT_OK(store.Thin(Resolution::kMinute));
  ASSERT_OK(store.Thin(Resolution::kHour));
  const auto results = testing::CollectRangeQuery(
      {.paths = {"\\Disk(C:)\\Transfers/sec"},
       .start = kStart,
       .end = kStart + absl::Hours(2),
       .step = absl::Hours(1),
       .over = Over::kMaximum},
      {.store = *store, .now_of = [](const std::string&) { return kStart; }});
  ASSERT_OK(results);
  ASSERT_EQ(results->front().points.size(), 2);
  EXPECT_EQ(results->front().points[0].value.result.value, 3);
  EXPECT_EQ(results->front().points[1].value.result.value, 777);
}

TEST(StoreSize, RemovesDataReceivedFirst) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  std::mt19937_64 random(20261122);
  for (int hour = 0; hour < 10; ++hour) {
    for (int i = 1; i <= 20'000; ++i) agent.Tick(hour * 36e3 + i, random());
    ASSERT_OK(agent.Send(kStart + absl::Hours(10 * hour)));
  }
  ASSERT_OK(store.Compact());
  store.Reopen();  // moves the contents of RocksDB's log to a file
  const std::vector<std::string> all = store.Read("web-1");
  ASSERT_EQ(all.size(), 200'000);
  ASSERT_OK(store->DropTo(uint64_t{1} << 30));
  EXPECT_EQ(store.Read("web-1").size(), all.size());

  ASSERT_OK(store->DropTo(uint64_t{1} << 20));
  const std::vector<std::string> left = store.Read("web-1");
  ASSERT_LT(left.size(), all.size() * 7 / 10);
  ASSERT_GT(left.size(), all.size() / 4);
  EXPECT_TRUE(std::equal(left.rbegin(), left.rend(), all.rbegin()));
  ASSERT_OK(store->DropTo(0));
  EXPECT_THAT(store.Read("web-1"), IsEmpty());
}

// A batch for each of `hours` hours, all received at once: after an outage, an
// agent sends what it has kept.
void SendAtOnce(OneDiskAgent& agent, int hours, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int hour = 0; hour < hours; ++hour) {
    for (int i = 1; i <= 1000; ++i) agent.Tick(hour * 3600 + i, random());
    ASSERT_OK(agent.Send());
  }
}

TEST(StoreSize, RemovesNoMoreThanIsNecessary) {
  constexpr int kMachines = 20;
  constexpr int kHours = 10;
  TestStore store;
  for (int i = 0; i < kMachines; ++i) {
    OneDiskAgent agent(&store, absl::StrCat("web-", i));
    SendAtOnce(agent, kHours, i);
  }
  ASSERT_OK(store.Compact());
  store.Reopen();
  ASSERT_OK(store->DropTo(uint64_t{1} << 30));  // nothing to do
  const uint64_t limit = store->size() * 7 / 10;
  const testing::LogCapture log;
  ASSERT_OK(store->DropTo(limit));
  EXPECT_LE(store->size(), limit);
  EXPECT_GE(store->size(), limit * 9 / 10);
  EXPECT_THAT(log.Lines(),
              ElementsAre(AllOf(
                  HasSubstr("the store is full"), HasSubstr("store.max_size"),
                  HasSubstr("chunks"), HasSubstr("received from"))));
  for (int i = 0; i < kMachines; ++i) {
    const auto left = store.Read(absl::StrCat("web-", i));
    EXPECT_GE(left.size(), 1000 * (kHours * 6 / 10)) << i;
    EXPECT_LE(left.size(), 1000 * (kHours * 7 / 10)) << i;
    EXPECT_THAT(left.back(), HasSubstr(absl::StrCat(9 * 3600 + 1000, " C: ")));
  }
}

// The batches that were moved to chunks still take space in files of the log.
TEST(StoreSize, RemovesNothingIfReleasingSpaceIsEnough) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  SendAtOnce(agent, 100, 1);
  store.Reopen();
  const uint64_t size = store->size();
  ASSERT_OK(store.Compact());
  store.Reopen();
  ASSERT_GT(store->size(), size * 5 / 4);
  const testing::LogCapture log;
  ASSERT_OK(store->DropTo(size * 5 / 4));
  EXPECT_LE(store->size(), size * 5 / 4);
  EXPECT_EQ(store.Read("web-1").size(), 100'000);
  EXPECT_THAT(log.Lines(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
