// Stores of versions that distinguished the case of machines' names.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TestStore;

// Renames "web-x" to "WEB-1" in all records, and makes the store one of an
// earlier version.
void Spell(TestStore& store) {
  store.Close();
  {
    ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store.path()));
    Changes changes(database.get());
    ASSERT_OK(database->ForEach(
        Family::kDefault, "",
        [&](absl::string_view key, absl::string_view value) {
          if (!absl::StrContains(key, "web-x") &&
              !absl::StrContains(value, "web-x")) {
            return;
          }
          changes.Delete(Family::kDefault, key);
          changes.Put(Family::kDefault,
                      absl::StrReplaceAll(key, {{"web-x", "WEB-1"}}),
                      absl::StrReplaceAll(value, {{"web-x", "WEB-1"}}));
        }));
    changes.Delete(Family::kDefault, NamesKey());
    ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
  }
  store.Open();
}

void Lose(OneDiskAgent& agent, const std::string& machine, uint64_t ticks) {
  agent.Lose(machine, kStart, kStart, ticks, v1::LOSS_CAUSE_OVERRUN);
}

TEST(NameMigration, JoinsTheSpellingsOfAMachine) {
  TestStore store;
  OneDiskAgent lower(&store, "web-1", 1);
  ASSERT_OK(lower.Connect());
  lower.Tick(1, 10);
  Lose(lower, "web-1", 2);
  ASSERT_OK(lower.Send());
  OneDiskAgent upper(&store, "web-x", 2);
  ASSERT_OK(upper.Connect());
  upper.Tick(5, 50);
  Lose(upper, "web-x", 3);
  ASSERT_OK(upper.Send());
  ASSERT_OK(store.Compact());
  upper.Tick(6, 60);
  ASSERT_OK(upper.Send());
  Spell(store);

  for (int opened = 0; opened < 2; ++opened, store.Reopen()) {
    EXPECT_THAT(store.Read("web-1"),
                ElementsAre("1 C: 10", "5 C: 50", "6 C: 60"));
    EXPECT_THAT(store.ReadLosses("web-1"), SizeIs(2));
    EXPECT_THAT(store->directory().Machines(), ElementsAre("web-1"));
    EXPECT_EQ(store->directory().NewestSample("web-1"),
              kStart + absl::Seconds(6));
    ASSERT_THAT(store->GetMachines(), SizeIs(1));
    EXPECT_EQ(store->GetMachines()[0].machine.name(), "web-1");
    EXPECT_EQ(store->GetMachines()[0].machine.agent(), "web-1");
    EXPECT_THAT(store->LostTicks("web-1", "web-1"),
                ElementsAre(Pair(LossCause::kOverrun, 5)));
    // Batches that are sent again are known.
    ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                         store->OpenEpoch("web-1", 2, {}));
    EXPECT_EQ(epoch.durable_sequence, 2);
    EXPECT_FALSE(epoch.is_new);
  }

  // New data joins the old, in chunks and thinned.
  OneDiskAgent later(&store, "web-1", 3);
  later.Tick(7, 70);
  ASSERT_OK(later.Send());
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"),
              ElementsAre("1 C: 10", "5 C: 50", "6 C: 60", "7 C: 70"));
  store.Reopen();
  EXPECT_THAT(store.Read("web-1"), SizeIs(4));
  EXPECT_EQ(store->directory().NewestSample("web-1"),
            kStart + absl::Seconds(7));
  ASSERT_OK(store->DropBefore(absl::InfiniteFuture()));
  EXPECT_THAT(store.Read("web-1"), IsEmpty());
}

// The agent's configuration changed the spelling while its spool held batches.
TEST(NameMigration, ContinuesAnEpochWhereItsLaterBatchesAre) {
  TestStore store;
  OneDiskAgent lower(&store, "web-1", 7);
  lower.Tick(1, 10);
  ASSERT_OK(lower.Send());
  OneDiskAgent upper(&store, "web-x", 7);
  for (int i = 2; i <= 4; ++i) {
    upper.Tick(i, 10 * i);
    ASSERT_OK(upper.Send());
  }
  Spell(store);
  EXPECT_THAT(store.Read("web-1"), SizeIs(4));
  ASSERT_OK_AND_ASSIGN(const StoredEpoch epoch,
                       store->OpenEpoch("web-1", 7, {}));
  EXPECT_EQ(epoch.durable_sequence, 3);
}

TEST(NameMigration, LeavesOtherMachinesUnchanged) {
  TestStore store;
  OneDiskAgent other(&store, "db-1", 1);
  ASSERT_OK(other.Connect());
  other.Tick(1, 10);
  ASSERT_OK(other.Send());
  OneDiskAgent upper(&store, "web-x", 1);
  ASSERT_OK(upper.Connect());
  upper.Tick(2, 20);
  ASSERT_OK(upper.Send());
  ASSERT_OK(store.Compact());
  Spell(store);
  EXPECT_THAT(store->directory().Machines(), ElementsAre("db-1", "web-1"));
  EXPECT_THAT(store.Read("db-1"), ElementsAre("1 C: 10"));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("2 C: 20"));
}

}  // namespace
}  // namespace fleetperf::aggregator
