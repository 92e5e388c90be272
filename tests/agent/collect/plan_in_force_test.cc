// The plan that an agent runs, also after a restart.

#include "agent/collect/plan_in_force.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlanInForceTest : public ::testing::Test {
 protected:
  PlanInForceTest() { Restart(); }

  // Starts another process of the same agent, whose own plan is System.
  void Restart() {
    plan_.reset();
    auto source =
        std::make_unique<testing::FakeSource>(testing::TestRegistrations());
    source->SetInstances(testing::kSystemGuid,
                         {{"", 0, {{1, testing::Value32(1)}}}});
    source_ = source.get();
    machines_ = std::make_unique<Machines>(
        Machines::Options{.own = "web-1",
                          .own_source = std::move(source),
                          .open_remote = nullptr,
                          .check_name = nullptr,
                          .delivery = &delivery_,
                          .clock = &clock_});
    plan_ = std::make_unique<PlanInForce>(
        Plan{.queries = {{.counterset = "System"}}}, file_, machines_.get());
  }

  static v1::Plan MakePlan(uint64_t version,
                           const std::vector<std::string>& countersets) {
    v1::Plan plan;
    plan.set_version(version);
    for (const std::string& counterset : countersets) {
      v1::PlannedQuery* query = plan.add_queries();
      query->set_counterset(counterset);
      query->mutable_interval()->set_seconds(1);
    }
    return plan;
  }
  // Adds Process as a temporary query.
  static void AddMeanwhile(v1::Plan* plan) {
    *plan->add_queries() = MakePlan(0, {"Process"}).queries(0);
    plan->mutable_queries()->rbegin()->set_meanwhile(true);
  }

  // Returns "7: queries[0] System": the version, then the name, counterset and
  // error of each query.
  static std::string TextOf(const v1::PlanReport& report) {
    std::string text = absl::StrCat(report.version(), ":");
    for (const v1::QueryReport& query : report.queries()) {
      absl::StrAppend(&text, " ", query.name(), " ", query.counterset(),
                      query.error());
    }
    return text;
  }
  // Returns the collected countersets of all queries.
  std::vector<std::string> Collected() {
    std::vector<std::string> countersets;
    for (const QueryReport& report : machines_->Reports()) {
      countersets.push_back(report.counterset);
    }
    return countersets;
  }

  testing::TempDirectory directory_;
  const std::string file_ = directory_.File("plan");
  testing::SimulatedClock clock_;
  Delivery delivery_{{.epoch = 1, .clock = &clock_}};
  std::unique_ptr<Machines> machines_;
  testing::FakeSource* source_ = nullptr;  // of machines_
  std::unique_ptr<PlanInForce> plan_;
};

TEST_F(PlanInForceTest, StartsWithTheAgentsOwnPlan) {
  EXPECT_THAT(Collected(), ElementsAre("System"));
  EXPECT_EQ(TextOf(plan_->Apply(nullptr)), "0: queries[0] System");
  const v1::Plan plan = MakePlan(7, {"Disk"});
  EXPECT_EQ(TextOf(plan_->Apply(&plan)), "7: queries[0] Disk");
  EXPECT_EQ(TextOf(plan_->Apply(nullptr)), "0: queries[0] System");
}

TEST_F(PlanInForceTest, CanIncludeTheAgentsOwnPlan) {
  v1::Plan plan = MakePlan(7, {"Disk"});
  plan.set_includes_own(true);
  plan.mutable_queries(0)->set_name("--collect");
  EXPECT_EQ(TextOf(plan_->Apply(&plan)), "7: queries[0] System --collect Disk");
}

TEST_F(PlanInForceTest, ReplacesTheAgentsOwnPlan) {
  plan_->SetOwn({.queries = {{.counterset = "Process"}}});
  EXPECT_THAT(Collected(), ElementsAre("Process"));

  v1::Plan plan = MakePlan(7, {"Disk"});
  plan_->Apply(&plan);
  plan_->SetOwn({.queries = {{.counterset = "System"}}});
  EXPECT_THAT(Collected(), ElementsAre("Disk"));

  plan.set_includes_own(true);
  plan_->Apply(&plan);
  plan_->SetOwn({.queries = {{.counterset = "Process"}}});
  EXPECT_THAT(Collected(), ElementsAre("Process", "Disk"));
  EXPECT_EQ(TextOf(plan_->Apply(nullptr)), "0: queries[0] Process");
}

