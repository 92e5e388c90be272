// Tests of plans and plan reports on an agent's stream.

#include "tests/aggregator/ingest/session_fixture.h"

namespace fleetperf::aggregator {
namespace {

PlanEntry Entry(const std::string& counterset) {
  return {.name = "all", .queries = {{.counterset = counterset}}};
}

class SessionPlanTest : public SessionTest {
 protected:
  SessionPlanTest() {
    planner_.SetListener([this] { ingest_->UpdatePlans(); });
  }
  ~SessionPlanTest() override { planner_.SetListener(nullptr); }

  // Returns the countersets of each plan sent since the last call.
  std::vector<std::string> Plans() {
    std::vector<std::string> texts;
    for (const v1::CollectResponse& response : link_->Take()) {
      if (response.has_plan()) texts.push_back(TextOf(response.plan()));
    }
    return texts;
  }
  static std::string TextOf(const v1::Plan& plan) {
    std::string text = plan.includes_own() ? "own" : "";
    for (const v1::PlannedQuery& query : plan.queries()) {
      absl::StrAppend(&text, text.empty() ? "" : " ", query.counterset());
    }
    return text;
  }
  absl::Status Report(const v1::PlanReport& report) {
    v1::CollectRequest request;
    *request.mutable_plan_report() = report;
    return Handle(request);
  }
};

TEST_F(SessionPlanTest, SendsThePlanInWelcome) {
  planner_.SetEntries({Entry("Disk")});
  const v1::Welcome welcome = Welcomed();
  EXPECT_EQ(TextOf(welcome.plan()), "Disk");
  EXPECT_GT(welcome.plan().version(), 0);
}

TEST_F(SessionPlanTest, SendsNoPlanInWelcomeIfNoEntryMatches) {
  planner_.SetEntries({{.name = "windows",
                        .operating_system = perflib::Pattern("Windows*"),
                        .queries = {{.counterset = "Disk"}}}});
  EXPECT_FALSE(Welcomed().has_plan());
}

TEST_F(SessionPlanTest, SelectsThePlanByTheAgentsFacts) {
  planner_.SetEntries({{.name = "linux",
                        .operating_system = perflib::Pattern("Linux*"),
                        .labels = {{"role", perflib::Pattern("web")}},
                        .queries = {{.counterset = "Disk"}}}});
  v1::CollectRequest hello = Hello();
  hello.mutable_hello()->set_operating_system("Linux 6.1");
  EXPECT_FALSE(Welcomed(hello).has_plan());
  (*hello.mutable_hello()->mutable_labels())["role"] = "web";
  EXPECT_EQ(TextOf(Welcomed(hello).plan()), "Disk");
}

TEST_F(SessionPlanTest, SelectsThePlanByTheLabelsThatTheConfigurationSets) {
  const std::vector<PlanEntry> entries = {
      {.name = "web",
       .labels = {{"role", perflib::Pattern("web")}},
       .queries = {{.counterset = "Disk"}}}};
  const auto set_role = [&](const std::string& role) {
    store_->SetLabelRules(LabelRules({{.machines = {perflib::Pattern("web-*")},
                                       .labels = {{"role", role}}}}));
    planner_.SetEntries(entries);  // as a reload does
  };
  set_role("web");
  EXPECT_EQ(TextOf(Welcomed().plan()), "Disk");
  set_role("db");
  EXPECT_THAT(Plans(), ElementsAre("own"));
  set_role("mail");
  EXPECT_THAT(Plans(), IsEmpty());
  set_role("web");
  EXPECT_THAT(Plans(), ElementsAre("Disk"));
  // The agent has the label itself, and loses it.
  v1::CollectRequest hello = Hello();
  (*hello.mutable_hello()->mutable_labels())["role"] = "web";
  store_->SetLabelRules({});
  EXPECT_EQ(TextOf(Welcomed(hello).plan()), "Disk");
  set_role("");
  EXPECT_THAT(Plans(), ElementsAre("own"));
}

TEST_F(SessionPlanTest, SendsOnlyChangedPlans) {
  planner_.SetEntries({Entry("Disk")});
  Welcomed();
  planner_.SetEntries({Entry("Disk")});
  EXPECT_THAT(Plans(), IsEmpty());
  planner_.SetEntries({Entry("System")});
  EXPECT_THAT(Plans(), ElementsAre("System"));
  {
    const auto addition = planner_.Add(
        {{"web-1", {ToProto(PlannedQuery{.counterset = "Process"})}}});
    EXPECT_THAT(Plans(), ElementsAre("System Process"));
  }
  EXPECT_THAT(Plans(), ElementsAre("System"));
  // Without entries, the agent returns to its own queries.
  planner_.SetEntries({});
  EXPECT_THAT(Plans(), ElementsAre("own"));
}

TEST_F(SessionPlanTest, APlanAwaitsNewSamples) {
  const auto has_samples = [&] {
    return ingest_->FindConnection("web-1")->has_samples;
  };
  v1::PlanReport report;
  planner_.SetEntries({Entry("Disk")});
  Welcomed();
  report.set_version(1);
  ASSERT_OK(Report(report));
  ASSERT_OK(Handle(Batch()));
  EXPECT_TRUE(has_samples());
  planner_.SetEntries({Entry("Disk")});  // the same plan
  EXPECT_TRUE(has_samples());
  planner_.SetEntries({Entry("System")});
  EXPECT_FALSE(has_samples());
  // Samples of the former plan were on their way.
  ASSERT_OK(Handle(Batch()));
  report.set_version(2);
  ASSERT_OK(Report(report));
  EXPECT_FALSE(has_samples());
  ASSERT_OK(Handle(Batch()));
  EXPECT_TRUE(has_samples());
  ASSERT_OK(Report(report));  // a query has failed
  EXPECT_TRUE(has_samples());
}

TEST_F(SessionPlanTest, SendsNoPlanBeforeWelcome) {
  gate_->Hold();
  session_ = Connect();
  ASSERT_OK(Handle(Hello()));
  AwaitCommits();
  link_->WaitForWelcome();
  // A second stream of the agent waits until the first stream's batches are
  // durable.
  ASSERT_OK(Handle(Batch()));
  session_ = Connect();
  ASSERT_OK(Handle(Hello()));
  planner_.SetEntries({Entry("Disk")});
  EXPECT_THAT(Plans(), IsEmpty());
  gate_->Release();
  EXPECT_EQ(TextOf(link_->WaitForWelcome().plan()), "Disk");
  EXPECT_THAT(Plans(), IsEmpty());
}

TEST_F(SessionPlanTest, SendsNoPaceBeforeWelcome) {
  Welcomed();
  gate_->Hold();
  ASSERT_OK(Handle(Batch()));
  session_ = Connect();
  ASSERT_OK(Handle(Hello()));
  observer_.watched = true;
  ingest_->UpdatePaces();
  EXPECT_THAT(link_->Take(), IsEmpty());
  gate_->Release();
  link_->WaitForWelcome();
  AwaitCommits();
  const auto sent = link_->Take();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_TRUE(sent[0].pace().live());
}

TEST_F(SessionPlanTest, RequestsLivePaceWhileAnAdditionExists) {
  Welcomed();
  link_->Take();
  auto addition = planner_.Add(
      {{"web-1", {ToProto(PlannedQuery{.counterset = "Process"})}}});
  auto sent = link_->Take();
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_TRUE(sent[0].has_plan());
  EXPECT_TRUE(sent[1].pace().live());
  addition.reset();
  sent = link_->Take();
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_TRUE(sent[1].has_pace());
  EXPECT_FALSE(sent[1].pace().live());
}

TEST_F(SessionPlanTest, RetainsThePlanReportWhileTheAgentIsConnected) {
  Welcomed();
  EXPECT_EQ(ingest_->FindConnection("web-1")->plan_report, nullptr);
  v1::PlanReport report;
  report.set_version(7);
  report.add_queries()->set_error("there is no counterset \"Disc\"");
  EXPECT_OK(Report(report));
  const auto kept = ingest_->FindConnection("web-1")->plan_report;
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->version(), 7);
  EXPECT_EQ(kept->queries(0).error(), "there is no counterset \"Disc\"");
  session_->Close();
  EXPECT_FALSE(ingest_->FindConnection("web-1").has_value());
}

TEST_F(SessionPlanTest, TruncatesALargePlanReport) {
  Welcomed();
  v1::PlanReport report;
  for (int i = 0; i < 2000; ++i) report.add_queries();
  // 1 byte and 600 characters of 2 bytes, so the 1000-byte limit falls inside a
  // character.
  std::string text = "x";
  for (int i = 0; i < 600; ++i) text += "ü";
  report.mutable_queries(0)->set_error(text);
  EXPECT_OK(Report(report));
  const auto kept = ingest_->FindConnection("web-1")->plan_report;
  EXPECT_EQ(kept->queries_size(), 1000);
  EXPECT_EQ(kept->queries(0).error(), text.substr(0, 999));
}

}  // namespace
}  // namespace fleetperf::aggregator
