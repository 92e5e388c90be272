// Subscriptions to machines with labels, whose labels change.

#include "aggregator/query/machine_filter.h"
#include "fleetperf/v1/subscription.pb.h"
#include "tests/aggregator/subscribe/hub_fixture.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::Contains;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using testing::kQueue;
using testing::kStart;
using ::testing::UnorderedElementsAre;

class SelectionTest : public HubTest {
 protected:
  explicit SelectionTest(const HubLimits& limits = {}) : HubTest(limits) {
    store_->SetLabelsListener([this](std::vector<std::string> machines) {
      hub_.SelectAgain(std::move(machines));
    });
    hub_.SetLiveListener([this] { ++live_changes_; });
  }
  ~SelectionTest() override {
    store_->SetLabelsListener(nullptr);
    hub_.SetLiveListener(nullptr);
  }

  // Registers an agent's machine, as Hello does.
  void Connect(const std::string& name, const std::string& role,
               const std::string& agent = "") {
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent(agent.empty() ? name : agent);
    if (!role.empty()) (*machine.mutable_labels())["role"] = role;
    ASSERT_OK(store_->PutMachine({machine}));
    Work();
  }

  // Sets the roles of machines by the configuration.
  void SetRoles(const std::map<std::string, std::string>& roles) {
    std::vector<LabelRule> rules;
    for (const auto& [machine, role] : roles) {
      rules.push_back({.machines = {perflib::Pattern(machine)},
                       .labels = {{"role", role}}});
    }
    store_->SetLabelRules(LabelRules(std::move(rules)));
    Work();
  }

  std::unique_ptr<Reader> MakeReader(const std::string& role,
                                     std::optional<absl::Time> start,
                                     const Choice& choice = {}) {
    auto paths = PathSet::Parse({kQueue}, store_->directory());
    EXPECT_OK(paths);
    v1::SubscribeRequest request;
    (*request.mutable_labels())["role"] = role;
    paths->LimitTo(MachineFilter::Of(request, store_->directory()));
    return std::make_unique<Reader>(std::make_shared<Subscription>(
        SubscriptionRequest{
            .paths = *std::move(paths), .choice = choice, .start = start},
        &clock_));
  }
  std::unique_ptr<Reader> SubscribeRole(const std::string& role,
                                        std::optional<absl::Time> start = {},
                                        const Choice& choice = {}) {
    auto reader = MakeReader(role, start, choice);
    EXPECT_OK(hub_.Add(reader->subscription()));
    Work();
    return reader;
  }

  int live_changes_ = 0;
};

