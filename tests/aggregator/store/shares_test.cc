// Tests of who loses data if the store is full.

#include "aggregator/store/compaction/shares.h"

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::kStart;
using testing::OneDiskAgent;
using testing::TestStore;

// Sends ten batches, one for each tenth hour, of `ticks` ticks each.
void SendTicks(OneDiskAgent& agent, int ticks) {
  std::mt19937_64 random(20261126);
  for (int hour = 0; hour < 10; ++hour) {
    for (int i = 1; i <= ticks; ++i) agent.Tick(hour * 36e3 + i, random());
    ASSERT_OK(agent.Send(kStart + absl::Hours(10 * hour)));
  }
}

void SendHistory(OneDiskAgent& agent, int ticks) {
  ASSERT_OK(agent.Connect());
  SendTicks(agent, ticks);
}

TEST(StoreShares, AnAgentBeyondItsShareLosesDataFirst) {
  TestStore store;
  OneDiskAgent honest(&store, "web-1");
  OneDiskAgent noisy(&store, "web-2");
  SendHistory(honest, 1000);
  SendHistory(noisy, 20'000);
  ASSERT_OK(store.Compact());
  store.Reopen();  // moves the contents of RocksDB's log to a file
  const auto all = store.Read("web-2");
  ASSERT_EQ(all.size(), 200'000);

  ASSERT_OK(store->DropTo(uint64_t{1} << 20));
  EXPECT_EQ(store.Read("web-1").size(), 10'000);
  const auto left = store.Read("web-2");
  EXPECT_LT(left.size(), all.size() * 7 / 10);
  EXPECT_GT(left.size(), all.size() / 4);
  EXPECT_TRUE(std::equal(left.rbegin(), left.rend(), all.rbegin()));
  // The store is too small for the others, too.
  ASSERT_OK(store->DropTo(0));
  EXPECT_EQ(store.Read("web-1").size(), 0);
}

// The aggregator was restarted since the agents connected.
TEST(StoreShares, AnAgentHasOneShareUnderAllNamesOfItsCertificate) {
  TestStore store;
  for (int i = 0; i < 4; ++i) {
    OneDiskAgent honest(&store, absl::StrCat("web-", i));
    SendHistory(honest, 2000);
    OneDiskAgent noisy(&store, absl::StrCat("evil-", i));
    ASSERT_OK(noisy.Connect("certificate"));
    SendTicks(noisy, 5000);
  }
  ASSERT_OK(store.Compact());
  store.Reopen();
  ASSERT_OK(store->DropTo(store->size() * 6 / 10));
  size_t left = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(store.Read(absl::StrCat("web-", i)).size(), 20'000);
    left += store.Read(absl::StrCat("evil-", i)).size();
  }
  EXPECT_LT(left, 4 * 50'000 / 2);
  EXPECT_GT(left, 0);
}

TEST(StoreShares, DefinitionsOfAnAgentEvictNoHistoryOfOthers) {
  TestStore store;
  OneDiskAgent honest(&store, "web-1");
  OneDiskAgent noisy(&store, "web-2");
  SendHistory(honest, 1000);
  SendHistory(noisy, 10);
  std::mt19937_64 random(20261126);
  v1::Definitions definitions;
  for (uint32_t id = 100; id < 20'000; ++id) {
    v1::InstanceDefinition& instance = *definitions.add_instances();
    instance.set_id(id);
    for (int i = 0; i < 200; ++i) {
      instance.mutable_name()->push_back(
          static_cast<char>(' ' + random() % 90));
    }
  }
  ASSERT_OK(
      store->KeepDefinitions(store.Epoch("web-2", 1).number, definitions));
  ASSERT_OK(store.Compact());
  store.Reopen();
  ASSERT_GT(store->size(), uint64_t{2} << 20);
  store.Epoch("web-2", 1);  // an open stream
  ASSERT_OK(store->DropTo(uint64_t{1} << 20));
  EXPECT_EQ(store.Read("web-1").size(), 10'000);
  EXPECT_EQ(store.Read("web-2").size(), 0);
}

TEST(FairShare, IsAQuarterOrAMultipleOfTheMedian) {
  UseByHolder uses;
  EXPECT_EQ(FairShare(uses, 4000), 4000);
  uses["a"] = {.chunks = 100};
  EXPECT_EQ(FairShare(uses, 4000), 1000);
  uses["b"] = {.chunks = 5, .definitions = 5};
  uses["c"] = {.chunks = 10};
  EXPECT_EQ(FairShare(uses, 4000), 160);
  for (const char* gone : {"d", "e", "f", "g"}) uses[gone] = {};
  EXPECT_EQ(FairShare(uses, 4000), 160);
  EXPECT_EQ(ExcessOfDefinitions(uses, 3), 2);
}

}  // namespace
}  // namespace fleetperf::aggregator
