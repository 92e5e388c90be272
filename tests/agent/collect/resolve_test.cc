#include "agent/collect/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/source/combined_source.h"
#include "agent/source/deadline_source.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/test_countersets.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns "0,3 Disk 1s: 1 2 (12)" for each query: the indexes of the planned
// queries, the counterset, the interval, and the counters, with linked-only
// counters in parentheses.
std::vector<std::string> Queries(const Resolution& resolution) {
  std::vector<std::string> texts;
  for (const ResolvedQuery& query : resolution.queries) {
    std::string text = absl::StrCat(absl::StrJoin(query.planned, ","), " ",
                                    query.registration.name, " ",
                                    absl::FormatDuration(query.interval), ":");
    for (const ResolvedQuery::Counter& counter : query.counters) {
      absl::StrAppend(&text, counter.only_linked ? " (" : " ", counter.id,
                      counter.only_linked ? ")" : "");
    }
    texts.push_back(text);
  }
  return texts;
}

// Returns "0: message" for each problem.
std::vector<std::string> Problems(const Resolution& resolution) {
  std::vector<std::string> texts;
  for (const Resolution::Problem& problem : resolution.problems) {
    texts.push_back(absl::StrCat(problem.planned, ": ", problem.message));
  }
  return texts;
}

Resolution Resolve(const std::vector<PlannedQuery>& queries) {
  return ResolvePlan({.queries = queries}, "web-1",
                     testing::TestRegistrations());
}

TEST(ResolvePlan, NamesRulesOfUnknownCountersets) {
  const auto problems = [](const std::string& counterset) {
    return ResolvePlan({.rules = {{.counterset = counterset}}}, "web-1",
                       testing::TestRegistrations())
        .rule_problems;
  };
  EXPECT_THAT(problems("d*k"), IsEmpty());
  EXPECT_THAT(problems("{0000000d-0000-0000-0000-000000000000}"), IsEmpty());
  EXPECT_THAT(problems("Dis"),
              ElementsAre("include or exclude: there is no counterset \"Dis\"; "
                          "did you mean \"Disk\"?"));
}

TEST(ResolvePlan, FindsCountersetsAndCounters) {
  const struct {
    PlannedQuery query;
    std::vector<std::string> expected;
  } kCases[] = {
      {{.counterset = "System"}, {"0 System 1s: 1 2"}},
      {{.counterset = "sYSTEM", .counters = {"PROCESSES"}}, {"0 System 1s: 1"}},
      {{.counterset = "{00000005-0000-0000-0000-000000000000}",
        .counters = {"id:2"}},
       {"0 System 1s: 2"}},
      {{.counterset = "00000005-0000-0000-0000-000000000000",
        .counters = {"id:2", "id:1"}},
       {"0 System 1s: 1 2"}},
      {{.counterset = "S*", .counters = {"*s"}}, {"0 System 1s: 1 2"}},
      {{.counterset = "*s*", .counters = {"*Time"}},
       {"0 Process 1s: 1 3 (101) (102)"}},
      {{.counterset = "Disk", .counters = {"Reads/sec", "reads*"}},
       {"0 Disk 1s: 1"}},
      {{.counterset = "Disk", .interval = absl::Minutes(1)},
       {"0 Disk 1m: 1 2 3 (12)"}},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Queries(Resolve({test.query})), test.expected)
        << test.query.counterset << " "
        << absl::StrJoin(test.query.counters, ", ");
  }
}

// All queries of a counterset share its definition.
TEST(ResolvePlan, AddsTheAggregatesOfAllQueriesOfACounterset) {
  const Resolution resolution = Resolve(
      {{.counterset = "System", .counters = {"id:1"}, .aggregates = {"b"}},
       {.counterset = "S*",
        .counters = {"id:2"},
        .interval = absl::Minutes(1),
        .aggregates = {"a", "b"}},
       {.counterset = "System", .aggregates = {"c"}, .machines = {"db-1"}},
       {.counterset = "Disk"}});
  EXPECT_THAT(Problems(resolution), IsEmpty());
  ASSERT_EQ(resolution.queries.size(), 3);
  EXPECT_THAT(resolution.queries[0].registration.aggregates,
              ElementsAre("a", "b"));
  EXPECT_EQ(resolution.queries[1].registration,
            resolution.queries[0].registration);
  EXPECT_THAT(resolution.queries[2].registration.aggregates, IsEmpty());
}