TEST_F(SelectionTest, FollowsTheConfiguration) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  const uint32_t c = web.Disk("C:");
  const uint32_t d = db.Disk("C:");
  Connect("web-1", "web");
  Connect("db-1", "db");
  web.Ticks(1, 1, {{c, 3}});
  db.Ticks(1, 1, {{d, 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto reader = SubscribeRole("web");
  const auto all = Subscribe({kQueue});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@1=3"));
  all->Read();
  live_changes_ = 0;

  // A machine is selected, from its newest stored value on.
  SetRoles({{"db-*", "web"}});
  EXPECT_GT(live_changes_, 0);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 db-1 \\Disk(C:)\\Queue Length", "2@1=5"));
  EXPECT_EQ(reader->live_machines().live(), 2);
  db.Ticks(2, 2, {{d, 6}});
  Arrive(db);
  EXPECT_THAT(reader->Read(), ElementsAre("2@2=6"));

  // Its series end when it is no longer selected.
  SetRoles({{"web-1", "db"}});
  EXPECT_THAT(reader->Read(), UnorderedElementsAre("-1", "-2"));
  EXPECT_EQ(reader->live_machines().live(), 0);
  web.Ticks(2, 2, {{c, 4}});
  Arrive(web);
  EXPECT_THAT(reader->Read(), IsEmpty());
  // The subscription to all machines went on.
  EXPECT_THAT(all->Read(), UnorderedElementsAre("1@2=4", "2@2=6"));
  live_changes_ = 0;
  SetRoles({{"web-1", "db"}, {"mail-1", "db"}});
  EXPECT_EQ(live_changes_, 0);

  SetRoles({});
  web.Ticks(3, 3, {{c, 5}});
  Arrive(web);
  const auto notes = reader->Read();
  EXPECT_THAT(notes, Contains("+1 web-1 \\Disk(C:)\\Queue Length"));
  EXPECT_THAT(notes, Contains("1@3=5"));
}

TEST_F(SelectionTest, FollowsTheAgentsOwnLabels) {
  DiskAgent agent(&store_, "web-1");
  DiskAgent remote(&store_, "sql-1");
  const uint32_t c = agent.Disk("C:");
  const uint32_t d = remote.Disk("C:");
  Connect("web-1", "web");
  Connect("sql-1", "", "web-1");
  agent.Ticks(1, 1, {{c, 3}});
  remote.Ticks(1, 1, {{d, 4}});
  ASSERT_OK(agent.Send());
  ASSERT_OK(remote.Send());
  const auto web = SubscribeRole("web");
  EXPECT_THAT(web->Read(), ElementsAre("+1 sql-1 \\Disk(C:)\\Queue Length",
                                       "+2 web-1 \\Disk(C:)\\Queue Length",
                                       "1@1=4", "2@1=3"));
  // The agent connects with another label, which its other machine has, too.
  Connect("web-1", "canary");
  EXPECT_THAT(web->Read(), UnorderedElementsAre("-1", "-2"));
  EXPECT_FALSE(hub_.IsWatched("web-1"));
  const auto canary = SubscribeRole("canary");
  EXPECT_TRUE(hub_.IsWatched("web-1"));
  canary->Read();
  agent.Ticks(2, 2, {{c, 4}});
  Arrive(agent);
  EXPECT_THAT(canary->Read(), ElementsAre("2@2=4"));
  EXPECT_THAT(web->Read(), IsEmpty());
}

// The hub keeps the names of machines that no subscription selects.
TEST_F(SelectionTest, AddsMachinesThatWereUnwatched) {
  DiskAgent web(&store_, "web-1");
  Connect("web-1", "web");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  ASSERT_OK(web.Send());
  const auto reader = SubscribeRole("web");
  reader->Read();
  EXPECT_FALSE(hub_.IsWatched("db-1"));
  SetRoles({{"db-1", "web"}});  // before the machine is known
  Connect("db-1", "db");
  EXPECT_TRUE(hub_.IsWatched("db-1"));
  DiskAgent db(&store_, "db-1");
  db.Ticks(2, 2, {{db.Disk("C:"), 5}});
  Arrive(db);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+2 db-1 \\Disk(C:)\\Queue Length", "2@2=5"));
}

TEST_F(SelectionTest, SendsHistoryOnce) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  const uint32_t d = db.Disk("C:");
  Connect("web-1", "web");
  Connect("db-1", "db");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  db.Ticks(1, 2, {{d, 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto reader = SubscribeRole("web", kStart);
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@1=3"));
  SetRoles({{"db-1", "web"}});
  EXPECT_THAT(reader->Read(), ElementsAre("+2 db-1 \\Disk(C:)\\Queue Length",
                                          "2@1=5", "2@2=5"));
  SetRoles({});
  EXPECT_THAT(reader->Read(), ElementsAre("-2"));
  SetRoles({{"db-1", "web"}});
  const auto again = reader->Read();
  ASSERT_EQ(again.size(), 2);  // the series, and its newest value
  EXPECT_THAT(again[1], EndsWith("@2=5"));
}

// The machine is no longer selected after each number of steps of the work that
// begins the subscription and reads its history, and is then selected again.
// Either time, the history is sent.
class InterruptedSelectionTest : public SelectionTest,
                                 public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(SharesItsFeed, InterruptedSelectionTest,
                         ::testing::Bool());

TEST_P(InterruptedSelectionTest, EndsAllSeriesThatItHasSent) {
  DiskAgent web(&store_, "web-1");
  Connect("web-1", "web");
  web.Ticks(1, 2, {{web.Disk("C:"), 3}});
  ASSERT_OK(web.Send());
  std::unique_ptr<Reader> other;
  if (GetParam()) other = Subscribe({kQueue});
  int with_values = 0;
  int without_values = 0;
  for (int steps = 0; steps < 20; ++steps) {
    SCOPED_TRACE(steps);
    SetRoles({});
    const auto reader = MakeReader("web", kStart);
    ASSERT_OK(hub_.Add(reader->subscription()));
    for (int i = 0; i < steps; ++i) hub_.WorkOnce();
    SetRoles({{"*", "db"}});
    const auto notes = reader->Read();
    SetRoles({});
    const auto again = reader->Read();
    if (notes.empty()) {
      ++without_values;
      EXPECT_THAT(again, ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                     "1@1=3", "1@2=3"));
    } else {
      ++with_values;
      EXPECT_THAT(notes, ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                     "1@1=3", "1@2=3", "-1"));
      EXPECT_THAT(again,
                  ElementsAre(EndsWith("Queue Length"), EndsWith("@2=3")));
    }
    hub_.Remove(reader->subscription());
    Work();
    EXPECT_EQ(hub_.IsWatched("web-1"), GetParam());
  }
  EXPECT_GT(with_values, 0);
  EXPECT_GT(without_values, 0);
}

TEST_F(SelectionTest, EndsSeriesThatOnlyTheHistoryHas) {
  DiskAgent web(&store_, "web-1");
  const uint32_t c = web.Disk("C:");
  Connect("web-1", "web");
  web.Ticks(1, 1, {{c, 3}});
  ASSERT_OK(web.Send());
  const auto other = Subscribe({kQueue});
  // Stored, but not evaluated yet.
  web.Ticks(2, 2, {{c, 3}, {web.Disk("D:"), 4}});
  ASSERT_OK(web.Send());
  const auto reader = SubscribeRole("web", kStart);
  EXPECT_THAT(reader->Read(), Contains("2@2=4"));
  SetRoles({{"web-1", "db"}});
  EXPECT_THAT(reader->Read(), UnorderedElementsAre("-1", "-2"));
}

TEST_F(SelectionTest, SendsNoHistoryThatWaitedWhileTheMachineLeft) {
  DiskAgent first(&store_, "db-1");
  DiskAgent web(&store_, "web-1");
  const uint32_t c = web.Disk("C:");
  Connect("db-1", "web");
  Connect("web-1", "web");
  first.Ticks(1, static_cast<int>(Outbox::kMaxValues), {{first.Disk("C:"), 3}});
  web.Ticks(1, 1, {{c, 5}});
  ASSERT_OK(first.Send());
  ASSERT_OK(web.Send());
  const auto other = Subscribe({kQueue});
  // The first machine's history fills the outbox.
  const auto reader = SubscribeRole("web", kStart);
  const auto arrive = [&] {
    const auto batch = web.TakeBatch();
    ASSERT_OK(batch);
    ASSERT_OK(web.Keep(**batch));
    hub_.OnBatch(*batch);
    Work();
  };
  web.Ticks(2, 2, {{c, 5}});
  arrive();
  SetRoles({{"web-1", "db"}});
  web.Ticks(3, 3, {{c, 5}, {web.Disk("D:"), 6}});
  arrive();
  EXPECT_EQ(reader->Read().size(), 1 + Outbox::kMaxValues);
  Work();
  EXPECT_THAT(reader->Read(), IsEmpty());

  SetRoles({});
  EXPECT_THAT(reader->Read(),
              UnorderedElementsAre("+2 web-1 \\Disk(C:)\\Queue Length",
                                   "+3 web-1 \\Disk(D:)\\Queue Length", "2@1=5",
                                   "2@2=5", "2@3=5", "3@3=6"));
  web.Ticks(4, 4, {{c, 7}});
  arrive();
  EXPECT_THAT(reader->Read(), UnorderedElementsAre("2@4=7", "-3"));
  SetRoles({{"web-1", "db"}});
  EXPECT_THAT(reader->Read(), ElementsAre("-2"));
}

TEST_F(SelectionTest, RepeatsNoLiveValuesAsHistory) {
  DiskAgent web(&store_, "web-1");
  Connect("web-1", "web");
  Connect("db-1", "web");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  ASSERT_OK(web.Send());
  const auto reader = SubscribeRole("web", kStart);
  reader->Read();
  DiskAgent db(&store_, "db-1");
  const uint32_t d = db.Disk("C:");
  for (int t = 1; t <= 2; ++t) {
    db.Ticks(t, t, {{d, 5}});
    const auto batch = db.TakeBatch();
    ASSERT_OK(batch);
    ASSERT_OK(db.Keep(**batch));
    hub_.OnBatch(*batch);
    Work();
  }
  EXPECT_THAT(reader->Read(), ElementsAre("+2 db-1 \\Disk(C:)\\Queue Length",
                                          "2@1=5", "2@2=5"));
  SetRoles({{"db-1", "db"}});
  EXPECT_THAT(reader->Read(), ElementsAre("-2"));
  SetRoles({});
  EXPECT_THAT(reader->Read(),
              ElementsAre(EndsWith("Queue Length"), EndsWith("@2=5")));
}

TEST_F(SelectionTest, ReportsManyChangesOnce) {
  DiskAgent web(&store_, "web-1");
  Connect("web-1", "web");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  ASSERT_OK(web.Send());
  const auto reader = SubscribeRole("web");
  live_changes_ = 0;
  for (const char* const name : {"db-1", "db-2", "db-3"}) {
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent(name);
    (*machine.mutable_labels())["role"] = "web";
    ASSERT_OK(store_->PutMachine({machine}));
  }
  Work();
  EXPECT_EQ(live_changes_, 1);
  EXPECT_EQ(hub_.counts().watched_machines, 4);
}

TEST_F(SelectionTest, GivesPlacesAmongTheFirstToOthers) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  Connect("web-1", "web");
  Connect("db-1", "web");
  const uint32_t c = web.Disk("C:");
  const uint32_t d = db.Disk("C:");
  web.Ticks(1, 1, {{c, 9}});
  db.Ticks(1, 1, {{d, 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto reader = SubscribeRole("web", {}, {.top = 1});
  reader->Read();
  SetRoles({{"web-1", "db"}});
  db.Ticks(2, 2, {{d, 5}});
  Arrive(db);
  const auto notes = reader->Read();
  EXPECT_THAT(notes, Contains(EndsWith("@2=5")));
}

class LimitedSelectionTest : public SelectionTest {
 protected:
  LimitedSelectionTest() : SelectionTest({.max_live_machines = 1}) {}
};

TEST_F(LimitedSelectionTest, MachineThatLeavesMakesRoomForALiveOne) {
  DiskAgent web(&store_, "web-1");
  DiskAgent db(&store_, "db-1");
  Connect("web-1", "web");
  Connect("db-1", "db");
  web.Ticks(1, 1, {{web.Disk("C:"), 3}});
  db.Ticks(1, 1, {{db.Disk("C:"), 5}});
  ASSERT_OK(web.Send());
  ASSERT_OK(db.Send());
  const auto reader = SubscribeRole("web");
  SetRoles({{"db-1", "web"}});
  reader->Read();
  EXPECT_EQ(reader->live_machines().live(), 1);
  EXPECT_EQ(reader->live_machines().widened(), 1);
  SetRoles({});
  reader->Read();
  EXPECT_EQ(reader->live_machines().widened(), 0);
  EXPECT_FALSE(reader->live_machines().has_widened_interval());
  SetRoles({{"web-1", "db"}});
  EXPECT_EQ(hub_.counts().live_machines, 0);
  SetRoles({{"web-1", "db"}, {"db-1", "web"}});
  reader->Read();
  EXPECT_TRUE(hub_.IsWatched("db-1"));
  EXPECT_EQ(reader->live_machines().live(), 1);
}

}  // namespace
}  // namespace fleetperf::aggregator
