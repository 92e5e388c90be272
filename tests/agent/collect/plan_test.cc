#include "agent/collect/plan.h"

#include <string>

#include "agent/collect/registrations.h"
#include "agent/collect/resolve.h"
#include "agent/own_counters.h"
#include "agent/source/combined_source.h"
#include "agent/source/linux/linux_source.h"
#include "agent/source/own_provider.h"
#include "fleetperf/v1/configuration.pb.h"
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
                       .wrap32 = true}));
}

TEST(ReadPlan, TakesTheDefaultWithoutQueries) {
  for (const char* yaml : {"", "queries:\n"}) {
    ASSERT_OK_AND_ASSIGN(const Plan plan, Read(yaml));
    EXPECT_EQ(plan, DefaultPlan());
  }
  ASSERT_OK_AND_ASSIGN(const Plan nothing, Read("queries: []"));
  EXPECT_THAT(nothing.queries, IsEmpty());
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
      {"queries:\n- interval: 5s\n",
       "agent.yaml:2: queries[0].counterset: is missing"},
      {"queries:\n- counterset: System\n  counter: Threads\n",
       "agent.yaml:3: unknown key \"counter\" in queries[0]; did you mean "
       "\"counters\""},
      {"queries:\n- System\n", "agent.yaml:2: queries[0] must consist of"},
      {"queries: System\n", "agent.yaml:1: queries: expected a list"},
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
  query->add_machines("db1");
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanFromProto(proto, Plan()));
  EXPECT_EQ(plan, (Plan{.version = 7,
                        .queries = {{.counterset = "Disk",
                                     .counters = {"Reads/sec", "id:2"},
                                     .instances = {"sd*"},
                                     .interval = absl::Seconds(30),
                                     .wrap32 = true,
                                     .machines = {"db1"}}}}));
}

TEST(PlanFromProto, RejectsInvalidPlans) {
  const struct {
    void (*spoil)(v1::PlannedQuery* query);
    absl::StatusCode code;
    const char* error;
  } kCases[] = {
      {[](v1::PlannedQuery* query) { query->clear_counterset(); },
       absl::StatusCode::kInvalidArgument, "queries[1].counterset is missing"},
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

}  // namespace
}  // namespace fleetperf::agent