TEST(ResolvePlan, AddsCountersThatFormulasNeed) {
  const struct {
    PlannedQuery query;
    std::string expected;
  } kCases[] = {
      {{.counterset = "Disk", .counters = {"Avg*"}}, "0 Disk 1s: 2 (12)"},
      {{.counterset = "Disk", .counters = {"Reads/sec"}}, "0 Disk 1s: 1"},
      {{.counterset = "Process", .counters = {"Elapsed Time"}},
       "0 Process 1s: 3 (101) (102)"},
      // A counter without a name can be selected by id, too.
      {{.counterset = "Disk", .counters = {"id:12"}}, "0 Disk 1s: 12"},
      {{.counterset = "Disk", .counters = {"id:12", "id:2"}},
       "0 Disk 1s: 2 12"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Queries(Resolve({test.query})), ElementsAre(test.expected));
  }
}

TEST(ResolvePlan, FollowsEveryKindOfLinkAndIgnoresBrokenOnes) {
  const perflib::CountersetRegistration registration = {
      .name = "Multi",
      .counters = {{.counter_id = 1,
                    .base_counter_id = 2,
                    .perf_time_id = 3,
                    .perf_freq_id = 4,
                    .multi_id = 5,
                    .name = "all"},
                   {.counter_id = 2},
                   {.counter_id = 3},
                   {.counter_id = 4},
                   {.counter_id = 5},
                   {.counter_id = 6, .base_counter_id = 77, .name = "broken"}}};
  EXPECT_THAT(Queries(ResolvePlan({.queries = {{.counterset = "Multi"}}},
                                  "web-1", {registration})),
              ElementsAre("0 Multi 1s: 1 (2) (3) (4) (5) 6"));
}

// The start times of processes are collected even if they are not sent.
TEST(ResolvePlan, FindsTheStartTimeCounter) {
  const Resolution resolution =
      Resolve({{.counterset = "*", .counters = {"id:1"}}});
  EXPECT_THAT(Queries(resolution),
              ElementsAre("0 Disk 1s: 1", "0 Process 1s: 1", "0 System 1s: 1"));
  EXPECT_EQ(resolution.queries[0].start_counter_id, std::nullopt);
  EXPECT_EQ(resolution.queries[1].start_counter_id, 3);
  EXPECT_EQ(resolution.queries[2].start_counter_id, std::nullopt);
  // Without instances, an elapsed time such as System Up Time is not the start
  // of a life.
  perflib::CountersetRegistration single = testing::ProcessRegistration();
  single.instance_type = perflib::kCountersetSingleInstance;
  EXPECT_EQ(ResolvePlan({.queries = {{.counterset = "*"}}}, "web-1", {single})
                .queries[0]
                .start_counter_id,
            std::nullopt);
}

TEST(ResolvePlan, KeepsInstancePatterns) {
  const Resolution resolution =
      Resolve({{.counterset = "Disk", .instances = {"sd*", "_Total"}}});
  ASSERT_EQ(resolution.queries.size(), 1);
  ASSERT_EQ(resolution.queries[0].filters.size(), 1);
  EXPECT_THAT(resolution.queries[0].filters[0].instances,
              ElementsAre(perflib::Pattern("sd*"), perflib::Pattern("_Total")));
}

TEST(ResolvePlan, CollectsACounterOnce) {
  const Resolution resolution = Resolve({
      {.counterset = "Disk", .counters = {"Reads/sec"}},
      {.counterset = "Disk", .interval = absl::Seconds(10)},
      {.counterset = "Disk", .counters = {"Writes/sec", "Reads/sec"}},
  });
  // The second query takes the rest without a problem, because it names no
  // counter.
  EXPECT_THAT(Queries(resolution),
              ElementsAre("0 Disk 1s: 1", "1 Disk 10s: 2 3 (12)"));
  EXPECT_THAT(
      Problems(resolution),
      ElementsAre(
          "2: counter \"Reads/sec\" of \"Disk\" is collected by queries[0] "
          "already",
          "2: counter \"Writes/sec\" of \"Disk\" is collected by queries[1] "
          "already"));
}

