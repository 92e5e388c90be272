// Aggregators that 300 agents spread over, and move between when one is killed.
// Together, their stores have each tick once. Also what an aggregator says of
// the machines and the pages of others.

#include "tests/e2e/many_aggregators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/units.h"
#include "tests/chaos/proxy.h"
#include "tests/e2e/https_client.h"

namespace fleetperf::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What a user sees of one aggregator that knows of others.
class OtherAggregators : public ManyAggregators {
 protected:
  // Returns the state of each machine in an aggregator's list.
  std::map<std::string, std::string> StatesOf(const std::string& name) {
    std::map<std::string, std::string> states;
    for (const nlohmann::json& line : Ask(name, {"machines"})) {
      states[line["machine"].get<std::string>()] =
          line["state"].get<std::string>();
    }
    states.erase(name);  // the aggregator's own counters
    return states;
  }

  Result LogIn(const std::string& name) {
    return deployment_.Fleetperf(
        {"web", "login", "--aggregator", AddressOf(name)});
  }
};

TEST_F(ManyAggregators, TogetherHaveEachTickOnce) {
  const std::vector<std::string> names = {"a", "b", "c"};
  for (const std::string& name : names) StartOne(name);
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    Connect(agent, Choose(agent), 1, 3);
    Send(agent, 1, 3);
  }
  AwaitAcks(3);
  ExpectEachTickOnce(3);
  std::map<std::string, std::set<std::string>> agents_of;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    agents_of[name] = AgentsOf(name);
    EXPECT_GT(agents_of[name].size(), agents_ / 6);
    EXPECT_EQ(MachinesOf(name), agents_of[name]);
  }

  // One is killed. Its agents move to both of the others, whose agents stay.
  Kill("c");
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    const std::string next = Choose(agent, "c");
    if (AggregatorOf(agent) == "c") {
      Connect(agent, next, 4, 5);
    } else {
      EXPECT_EQ(next, AggregatorOf(agent)) << AgentName(agent);
    }
    Send(agent, 4, 5);
  }
  AwaitAcks(5);
  for (const std::string name : {"a", "b"}) {
    SCOPED_TRACE(name);
    EXPECT_GT(AgentsOf(name).size(), agents_of[name].size());
    EXPECT_EQ(MachinesOf(name), AgentsOf(name));
  }

  // It returns with its store, and its agents return to it.
  StartOne("c");
  EXPECT_EQ(MachinesOf("c"), agents_of["c"]);
  ExpectEachTickOnce(5);
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    if (Choose(agent) == "c") Connect(agent, "c", 6, 6);
    Send(agent, 6, 6);
  }
  AwaitAcks(6);
  EXPECT_EQ(AgentsOf("c"), agents_of["c"]);
  ExpectEachTickOnce(6);

  // All are killed after they stored a tick. The agents did not receive the
  // acknowledgments, and send it again.
  for (uint64_t agent = 0; agent < agents_; ++agent) Send(agent, 7, 7);
  AwaitAcks(7);
  for (const std::string& name : names) Kill(name);
  for (const std::string& name : names) StartOne(name);
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    Connect(agent, AggregatorOf(agent), 7, 8);
    Send(agent, 7, 8);
  }
  AwaitAcks(8);
  ExpectEachTickOnce(8);
}

// A user asks each of them, and an answer is about its own store only.
TEST_F(ManyAggregators, EachAnswersForWhatItStores) {
  for (const std::string name : {"a", "b"}) StartOne(name);
  for (uint64_t agent = 0; agent < 2; ++agent) {
    Connect(agent, agent == 0 ? "a" : "b", 1, 3);
    Send(agent, 1, 3);
    AwaitAck(agent, 3);
  }
  EXPECT_EQ(MachinesOf("a"), std::set<std::string>{"m-000"});
  EXPECT_EQ(MachinesOf("b"), std::set<std::string>{"m-001"});
  const Result other = deployment_.Fleetperf(
      {"query", "\\\\m-001\\Numbers\\Number", "--from", FormatUtc(kStart),
       "--to", FormatUtc(kStart + absl::Seconds(3)), "--aggregator",
       AddressOf("a")});
  EXPECT_EQ(other.status, 2) << other.output;
  EXPECT_THAT(other.error, HasSubstr("m-001"));
}

