// Labels of machines, from agents and from the configuration.

#include "aggregator/samples/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/label_rules.h"
#include "aggregator/samples/stored_machine.h"
#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

LabelRule Rule(const std::vector<std::string>& machines, const Labels& labels) {
  LabelRule rule{.labels = labels};
  for (const std::string& text : machines) rule.machines.emplace_back(text);
  return rule;
}

StoredMachine Machine(const std::string& name, const std::string& agent,
                      const Labels& labels = {}) {
  v1::Machine machine;
  machine.set_name(name);
  machine.set_agent(agent);
  machine.mutable_labels()->insert(labels.begin(), labels.end());
  return {machine};
}

TEST(LabelRules, LastRuleThatSetsALabelHolds) {
  const LabelRules rules({Rule({"web-*"}, {{"role", "web"}, {"rack", "a1"}}),
                          Rule({"web-7", "db-1"}, {{"role", "canary"}}),
                          Rule({"*-7"}, {{"rack", "a2"}, {"owner", ""}})});
  EXPECT_THAT(rules.For("web-1"),
              ElementsAre(Pair("rack", "a1"), Pair("role", "web")));
  EXPECT_THAT(rules.For("db-1"), ElementsAre(Pair("role", "canary")));
  EXPECT_THAT(rules.For("web-7"),
              ElementsAre(Pair("owner", ""), Pair("rack", "a2"),
                          Pair("role", "canary")));
  EXPECT_THAT(rules.For("mail-1"), IsEmpty());
  EXPECT_THAT(LabelRules().For("web-1"), IsEmpty());
}