// Returns "0: a b | c" for each query: the instances that a filter selects, and
// the ones that it excepts. Filters are separated by " or ".
std::vector<std::string> Instances(const Resolution& resolution) {
  const auto append = [](std::string* out, const perflib::Pattern& pattern) {
    absl::StrAppend(out, pattern.text());
  };
  std::vector<std::string> texts;
  for (const ResolvedQuery& query : resolution.queries) {
    texts.push_back(absl::StrCat(
        absl::StrJoin(query.planned, ","), ": ",
        absl::StrJoin(query.filters, " or ",
                      [&](std::string* out, const InstanceFilter& filter) {
                        absl::StrAppend(
                            out, absl::StrJoin(filter.instances, " ", append),
                            " | ", absl::StrJoin(filter.except, " ", append));
                      })));
  }
  return texts;
}

TEST(ResolvePlan, CollectsACounterOfAnInstanceOnce) {
  const Resolution resolution = Resolve({
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"a", "b"}},
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"c*"}},
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"b"}},
      {.counterset = "Disk", .counters = {"id:1", "id:3"}},
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"d"}},
  });
  EXPECT_THAT(Queries(resolution),
              ElementsAre("0,1,3 Disk 1s: 1", "3 Disk 1s: 3"));
  EXPECT_THAT(Instances(resolution),
              ElementsAre("0,1,3: a b |  or c* | a b or  | a b c*", "3:  | "));
  EXPECT_THAT(Problems(resolution),
              ElementsAre("2: counter \"Reads/sec\" of \"Disk\" is collected "
                          "by queries[0] already",
                          "4: counter \"Reads/sec\" of \"Disk\" is collected "
                          "by queries[0] already"));
}

TEST(ResolvePlan, UsesQueryNamesInMessages) {
  const Resolution resolution = Resolve({
      {.counterset = "Disk", .name = "all: queries[0]"},
      {.counterset = "Disk", .counters = {"id:1"}},
      {.counterset = "Disk", .counters = {"id:1"}, .meanwhile = true},
  });
  EXPECT_THAT(Problems(resolution),
              ElementsAre("1: counter \"Reads/sec\" of \"Disk\" is collected "
                          "by all: queries[0] already"));
}

TEST(ResolvePlan, CollectsCountersThatAnotherQueryOnlyLinks) {
  const Resolution resolution = Resolve({
      {.counterset = "Disk", .counters = {"Avg*"}},
      {.counterset = "Disk",
       .counters = {"id:12"},
       .interval = absl::Seconds(10)},
  });
  EXPECT_THAT(Queries(resolution),
              ElementsAre("0 Disk 1s: 2 (12)", "1 Disk 10s: 12"));
  EXPECT_THAT(Problems(resolution), IsEmpty());
}

TEST(ResolvePlan, MergesQueriesThatDifferOnlyInCounters) {
  EXPECT_THAT(Queries(Resolve({
                  {.counterset = "Disk", .counters = {"Writes/sec"}},
                  {.counterset = "System", .counters = {"Threads"}},
                  {.counterset = "Disk", .counters = {"Avg*"}},
                  {.counterset = "Disk", .counters = {"id:12"}},
              })),
              ElementsAre("0,2,3 Disk 1s: 2 3 12", "1 System 1s: 2"));
  EXPECT_THAT(
      Queries(Resolve({
          {.counterset = "Disk", .counters = {"id:1"}, .instances = {"a"}},
          {.counterset = "Disk", .counters = {"id:3"}, .instances = {"b"}},
      })),
      ElementsAre("0 Disk 1s: 1", "1 Disk 1s: 3"));
}

TEST(ResolvePlan, MergesQueriesThatDifferOnlyInInstances) {
  const Resolution resolution = Resolve({
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"a*"}},
      {.counterset = "Disk",
       .counters = {"id:1"},
       .instances = {"*b"},
       .interval = absl::Seconds(10)},
      {.counterset = "Disk", .counters = {"id:1", "id:3"}, .instances = {"c"}},
      {.counterset = "Disk", .counters = {"id:1"}, .instances = {"d"}},
  });
  EXPECT_THAT(Queries(resolution),
              ElementsAre("0,2,3 Disk 1s: 1", "1 Disk 10s: 1", "2 Disk 1s: 3"));
  EXPECT_THAT(Instances(resolution),
              ElementsAre("0,2,3: a* |  or c | a* *b or d | a* *b c",
                          "1: *b | a*", "2: c | "));
}

