#include "agent/collect/instance_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Numbers the lives from 1.
class FakeRegistry : public LifeRegistry {
 public:
  uint32_t BeginLife(absl::string_view utf16_name, uint32_t instance_id,
                     uint32_t occurrence, bool is_born) override {
    begun.push_back(absl::StrCat(utf16_name, " ", instance_id, " #", occurrence,
                                 is_born ? " born" : ""));
    return static_cast<uint32_t>(begun.size());
  }
  void EndLife(uint32_t definition) override { ended.push_back(definition); }

  // The lives that ended since the last call.
  std::vector<uint32_t> TakeEnded() { return std::exchange(ended, {}); }

  std::vector<std::string> begun;
  std::vector<uint32_t> ended;
};

class InstanceTrackerTest : public ::testing::Test {
 protected:
  using Instances = std::vector<InstanceTracker::Instance>;

  // Returns the definitions of a block's instances.
  std::vector<uint32_t> Observe(const Instances& instances) {
    tracker_.Observe(instances, /*complete=*/true, &last_clock_, &definitions_);
    return definitions_;
  }
  std::vector<uint32_t> ObservePart(const Instances& instances) {
    tracker_.Observe(instances, /*complete=*/false, &last_clock_,
                     &definitions_);
    return definitions_;
  }

  FakeRegistry registry_;
  InstanceTracker tracker_{&registry_};
  std::optional<uint64_t> last_clock_;
  std::vector<uint32_t> definitions_ = {99};  // is replaced
};

TEST_F(InstanceTrackerTest, ALifeContinuesWhileTheInstanceExists) {
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(1, 2));
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(1, 2));
  EXPECT_THAT(Observe({{"b", 2}, {"c", 3}, {"a", 1}}), ElementsAre(2, 3, 1));
  EXPECT_THAT(registry_.begun, ElementsAre("a 1 #0", "b 2 #0", "c 3 #0"));
  EXPECT_THAT(registry_.ended, IsEmpty());
}

TEST_F(InstanceTrackerTest, NameAndIdTogetherIdentifyAnInstance) {
  EXPECT_THAT(Observe({{"a", 1}, {"a", 2}, {"b", 1}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Observe({{"a", 2}, {"b", 1}, {"a", 1}}), ElementsAre(2, 3, 1));
  // These names and ids are equal when concatenated.
  EXPECT_THAT(Observe({{"1 a", 1}, {"a", 11}, {"1a", 1}}),
              ElementsAre(4, 5, 6));
}

TEST_F(InstanceTrackerTest, AnAbsentInstanceBeginsANewLife) {
  Observe({{"a", 1}, {"b", 2}});
  EXPECT_THAT(Observe({{"b", 2}}), ElementsAre(2));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(3, 2));
  EXPECT_THAT(Observe({}), IsEmpty());
  EXPECT_THAT(registry_.TakeEnded(), UnorderedElementsAre(2, 3));
}

TEST_F(InstanceTrackerTest, AReplacedInstanceBeginsANewLife) {
  Observe({{"a", 1}});
  EXPECT_THAT(Observe({{"b", 1}}), ElementsAre(2));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1}}), ElementsAre(3));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(2));
}

TEST_F(InstanceTrackerTest, AChangedStartBeginsANewLife) {
  EXPECT_THAT(Observe({{"a", 1, 1000}}), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1, 1000}}), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1, 2000}}), ElementsAre(2));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1, 1000}}), ElementsAre(3));
  EXPECT_THAT(Observe({{"a", 1, 0}}), ElementsAre(4));
}

TEST_F(InstanceTrackerTest, AMissingStartChangesNothing) {
  Observe({{"a", 1, 1000}, {"b", 2}});
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2, 500}}), ElementsAre(1, 2));
  EXPECT_THAT(Observe({{"a", 1, 1000}, {"b", 2, 500}}), ElementsAre(1, 2));
  EXPECT_THAT(registry_.ended, IsEmpty());
  // Both starts are known.
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(1, 2));
  EXPECT_THAT(Observe({{"a", 1, 1001}, {"b", 2, 501}}), ElementsAre(3, 4));
}

TEST_F(InstanceTrackerTest, ALifeThatStartsAfterTheBlockBeforeIsBorn) {
  const auto at = [](uint64_t clock, absl::string_view name, uint64_t start) {
    return InstanceTracker::Instance{name, 1, start, clock};
  };
  Observe({at(100, "old", 40)});
  // The clock of a block is that of any of its instances.
  Observe({at(200, "old", 40), {"new", 1, 150}, at(200, "late", 100)});
  // A block without a clock; then a process id that is used again.
  Observe({{"old", 1, 40}});
  Observe({at(300, "old", 201)});
  EXPECT_THAT(registry_.begun, ElementsAre("old 1 #0", "new 1 #0 born",
                                           "late 1 #0", "old 1 #0 born"));
}

// Two queries, of which the first one wants only some instances.
TEST_F(InstanceTrackerTest, ALifeIsBornForTheQueryThatWantsIt) {
  std::optional<uint64_t> of_some;
  std::optional<uint64_t> of_all;
  std::optional<uint64_t> of_later_plan;
  const auto tick = [&](uint64_t clock, const std::string& name, uint64_t start,
                        std::optional<uint64_t>* last_clock, bool wanted) {
    const Instances instances = {{name, 1, start, clock, wanted}};
    tracker_.Observe(instances, /*complete=*/true, last_clock, &definitions_);
  };
  tick(100, "old", 40, &of_some, false);
  tick(100, "old", 40, &of_all, true);
  tick(200, "new", 150, &of_some, false);
  tick(200, "new", 150, &of_all, true);
  // An earlier block had the instance.
  tick(300, "unwanted", 250, &of_some, false);
  tick(400, "unwanted", 250, &of_later_plan, true);
  EXPECT_THAT(registry_.begun,
              ElementsAre("old 1 #0", "new 1 #0 born", "unwanted 1 #0"));
}

