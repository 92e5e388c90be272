#include "agent/collect/plan.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect/registrations.h"
#include "agent/collect/resolve.h"
#include "agent/own_counters.h"
#include "agent/source/combined_source.h"
#include "agent/source/linux/linux_source.h"
#include "fleetperf/v1/configuration.pb.h"
#include "proto/conversions.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

absl::StatusOr<Plan> Read(const std::string& yaml) {
  auto file = ConfigFile::Parse(yaml, "/etc/fleetperf/agent.yaml");
  if (!file.ok()) return file.status();
  const Plan plan = ReadPlan(file->root());
  const absl::Status status = file->Finish();
  if (!status.ok()) return status;
  return plan;
}

TEST(ReadPlan, ReadsQueries) {
  ASSERT_OK_AND_ASSIGN(const Plan plan, Read(R"(
queries:
  - counterset: System
  - counterset: "{b4fc721a-0378-476f-89ba-a5a79f810b36}"
    counters: ["% User Time", "id:3"]
    instances: "*_Total"
    interval: 1m
    wrap32: true
    aggregates: [Sum, "All *"]
)"));
  EXPECT_EQ(plan.version, 0);
  EXPECT_THAT(
      plan.queries,
      ElementsAre(
          PlannedQuery{.counterset = "System", .interval = absl::Seconds(1)},
          PlannedQuery{.counterset = "{b4fc721a-0378-476f-89ba-a5a79f810b36}",
                       .counters = {"% User Time", "id:3"},
                       .instances = {"*_Total"},
                       .interval = absl::Minutes(1),
                       .wrap32 = true,
                       .aggregates = {"Sum", "All *"}}));
}

TEST(ReadPlan, TakesTheDefaultWithoutQueries) {
  for (const char* yaml : {"", "queries:\n"}) {
    ASSERT_OK_AND_ASSIGN(const Plan plan, Read(yaml));
    EXPECT_EQ(plan, DefaultPlan());
  }
  ASSERT_OK_AND_ASSIGN(const Plan nothing, Read("queries: []"));
  EXPECT_THAT(nothing.queries, IsEmpty());
}

TEST(ReadPlan, ReadsInstanceRules) {
  const InstanceRule rule = {.counterset = "LogicalDisk",
                             .include = {"/", "/net/*"},
                             .exclude = {"/net/tape"}};
  const std::string yaml =
      "include: {LogicalDisk: [/, '/net/*']}\n"
      "exclude: {LogicalDisk: /net/tape}\n";
  ASSERT_OK_AND_ASSIGN(Plan plan, Read(yaml));
  EXPECT_THAT(plan.rules, ElementsAre(rule));
  EXPECT_EQ(plan.queries, DefaultPlan().queries);
  ASSERT_OK_AND_ASSIGN(plan, Read(yaml + "queries: [counterset: System]\n"));
  EXPECT_THAT(plan.rules, ElementsAre(rule));
  EXPECT_EQ(plan.queries.size(), 1u);
}

TEST(ReadPlan, RejectsInvalidPlansWithFileAndLine) {
  const struct {
    const char* yaml;
    const char* error;
  } kCases[] = {
      {"queries:\n- counterset: System\n  interval: 500ms\n",
       "agent.yaml:3: queries[0].interval: 500ms is too short: counters are "
       "not meant to be read more than once a second"},
      {"queries:\n- counterset: A\n- counterset: B\n  interval: 0s\n",
       "agent.yaml:4: queries[1].interval: 0 is too short"},
      {"queries:\n- counterset: System\n  interval: 1500ms\n",
       "agent.yaml:3: queries[0].interval: 1.5s is not a whole number of "
       "seconds"},
      {"queries:\n- counterset: System\n  interval: 25h\n",
       "agent.yaml:3: queries[0].interval: 25h is too long"},
      {"queries:\n- counterset: System\n  interval: often\n",
       "agent.yaml:3: queries[0].interval: "},
      {"queries:\n- counterset: System\n  aggregates: [a, '']\n",
       "agent.yaml:3: queries[0].aggregates: a name is empty"},
      {"queries:\n- counterset: System\n  aggregates: '*'\n",
       "agent.yaml:3: queries[0].aggregates: \"*\" would make every instance "
       "an aggregate"},
      {"queries:\n- interval: 5s\n",
       "agent.yaml:2: queries[0].counterset: is missing"},
      {"queries:\n- counterset: System\n  counter: Threads\n",
       "agent.yaml:3: unknown key \"counter\" in queries[0]; did you mean "
       "\"counters\""},
      {"queries:\n- System\n", "agent.yaml:2: queries[0] must consist of"},
      {"queries: System\n", "agent.yaml:1: queries: expected a list"},
      {"queries: []\nexclude: /mnt\n",
       "agent.yaml:2: exclude: expected \"name: [values]\" lines"},
      {"exclude: {'': a}\n",
       "agent.yaml:1: exclude: \"\" needs a counterset's name"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Read(test.yaml), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(test.error)))
        << test.yaml;
  }
}