TEST(LabelRules, NamesAndPatternsIgnoreTheCaseOfMachines) {
  const LabelRules rules(
      {Rule({"WEB-1", "DB-*"}, {{"a", "1"}}), Rule({"odd[*]"}, {{"b", "2"}})});
  EXPECT_THAT(rules.For("web-1"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(rules.For("db-1"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(rules.For("odd*"), ElementsAre(Pair("b", "2")));
  EXPECT_THAT(rules.For("odds"), IsEmpty());
}

TEST(Labels, ThatExceedALimitAreRefused) {
  const auto refused = [](const std::string& message) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
  };
  Labels labels;
  for (int i = 0; i < kMaxLabels; ++i) labels[absl::StrCat(i)] = "x";
  EXPECT_OK(CheckLabels("F", labels));
  labels["one more"] = "x";
  EXPECT_THAT(CheckLabels("F", labels),
              refused("F has 65 labels, more than 64"));
  EXPECT_OK(CheckLabels("F", {{std::string(128, 'n'), ""}}));
  EXPECT_THAT(CheckLabels("F", {{std::string(129, 'n'), ""}}),
              refused("in F has 129 bytes, more than 128"));
  EXPECT_OK(CheckLabels("F", {{"n", std::string(1024, 'v')}}));
  EXPECT_THAT(CheckLabels("F", {{"n", std::string(1025, 'v')}}),
              refused("F[\"n\"] has 1025 bytes, more than 1024"));
  EXPECT_THAT(CheckLabels("F", {{"n", "a\nb"}}),
              refused("F[\"n\"] is \"a\\nb\"; labels must not contain"));
  labels.clear();
  for (int i = 0; i < 8; ++i) labels[absl::StrCat(i)] = std::string(1023, 'v');
  EXPECT_OK(CheckLabels("F", labels));
  labels["8"] = "";
  EXPECT_THAT(CheckLabels("F", labels),
              refused("F has 8193 bytes, more than 8192"));
}

class DirectoryLabels : public ::testing::Test {
 protected:
  DirectoryLabels() {
    directory_.SetLabelsListener([this](std::vector<std::string> machines) {
      changed_.insert(changed_.end(), machines.begin(), machines.end());
      // The listener may ask for labels.
      for (const std::string& name : machines) directory_.LabelsOf(name);
    });
  }

  // Returns the machines of the calls of the listener since the last call.
  std::vector<std::string> Changed() { return std::exchange(changed_, {}); }

  Directory directory_;
  std::vector<std::string> changed_;
};

TEST_F(DirectoryLabels, AreThoseOfTheAgentChangedByTheRules) {
  directory_.AddMachine(
      Machine("web-1", "web-1", {{"role", "web"}, {"owner", "bob"}}));
  directory_.SetLabelRules(LabelRules(
      {Rule({"web-*"}, {{"role", "canary"}, {"owner", ""}, {"rack", "a1"}})}));
  EXPECT_THAT(directory_.LabelsOf("web-1"),
              ElementsAre(Pair("rack", "a1"), Pair("role", "canary")));
  // A machine that comes after the rules.
  directory_.AddMachine(Machine("web-2", "web-2", {{"site", "b"}}));
  EXPECT_THAT(directory_.LabelsOf("web-2"),
              ElementsAre(Pair("rack", "a1"), Pair("role", "canary"),
                          Pair("site", "b")));
  // The agent's labels are still there when the rules go.
  directory_.SetLabelRules({});
  EXPECT_THAT(directory_.LabelsOf("web-1"),
              ElementsAre(Pair("owner", "bob"), Pair("role", "web")));
}

TEST_F(DirectoryLabels, OfAnotherMachineAreThoseOfItsAgentAndThenItsOwn) {
  directory_.AddMachine(Machine("win-1", "win-1", {{"site", "b"}}));
  directory_.AddMachine(Machine("sql-1", "win-1"));
  EXPECT_THAT(directory_.LabelsOf("sql-1"), ElementsAre(Pair("site", "b")));
  directory_.SetLabelRules(
      LabelRules({Rule({"sql-*"}, {{"role", "db"}}),
                  Rule({"win-*"}, {{"role", "collector"}, {"rack", "a1"}})}));
  // The rule for the agent is the last one, but says less of the machine.
  EXPECT_THAT(
      directory_.LabelsOf("sql-1"),
      ElementsAre(Pair("rack", "a1"), Pair("role", "db"), Pair("site", "b")));
  EXPECT_THAT(directory_.LabelsOf("win-1"),
              ElementsAre(Pair("rack", "a1"), Pair("role", "collector"),
                          Pair("site", "b")));
}

TEST_F(DirectoryLabels, OfMachinesWithoutAnAgentAreThoseOfTheRules) {
  directory_.SetLabelRules(LabelRules({Rule({"*"}, {{"a", "1"}, {"b", ""}})}));
  directory_.AddMachine("central");
  EXPECT_THAT(directory_.LabelsOf("central"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(directory_.LabelsOf("never-seen"), ElementsAre(Pair("a", "1")));
}

TEST_F(DirectoryLabels, ListenerHearsOfMachinesWhoseLabelsChange) {
  directory_.AddMachine(Machine("web-1", "web-1", {{"role", "web"}}));
  directory_.AddMachine(Machine("web-2", "web-2"));
  directory_.AddMachine(Machine("sql-1", "web-1"));
  Changed();
  directory_.AddMachine(Machine("web-1", "web-1", {{"role", "web"}}));
  EXPECT_THAT(Changed(), IsEmpty());
  directory_.AddMachine(Machine("web-1", "web-1", {{"role", "db"}}));
  EXPECT_THAT(Changed(), UnorderedElementsAre("web-1", "sql-1"));
  // Another agent collects from it.
  directory_.AddMachine(Machine("sql-1", "web-2"));
  EXPECT_THAT(Changed(), ElementsAre("sql-1"));
  directory_.AddMachine(Machine("web-1", "web-1"));
  EXPECT_THAT(Changed(), ElementsAre("web-1"));

  directory_.SetLabelRules(LabelRules({Rule({"web-2"}, {{"role", "x"}})}));
  EXPECT_THAT(Changed(), UnorderedElementsAre("web-2", "sql-1"));
  // The same labels by another rule.
  directory_.SetLabelRules(LabelRules({Rule({"*-2"}, {{"role", "x"}})}));
  EXPECT_THAT(Changed(), IsEmpty());
  directory_.HideMachine("web-1");
  EXPECT_THAT(Changed(), ElementsAre("web-1"));
}

}  // namespace
}  // namespace fleetperf::aggregator
