// Tests of the agents' plans and of the versions that distinguish them.

#include "aggregator/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/support/simulated_clock.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Machine Agent(const std::string& name) {
  v1::Machine agent;
  agent.set_name(name);
  return agent;
}

PlanEntry Entry(const std::string& machines, const std::string& counterset) {
  return {.name = counterset,
          .machines = {perflib::Pattern(machines)},
          .queries = {{.counterset = counterset}}};
}

std::vector<std::string> Countersets(const v1::Plan& plan) {
  std::vector<std::string> names;
  if (plan.includes_own()) names.push_back("own");
  for (const v1::PlannedQuery& query : plan.queries()) {
    names.push_back(query.counterset());
  }
  return names;
}

v1::PlannedQuery Query(const std::string& counterset) {
  return ToProto(PlannedQuery{.counterset = counterset, .meanwhile = true});
}

class PlannerTest : public ::testing::Test {
 protected:
  std::vector<std::string> Planned(const std::string& agent) const {
    return Countersets(planner_.PlanFor(Agent(agent)));
  }
  uint64_t Version() const {
    return planner_.PlanFor(Agent("web-1")).version();
  }

  testing::SimulatedClock clock_;
  Planner planner_{
      {Entry("web-*", "System"), Entry("db-*", "Disk"), Entry("*-1", "Memory")},
      &clock_};
};

TEST_F(PlannerTest, PlansQueriesOfAllMatchingEntriesInOrder) {
  EXPECT_THAT(Planned("web-1"), ElementsAre("System", "Memory"));
  EXPECT_THAT(Planned("web-2"), ElementsAre("System"));
  EXPECT_THAT(Planned("db-1"), ElementsAre("Disk", "Memory"));
}

TEST_F(PlannerTest, PlansTheAgentsOwnQueriesIfNoEntryMatches) {
  const v1::Plan plan = planner_.PlanFor(Agent("mail-2"));
  EXPECT_TRUE(IsAgentsOwn(plan));
  EXPECT_EQ(plan.version(), 0);
  // An entry without queries is a plan that collects nothing.
  planner_.SetEntries({{.name = "quiet"}});
  EXPECT_FALSE(IsAgentsOwn(planner_.PlanFor(Agent("mail-2"))));
  EXPECT_THAT(Planned("mail-2"), IsEmpty());
}

TEST_F(PlannerTest, PlansTheInstanceRulesOfAllMatchingEntries) {
  PlanEntry all = Entry("*", "System");
  all.rules = {{.counterset = "LogicalDisk", .exclude = {"/mnt/*"}}};
  PlanEntry web = Entry("web-*", "Memory");
  web.rules = {{.counterset = "PhysicalDisk",
                .include = {"sd*", "nvme*"},
                .exclude = {"sdz"}}};
  planner_.SetEntries({all, web});
  const auto rules = [this](const std::string& agent) {
    std::vector<InstanceRule> from;
    const v1::Plan plan = planner_.PlanFor(Agent(agent));
    for (const v1::InstanceRule& rule : plan.instance_rules()) {
      from.push_back(FromProto(rule));
    }
    return from;
  };
  EXPECT_THAT(rules("db-1"), ElementsAre(all.rules[0]));
  EXPECT_THAT(rules("web-1"), ElementsAre(all.rules[0], web.rules[0]));
  const v1::Plan before = planner_.PlanFor(Agent("web-1"));
  web.rules[0].exclude = {"sdy"};
  planner_.SetEntries({all, web});
  EXPECT_FALSE(HaveSameQueries(before, planner_.PlanFor(Agent("web-1"))));
}