TEST(ReadPlan, AcceptsTheIntervalLimits) {
  for (const char* interval : {"1s", "24h"}) {
    EXPECT_OK(Read(absl::StrCat(
        "queries: [{counterset: System, interval: ", interval, "}]")));
  }
}

// Every name in the plan exists on this platform, and no counter is listed
// twice.
TEST(DefaultPlan, NamesOnlyExistingCounters) {
  const Delivery delivery(Delivery::Options{});
  const UplinkCounts uplink;
  const CollectionCounts collections;
  const OwnCounterset own =
      MakeOwnCounters({.delivery = &delivery,
                       .uplink = &uplink,
                       .collections = &collections,
                       .certificate_seconds_left = [] { return 0; }});
  const auto source = CombineSources(MakeLinuxSource({.root = "/nowhere"}),
                                     MakeOwnSource(&own));
  std::vector<std::string> warnings;
  ASSERT_OK_AND_ASSIGN(
      const auto registrations,
      LoadRegistrations(*source, {}, std::atomic<bool>(false), &warnings));
  const Resolution resolution =
      ResolvePlan(DefaultPlan(), "web-1", registrations);
  for (const Resolution::Problem& problem : resolution.problems) {
    ADD_FAILURE() << problem.planned << ": " << problem.message;
  }
  EXPECT_EQ(resolution.queries.size(), DefaultPlan().queries.size());
}

TEST(PlanFromProto, ConvertsEveryField) {
  v1::Plan proto;
  proto.set_version(7);
  v1::PlannedQuery* query = proto.add_queries();
  query->set_counterset("Disk");
  query->add_counters("Reads/sec");
  query->add_counters("id:2");
  query->add_instances("sd*");
  query->mutable_interval()->set_seconds(30);
  query->set_wrap32(true);
  query->add_aggregates("Sum");
  query->add_machines("db1");
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanFromProto(proto, Plan()));
  EXPECT_EQ(plan, (Plan{.version = 7,
                        .queries = {{.counterset = "Disk",
                                     .counters = {"Reads/sec", "id:2"},
                                     .instances = {"sd*"},
                                     .interval = absl::Seconds(30),
                                     .wrap32 = true,
                                     .aggregates = {"Sum"},
                                     .machines = {"db1"}}}}));
}

TEST(PlanFromProto, AddsInstanceRulesToTheAgentsOwn) {
  const InstanceRule own = {.counterset = "Disk", .exclude = {"sdz"}};
  v1::Plan proto;
  v1::InstanceRule* const rule = proto.add_instance_rules();
  rule->set_counterset("{GUID}");
  rule->add_include("a*");
  rule->add_exclude("ab");
  rule->add_exclude("ac");
  const InstanceRule added = {
      .counterset = "{GUID}", .include = {"a*"}, .exclude = {"ab", "ac"}};
  ASSERT_OK_AND_ASSIGN(Plan plan, PlanFromProto(proto, {.rules = {own}}));
  EXPECT_THAT(plan.rules, ElementsAre(added));
  proto.set_includes_own(true);
  ASSERT_OK_AND_ASSIGN(plan, PlanFromProto(proto, {.rules = {own}}));
  EXPECT_THAT(plan.rules, ElementsAre(own, added));
  rule->clear_counterset();
  EXPECT_THAT(PlanFromProto(proto, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("instance_rules.counterset: is missing")));
}