// Also if its queries stay the same.
TEST_F(PlanInForceTest, TellsTheSourceItsInstanceRules) {
  v1::Plan plan = MakePlan(7, {"Disk"});
  plan_->Apply(&plan);
  EXPECT_THAT(source_->rules(), IsEmpty());
  plan.add_instance_rules()->set_counterset("Disk");
  plan.mutable_instance_rules(0)->add_exclude("sda");
  plan_->Apply(&plan);
  const InstanceRule rule = {.counterset = "Disk", .exclude = {"sda"}};
  EXPECT_THAT(source_->rules(), ElementsAre(rule));
  // After a restart.
  Restart();
  EXPECT_THAT(Collected(), ElementsAre("Disk"));
  EXPECT_THAT(source_->rules(), ElementsAre(rule));
}

TEST_F(PlanInForceTest, RejectsInvalidPlans) {
  const v1::Plan good = MakePlan(7, {"Disk"});
  plan_->Apply(&good);
  v1::Plan bad = MakePlan(8, {"System"});
  bad.mutable_queries(0)->clear_interval();
  EXPECT_THAT(TextOf(plan_->Apply(&bad)),
              HasSubstr("8:  queries[0].interval: 0 is too short"));
  EXPECT_THAT(Collected(), ElementsAre("Disk"));
}

TEST_F(PlanInForceTest, PersistsAcrossRestarts) {
  const v1::Plan plan = MakePlan(7, {"Disk"});
  plan_->Apply(&plan);
  Restart();
  EXPECT_THAT(Collected(), ElementsAre("Disk"));
  plan_->Apply(nullptr);
  Restart();
  EXPECT_THAT(Collected(), ElementsAre("System"));
}

TEST_F(PlanInForceTest, ReportsADamagedFileAndUsesItsOwnPlan) {
  v1::Plan wrong = MakePlan(7, {"Disk"});
  wrong.mutable_queries(0)->clear_counterset();
  for (const std::string& bytes :
       {std::string("\xFF\xFF no plan"), wrong.SerializeAsString()}) {
    ASSERT_OK(WriteFile(file_, bytes));
    testing::LogCapture log;
    Restart();
    EXPECT_THAT(log.Lines(), Contains(HasSubstr("is not used")));
    EXPECT_THAT(Collected(), ElementsAre("System"));
  }
}

TEST_F(PlanInForceTest, EndsTemporaryQueriesWithTheStream) {
  v1::Plan plan = MakePlan(7, {"Disk"});
  AddMeanwhile(&plan);
  plan_->Apply(&plan);
  EXPECT_THAT(Collected(), ElementsAre("Disk", "Process"));
  plan_->EndTemporaryQueries();
  EXPECT_THAT(Collected(), ElementsAre("Disk"));
  plan_->Apply(&plan);
  Restart();
  EXPECT_THAT(Collected(), ElementsAre("Disk"));
}

TEST_F(PlanInForceTest, ReportsFailuresAfterThePlanWasApplied) {
  plan_->Apply(nullptr);
  EXPECT_EQ(plan_->ChangedReport(), std::nullopt);
  const auto next_report = [&] {
    for (;;) {
      clock_.Advance(absl::Seconds(1));
      if (auto report = plan_->ChangedReport()) return TextOf(*report);
    }
  };
  const auto crash = [&](std::set<perflib::Guid> guids) {
    source_->Change([&](auto& script) { script.crashing = guids; });
  };
  crash({testing::kSystemGuid});
  EXPECT_EQ(next_report(),
            "0: queries[0] System queries[0] counterset \"System\": crashed");
  clock_.Advance(absl::Seconds(1));  // still the same
  EXPECT_EQ(plan_->ChangedReport(), std::nullopt);
  crash({});
  EXPECT_EQ(next_report(), "0: queries[0] System");
}

TEST_F(PlanInForceTest, IgnoresEqualQueries) {
  v1::Plan plan = MakePlan(7, {"Disk"});
  plan_->Apply(&plan);
  testing::LogCapture log;
  plan.set_version(8);
  EXPECT_EQ(TextOf(plan_->Apply(&plan)), "8: queries[0] Disk");
  EXPECT_THAT(log.Lines(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