TEST_F(PlannerTest, CopiesEveryFieldOfAQuery) {
  planner_.SetEntries({{.name = "p",
                        .queries = {{.counterset = "Disk",
                                     .counters = {"Reads/sec", "id:2"},
                                     .instances = {"sd*"},
                                     .interval = absl::Seconds(30),
                                     .wrap32 = true,
                                     .aggregates = {"Sum"},
                                     .machines = {"db1"},
                                     .name = "p: queries[0]"}}}});
  const v1::Plan plan = planner_.PlanFor(Agent("web-1"));
  ASSERT_EQ(plan.queries_size(), 1);
  const v1::PlannedQuery& query = plan.queries(0);
  EXPECT_EQ(query.counterset(), "Disk");
  EXPECT_THAT(query.counters(), ElementsAre("Reads/sec", "id:2"));
  EXPECT_THAT(query.instances(), ElementsAre("sd*"));
  EXPECT_EQ(query.interval().seconds(), 30);
  EXPECT_TRUE(query.wrap32());
  EXPECT_THAT(query.aggregates(), ElementsAre("Sum"));
  EXPECT_THAT(query.machines(), ElementsAre("db1"));
  EXPECT_EQ(query.name(), "p: queries[0]");
  EXPECT_FALSE(query.meanwhile());
}

TEST_F(PlannerTest, AddsQueriesUntilTheAdditionIsDestroyed) {
  auto first = planner_.Add({{"web-2", {Query("Process")}},
                             {"mail-2", {Query("Process"), Query("Disk")}}});
  auto second = planner_.Add({{"web-2", {Query("Thread")}}});
  EXPECT_THAT(Planned("web-2"), ElementsAre("System", "Process", "Thread"));
  EXPECT_THAT(Planned("mail-2"), ElementsAre("own", "Process", "Disk"));
  EXPECT_TRUE(planner_.HasAddition("mail-2"));
  EXPECT_FALSE(planner_.HasAddition("db-1"));
  first.reset();
  EXPECT_THAT(Planned("web-2"), ElementsAre("System", "Thread"));
  EXPECT_THAT(Planned("mail-2"), ElementsAre("own"));
  EXPECT_FALSE(planner_.HasAddition("mail-2"));
}

TEST_F(PlannerTest, NotifiesTheListenerOfEachChange) {
  std::vector<std::string> heard;
  planner_.SetListener([&] {
    heard = Planned("web-2");  // without a lock
  });
  planner_.SetEntries({Entry("*", "Disk")});
  EXPECT_THAT(heard, ElementsAre("Disk"));
  auto addition = planner_.Add({{"web-2", {Query("Process")}}});
  EXPECT_THAT(heard, ElementsAre("Disk", "Process"));
  addition.reset();
  EXPECT_THAT(heard, ElementsAre("Disk"));
}

TEST_F(PlannerTest, VersionsGrowWithEachChangeAndAcrossRestarts) {
  const uint64_t first = Version();
  planner_.SetEntries({Entry("*", "Disk")});
  const uint64_t second = Version();
  EXPECT_GT(second, first);
  {
    const auto addition = planner_.Add({{"web-1", {Query("Process")}}});
    EXPECT_GT(Version(), second);
  }
  EXPECT_GT(Version(), second + 1);
  // The version grows even if the clock is set back.
  clock_.Step(-absl::Hours(1));
  const uint64_t before = Version();
  planner_.SetEntries({Entry("*", "Disk")});
  EXPECT_GT(Version(), before);
  // A restarted aggregator.
  clock_.Step(absl::Hours(1) + absl::Seconds(1));
  const Planner next({Entry("*", "Disk")}, &clock_);
  EXPECT_GT(next.PlanFor(Agent("web-1")).version(), Version());
}

TEST(HaveSameQueries, ComparesEverythingButTheVersion) {
  v1::Plan plan;
  plan.set_version(1);
  *plan.add_queries() = Query("Disk");
  v1::Plan other = plan;
  other.set_version(2);
  EXPECT_TRUE(HaveSameQueries(plan, other));
  other.mutable_queries(0)->set_wrap32(true);
  EXPECT_FALSE(HaveSameQueries(plan, other));
  other = plan;
  other.set_includes_own(true);
  EXPECT_FALSE(HaveSameQueries(plan, other));
}

}  // namespace
}  // namespace fleetperf::aggregator