TEST(ResolvePlan, ReportsNamesWithoutAMatch) {
  const Resolution resolution = Resolve({
      {.counterset = "Disks"},
      {.counterset = "Disk", .counters = {"Read/sec", "Writes/sec"}},
      {.counterset = "qwertyuiop"},
      {.counterset = "{0000000d-0000-0000-0000-00000000000a}"},
      {.counterset = "System", .counters = {"id:3"}},
  });
  EXPECT_THAT(Queries(resolution), ElementsAre("1 Disk 1s: 3"));
  EXPECT_THAT(
      Problems(resolution),
      ElementsAre(
          "0: there is no counterset \"Disks\"; did you mean \"Disk\"?",
          "1: counterset \"Disk\" has no counter \"Read/sec\"; did you mean "
          "\"Reads/sec\"?",
          "2: there is no counterset \"qwertyuiop\"",
          "3: there is no counterset "
          "\"{0000000d-0000-0000-0000-00000000000a}\"",
          "4: counterset \"System\" has no counter \"id:3\""));
}

// Through the sources that an agent puts around that of its machine.
TEST(ResolvePlan, BoundsTheQueriesOfACounterset) {
  std::vector<PlannedQuery> queries;
  for (int i = 1; i <= 17; ++i) {
    queries.push_back({.counterset = "Disk",
                       .instances = {absl::StrCat("sd", i)},
                       .interval = absl::Seconds(i)});
  }
  const Resolution resolution = Resolve(queries);
  EXPECT_EQ(resolution.queries.size(), 16u);
  EXPECT_THAT(
      Problems(resolution),
      ElementsAre("16: counterset \"Disk\" has more than 16 queries that "
                  "differ in their interval, counters or instances; use "
                  "fewer"));
}

TEST(ResolvePlan, BoundsItsProblems) {
  PlannedQuery query = {.counterset = "*"};
  for (int i = 0; i < 1000; ++i) {
    query.counters.push_back(absl::StrCat("absent ", i));
  }
  const auto problems = Problems(Resolve({query, query}));
  EXPECT_EQ(problems.size(), 201u);
  EXPECT_EQ(problems.back(),
            "0: the plan has further problems, which are omitted");
}

// Each query names other instances of all countersets. To compare them all
// would take minutes, and to keep them gigabytes.
TEST(ResolvePlan, BoundsItsCost) {
  std::vector<PlannedQuery> queries;
  for (int i = 0; i < 40; ++i) {
    PlannedQuery& query = queries.emplace_back();
    query.counterset = "*";
    query.interval = absl::Seconds(i + 1);
    for (int name = 0; name < 250; ++name) {
      query.instances.push_back(absl::StrCat(i, "-", name));
    }
  }
  const Resolution resolution = Resolve(queries);
  EXPECT_LE(resolution.queries.size(),
            16 * testing::TestRegistrations().size());
  ASSERT_FALSE(resolution.problems.empty());
  EXPECT_EQ(resolution.problems.back().planned, 39u);
  EXPECT_THAT(resolution.problems.back().message,
              ::testing::HasSubstr("not collected: the plan names too many "
                                   "instances"));
}

TEST(DefineAndResolve, TellsTheSourceItsInstanceRules) {
  auto machine =
      std::make_unique<testing::FakeSource>(testing::TestRegistrations());
  const testing::FakeSource& asked = *machine;
  const auto source = MakeDeadlineSource(
      CombineSources(std::move(machine),
                     std::make_unique<testing::FakeSource>(
                         std::vector<perflib::CountersetRegistration>())),
      "web-1", absl::Seconds(10));
  const Plan plan = {.rules = {{.counterset = "Disk", .exclude = {"sda"}}}};
  std::vector<perflib::CountersetRegistration> registrations =
      testing::TestRegistrations();
  DefineAndResolve(*source, plan, "web-1", &registrations);
  EXPECT_EQ(asked.rules(), plan.rules);
}

}  // namespace
}  // namespace fleetperf::agent