TEST(PlanFromProto, RejectsInvalidPlans) {
  const struct {
    void (*spoil)(v1::PlannedQuery* query);
    absl::StatusCode code;
    const char* error;
  } kCases[] = {
      {[](v1::PlannedQuery* query) { query->clear_counterset(); },
       absl::StatusCode::kInvalidArgument, "queries[1].counterset: is missing"},
      {[](v1::PlannedQuery* query) { query->clear_interval(); },
       absl::StatusCode::kInvalidArgument,
       "queries[1].interval: 0 is too short"},
      {[](v1::PlannedQuery* query) {
         query->mutable_interval()->set_nanos(500'000'000);
       },
       absl::StatusCode::kInvalidArgument,
       "queries[1].interval: 5.5s is not a whole number of seconds"},
      {[](v1::PlannedQuery* query) {
         query->mutable_interval()->set_seconds(-5);
       },
       absl::StatusCode::kInvalidArgument, "queries[1].interval: -5s is too"},
      {[](v1::PlannedQuery* query) { query->add_machines("a\nb"); },
       absl::StatusCode::kInvalidArgument, "queries[1].machines: \"a\\x0Ab\""},
      {[](v1::PlannedQuery* query) { query->set_name(std::string(4000, 'n')); },
       absl::StatusCode::kInvalidArgument,
       "queries[1].name: a name has 4000 bytes, more than 3072"},
      {[](v1::PlannedQuery* query) {
         query->add_aggregates(std::string(4000, 'n'));
       },
       absl::StatusCode::kInvalidArgument,
       "queries[1].aggregates: a name has 4000 bytes, more than 3072"},
  };
  for (const auto& test : kCases) {
    v1::Plan proto;
    for (int i = 0; i < 2; ++i) {
      proto.add_queries()->set_counterset("Disk");
      proto.mutable_queries(i)->mutable_interval()->set_seconds(5);
    }
    EXPECT_OK(PlanFromProto(proto, Plan()));
    test.spoil(proto.mutable_queries(1));
    EXPECT_THAT(PlanFromProto(proto, Plan()),
                StatusIs(test.code, HasSubstr(test.error)));
  }
}

// A plan that is too large is refused for the same reason, whether it is the
// agent's own or comes from an aggregator.
TEST(PlanFromProto, BoundsPlansAsThoseOfTheAgentsOwnFile) {
  const auto with_names = [](size_t queries, size_t names, size_t bytes) {
    std::vector<PlannedQuery> plan;
    for (size_t i = 0; i < queries; ++i) {
      plan.push_back({.counterset = "Disk",
                      .instances = std::vector<std::string>(
                          names, std::string(bytes, 'n'))});
    }
    return plan;
  };
  const struct {
    std::vector<PlannedQuery> queries;
    const char* error;  // "": none
  } kCases[] = {
      {with_names(1000, 7, 60), ""},
      {with_names(1001, 0, 0),
       "queries[1000].counterset: the plan has more than 1000 queries; use "
       "fewer, or wildcards"},
      {with_names(1, 10'000, 1),
       "queries[0].instances: the plan has more than 10000 names"},
      {with_names(200, 1, 3000),
       "queries[174].instances: the plan has more than 524288 bytes of names"},
      {with_names(1, 1, 3073),
       "queries[0].instances: a name has 3073 bytes, more than 3072"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.error);
    v1::Plan proto;
    std::string yaml = "queries:\n";
    for (const PlannedQuery& query : test.queries) {
      *proto.add_queries() = ToProto(query);
      absl::StrAppend(&yaml, "- {counterset: Disk, instances: [",
                      absl::StrJoin(query.instances, ","), "]}\n");
    }
    const absl::Status sent = PlanFromProto(proto, Plan()).status();
    const absl::Status own = Read(yaml).status();
    if (*test.error == '\0') {
      EXPECT_OK(sent);
      EXPECT_OK(own);
      continue;
    }
    EXPECT_THAT(sent, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr(test.error)));
    EXPECT_THAT(own, StatusIs(absl::StatusCode::kInvalidArgument,
                              HasSubstr(test.error)));
  }
}

TEST(PlanFromProto, BoundsInstanceRules) {
  v1::Plan proto;
  for (int i = 0; i < 1001; ++i) {
    proto.add_instance_rules()->set_counterset("Disk");
  }
  EXPECT_THAT(PlanFromProto(proto, Plan()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("instance_rules.counterset: the plan has more "
                                 "than 1000 rules")));
}

}  // namespace
}  // namespace fleetperf::agent
