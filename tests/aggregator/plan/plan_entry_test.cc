// Tests of reading the list "plans" of a configuration file, and of matching
// its entries to agents.

#include "aggregator/plan/plan_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

absl::StatusOr<std::vector<PlanEntry>> Read(const std::string& yaml) {
  auto file = ConfigFile::Parse(yaml, "/etc/fleetperf/aggregator.yaml");
  if (!file.ok()) return file.status();
  ConfigSection root = file->root();
  std::vector<PlanEntry> entries = ReadPlans(root);
  const absl::Status status = file->Finish();
  if (!status.ok()) return status;
  return entries;
}

// Returns whether an entry with these selectors matches web-1, a Linux machine
// in rack r12.
bool MatchesWeb1(const std::string& selectors) {
  const auto entries =
      Read("plans: [{name: p, queries: [], " + selectors + "}]");
  EXPECT_OK(entries);
  if (!entries.ok()) return false;
  v1::Machine agent;
  agent.set_name("web-1");
  agent.set_operating_system("Linux 6.1.0");
  (*agent.mutable_labels())["rack"] = "r12";
  (*agent.mutable_labels())["role"] = "web";
  return entries->front().Matches(agent);
}

TEST(ReadPlans, ReadsQueriesInTheFormatOfAgents) {
  ASSERT_OK_AND_ASSIGN(const auto entries, Read(R"(
plans:
  - name: all
    queries:
      - counterset: System
      - {counterset: Memory, counters: 'Page*', interval: 1m, wrap32: true}
  - name: web
    machines: web-*
    queries: [{counterset: Disk, instances: [sda, sdb], machines: db1}]
)"));
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].name, "all");
  EXPECT_THAT(entries[0].queries,
              ElementsAre(PlannedQuery{.counterset = "System",
                                       .name = "all: queries[0]"},
                          PlannedQuery{.counterset = "Memory",
                                       .counters = {"Page*"},
                                       .interval = absl::Minutes(1),
                                       .wrap32 = true,
                                       .name = "all: queries[1]"}));
  EXPECT_THAT(entries[1].queries,
              ElementsAre(PlannedQuery{.counterset = "Disk",
                                       .instances = {"sda", "sdb"},
                                       .machines = {"db1"},
                                       .name = "web: queries[0]"}));
}

TEST(ReadPlans, ReadsInstanceRules) {
  ASSERT_OK_AND_ASSIGN(const auto entries, Read(R"(
plans:
  - name: all
    queries: []
    include: {PhysicalDisk: 'nvme*'}
    exclude:
      LogicalDisk: [/mnt/nas, '/net/*']
      PhysicalDisk: [nvme9n1]
)"));
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_THAT(entries[0].rules,
              ElementsAre(InstanceRule{.counterset = "LogicalDisk",
                                       .exclude = {"/mnt/nas", "/net/*"}},
                          InstanceRule{.counterset = "PhysicalDisk",
                                       .include = {"nvme*"},
                                       .exclude = {"nvme9n1"}}));
}

TEST(ReadPlans, ReturnsNoPlansWithoutTheList) {
  EXPECT_THAT(Read("{}").value(), IsEmpty());
  EXPECT_THAT(Read("plans: []").value(), IsEmpty());
}

TEST(ReadPlans, ReportsErrorsWithFileAndLine) {
  const struct {
    const char* yaml;
    const char* error;
  } kCases[] = {
      {"plans:\n- queries: []\n",
       "aggregator.yaml:2: plans[0].name: is missing"},
      {"plans:\n- name: a\n",
       "aggregator.yaml:2: plans[0].queries: is missing; write [] for agents "
       "that collect nothing"},
      {"plans:\n- name: a\n  queries: []\n- name: a\n  queries: []\n",
       "aggregator.yaml:4: plans[1].name: two plans are named \"a\""},
      {"plans:\n- name: a\n  machine: b\n  queries: []\n",
       "aggregator.yaml:3: unknown key \"machine\" in plans[0]; did you mean "
       "\"machines\"?"},
      {"plans:\n- name: a\n  machines: []\n  queries: []\n",
       "aggregator.yaml:3: plans[0].machines: is empty"},
      {"plans:\n- name: a\n  operating_system: ''\n  queries: []\n",
       "aggregator.yaml:3: plans[0].operating_system: is empty"},
      {"plans:\n- name: a\n  labels: {}\n  queries: []\n",
       "aggregator.yaml:3: plans[0].labels: is empty"},
      {"plans:\n- name: a\n  labels: [role]\n  queries: []\n",
       "aggregator.yaml:3: plans[0].labels: expected"},
      {"plans:\n- name: a\n  queries:\n  - counterset: System\n"
       "    interval: 100ms\n",
       "aggregator.yaml:5: plans[0].queries[0].interval: 100ms is too short"},
      {"plans:\n- name: a\n  queries: []\n  exclude: [/mnt]\n",
       "aggregator.yaml:4: plans[0].exclude: expected \"name: [values]\""},
      {"plans:\n- name: a\n  queries: []\n  exclude: {A: {b: c}}\n",
       "aggregator.yaml:4: plans[0].exclude: expected \"name: [values]\""},
      {"plans:\n- name: a\n  queries: []\n  include: {LogicalDisk: []}\n",
       "aggregator.yaml:4: plans[0].include: \"LogicalDisk\" needs a "
       "counterset's name and at least one pattern"},
      {"plans:\n- name: a\n  queries:\n  - counters: x\n",
       "aggregator.yaml:4: plans[0].queries[0].counterset: is missing"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Read(test.yaml), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(test.error)))
        << test.yaml;
  }
}

TEST(PlanEntry, MatchesAgentsThatMatchAllSelectors) {
  const struct {
    const char* selectors;
    bool matches;
  } kCases[] = {
      {"", true},
      {"machines: WEB-1", true},
      {"machines: [db-*, 'web-?']", true},
      {"machines: [db-*, web-2]", false},
      {"operating_system: Linux*", true},
      {"operating_system: Linux", false},
      {"operating_system: Windows*", false},
      {"labels: {rack: r12}", true},
      {"labels: {rack: r1*, role: web}", true},
      {"labels: {rack: r12, role: db}", false},
      {"labels: {Rack: r12}",
       false},  // unlike names, labels are case-sensitive
      {"labels: {floor: '*'}", false},
      {"machines: web-*, operating_system: Linux*, labels: {role: web}", true},
      {"machines: web-*, operating_system: Windows*", false},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(MatchesWeb1(test.selectors), test.matches) << test.selectors;
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