TEST_F(InstanceTrackerTest, AnIncompleteListEndsNoLife) {
  Observe({{"a", 1}, {"b", 2}, {"c", 3}});
  EXPECT_THAT(ObservePart({{"a", 1}}), ElementsAre(1));
  EXPECT_THAT(ObservePart({}), IsEmpty());
  EXPECT_THAT(ObservePart({{"d", 4}, {"c", 3}}), ElementsAre(4, 3));
  EXPECT_THAT(registry_.ended, IsEmpty());
  EXPECT_THAT(Observe({{"a", 1}, {"c", 3}, {"d", 4}}), ElementsAre(1, 3, 4));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(2));
}

TEST_F(InstanceTrackerTest, AChangedStartInAnIncompleteListBeginsANewLife) {
  Observe({{"a", 1, 1000}, {"b", 2, 1000}});
  EXPECT_THAT(ObservePart({{"a", 1, 2000}}), ElementsAre(3));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(1));
}

TEST_F(InstanceTrackerTest, TwinsAreDistinguishedByTheirOrder) {
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}, {"a", 1}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(registry_.begun, ElementsAre("a 1 #0", "b 2 #0", "a 1 #1"));
  EXPECT_THAT(Observe({{"a", 1}, {"a", 1}, {"b", 2}}), ElementsAre(1, 3, 2));
  EXPECT_THAT(registry_.ended, IsEmpty());
}

TEST_F(InstanceTrackerTest, AllTwinsBeginNewLivesWhenTheirNumberChanges) {
  Observe({{"a", 1}, {"b", 2}});
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}, {"a", 1}}), ElementsAre(3, 2, 4));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(1));
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(5, 2));
  EXPECT_THAT(registry_.TakeEnded(), UnorderedElementsAre(3, 4));
  EXPECT_THAT(Observe({{"b", 2}}), ElementsAre(2));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(5));
}

TEST_F(InstanceTrackerTest, ARestartedTwinDoesNotAffectTheOther) {
  Observe({{"a", 1, 10}, {"a", 1, 20}});
  EXPECT_THAT(Observe({{"a", 1, 10}, {"a", 1, 30}}), ElementsAre(1, 3));
  EXPECT_THAT(registry_.TakeEnded(), ElementsAre(2));
  EXPECT_EQ(registry_.begun.back(), "a 1 #1");
}

TEST_F(InstanceTrackerTest, AnIncompleteListMayLackTwins) {
  Observe({{"a", 1}, {"a", 1}, {"a", 1}});
  EXPECT_THAT(ObservePart({{"a", 1}}), ElementsAre(1));
  EXPECT_THAT(registry_.ended, IsEmpty());
  EXPECT_THAT(Observe({{"a", 1}, {"a", 1}, {"a", 1}}), ElementsAre(1, 2, 3));
  // More twins are certain, even in an incomplete list.
  EXPECT_THAT(ObservePart({{"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}}),
              ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(registry_.TakeEnded(), UnorderedElementsAre(1, 2, 3));
}

TEST_F(InstanceTrackerTest, EndAllEndsEveryLifeOnce) {
  Observe({{"a", 1}, {"a", 1}, {"b", 2}});
  tracker_.EndAll();
  EXPECT_THAT(registry_.TakeEnded(), UnorderedElementsAre(1, 2, 3));
  tracker_.EndAll();
  EXPECT_THAT(registry_.ended, IsEmpty());
  EXPECT_THAT(Observe({{"a", 1}, {"b", 2}}), ElementsAre(4, 5));
}

TEST_F(InstanceTrackerTest, EveryLifeEndsAtMostOnce) {
  // Instances that come, go, move and have twins, by a fixed rule.
  std::vector<uint32_t> ended;
  for (uint32_t tick = 0; tick < 500; ++tick) {
    Instances instances;
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t random = (tick / (i + 1) * 2654435761u + i * 40503u) >> 16;
      if (random % 3 == 0) continue;
      for (uint32_t twin = 0; twin <= random % 2; ++twin) {
        instances.push_back({i % 2 == 0 ? "even" : "odd", i / 2});
      }
    }
    const auto definitions =
        tick % 7 == 0 ? ObservePart(instances) : Observe(instances);
    EXPECT_EQ(definitions.size(), instances.size());
    for (const uint32_t end : registry_.TakeEnded()) ended.push_back(end);
    for (const uint32_t definition : definitions) {
      EXPECT_THAT(ended, ::testing::Not(::testing::Contains(definition)));
    }
  }
  tracker_.EndAll();
  for (const uint32_t end : registry_.TakeEnded()) ended.push_back(end);
  std::sort(ended.begin(), ended.end());
  EXPECT_EQ(ended.size(), registry_.begun.size());
  EXPECT_EQ(std::adjacent_find(ended.begin(), ended.end()), ended.end());
}

}  // namespace
}  // namespace fleetperf::agent