// `b` has the machine that `a` expects, and the page that `a` names.
TEST_F(OtherAggregators, AnExpectedMachineMayBeAtAnother) {
  StartOne("b", PageSection("b"));
  const std::string url = absl::StrCat("https://", PageOf("b"));
  StartOne("a",
           absl::StrCat(
               PageSection("a"),
               "expected_machines: [m-000, m-001]\nothers:\n  - {aggregator: '",
               AddressOf("b"), "', page: '", url,
               "'}\n  - {aggregator: '127.0.0.1:1'}\n"));
  for (uint64_t agent = 0; agent < 2; ++agent) {
    Connect(agent, agent == 0 ? "b" : "a", 1, 1);
    Send(agent, 1, 1);
    AwaitAck(agent, 1);
  }
  EXPECT_THAT(StatesOf("a"), ElementsAre(Pair("m-000", "not here"),
                                         Pair("m-001", "connected")));
  EXPECT_THAT(StatesOf("b"), ElementsAre(Pair("m-000", "connected")));
  const nlohmann::json status = Ask("a", {"status"}).front();
  EXPECT_EQ(status["expected_machines"], 2);
  EXPECT_EQ(status["missing_machines"], 0);
  // A check judges by the samples of the stores that it asks.
  const Result check = deployment_.Fleetperf(
      {"check", "--missing", "--aggregator", AddressOf("a")});
  EXPECT_EQ(check.status, 2) << check.error;
  EXPECT_THAT(check.output, HasSubstr("1 of 2 expected machines missing: "
                                      "m-000: has never sent samples"));

  // The page has the same addresses, and a user gets a link to each page.
  EXPECT_THAT(BrowserOf("a").Ask("POST", "/api/v1/others",
                                 "Content-Type: application/json\r\n", "{}"),
              EndsWith(absl::StrCat("{\"others\":[{\"aggregator\":\"",
                                    AddressOf("b"), "\",\"page\":\"", url,
                                    "\"},{\"aggregator\":\"127.0.0.1:1\"}]}")));
  const Result both = LogIn("a");
  EXPECT_EQ(both.status, 0) << both.error;
  EXPECT_THAT(
      LinesOf(both.output),
      ElementsAre(StartsWith(absl::StrCat("https://", PageOf("a"), "/")),
                  StartsWith(absl::StrCat(url, "/login?token="))));
  Kill("b");
  const Result one = LogIn("a");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(LinesOf(one.output), SizeIs(1));
  EXPECT_THAT(one.error, HasSubstr(AddressOf("b")));
}

// Each aggregator accepts one of two agents of a name. The command line names
// both.
TEST_F(OtherAggregators, AMachineThatIsConnectedTwiceIsNamed) {
  for (const std::string name : {"a", "b"}) StartOne(name);
  Proxy network(PortOf(AddressOf("b")), "127.0.0.2");
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (const std::string& address : {AddressOf("a"), network.address()}) {
    agents.push_back(std::make_unique<FakeAgent>(
        address, agents_tls_, MakeHello(AgentName(0), kEpoch, 1, 1)));
    ASSERT_TRUE(agents.back()->Receive().has_value());
  }
  for (const std::string name : {"a", "b"}) {
    EXPECT_THAT(StatesOf(name),
                ElementsAre(Pair("m-000", StartsWith("connected"))));
  }
  const Result both = deployment_.Fleetperf(
      {"machines", "--machine", AgentName(0), "--format", "json",
       "--aggregator", AddressOf("a"), "--aggregator", AddressOf("b")});
  EXPECT_EQ(both.status, 0) << both.error;
  EXPECT_THAT(std::string(nlohmann::json::parse(both.output)["name_conflict"]),
              ContainsRegex("connected from ipv4:127.0.0.1:[0-9]+, another one "
                            "from ipv4:127.0.0.2:[0-9]+"));
}

}  // namespace
}  // namespace fleetperf::testing
