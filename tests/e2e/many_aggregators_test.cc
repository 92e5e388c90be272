// Aggregators that 300 agents spread over, and move between when one is killed.
// Together, their stores have each tick once. Also a standby, and what an
// aggregator says of the machines and the pages of others.

#include "tests/e2e/many_aggregators.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/os/files.h"
#include "base/rpc/channel.h"
#include "base/text/units.h"
#include "base/tls/tls_identity.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "tests/e2e/https_client.h"
#include "tests/e2e/ticks.h"

namespace fleetperf::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What a user sees of one aggregator that knows of others.
class OtherAggregators : public ManyAggregators {
 protected:
  // Returns the ticks of the first agent's machine in a store, each once.
  Ticks StoredTicks(const std::string& name) {
    const Stored stored =
        ReadStored(deployment_, AgentName(0), "\\System\\Processes",
                   absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1),
                   AddressOf(name));
    EXPECT_THAT(stored.repeated, IsEmpty());
    return stored.ticks;
  }

  // Waits until a store has a tick of the first agent's machine that is later
  // than `time`. Returns false after kPatience.
  bool AwaitTickAfter(int64_t time, const std::string& name) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (absl::Now() < deadline) {
      const Ticks ticks = StoredTicks(name);
      if (!ticks.empty() && *ticks.rbegin() > time) return true;
    }
    return false;
  }

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

TEST_F(OtherAggregators, AListedAgentIsAtTheFirstWhileThatIsUp) {
  for (const std::string name : {"a", "b"}) StartOne(name);
  // By hash, the agent prefers the one that is listed as the second.
  const std::string second = Choose(0);
  const std::string first = second == "a" ? "b" : "a";
  Kill(second);
  StartOne(second, "agents: {reconnect_after: 1s}\n");
  const std::string capture = deployment_.File("capture");
  const auto write = [&](const std::string& order) {
    Deployment::Write(
        deployment_.File("agent.yaml"),
        absl::StrCat("name: ", AgentName(0), "\naggregators: ['",
                     AddressOf(first), "', '", AddressOf(second), "']\n", order,
                     "state_directory: state\n"
                     "queries: [{counterset: System}]\n"
                     "delivery: {batch_period: 1s}\ncapture: {directory: ",
                     capture, "}\n", Deployment::TlsSection(agents_tls_)));
  };
  const auto connected = [&](const std::string& name) {
    return absl::StrCat("connected to the aggregator at ", AddressOf(name));
  };
  write("");
  Process agent({Deployment::Executable("fleetperf-agent"), "--config",
                 deployment_.File("agent.yaml")});
  ASSERT_TRUE(agent.WaitForError(connected(second))) << agent.error();
  write("aggregators_order: listed\n");
  agent.Signal(SIGHUP);
  ASSERT_TRUE(agent.WaitForError(connected(first))) << agent.error();
  ASSERT_TRUE(AwaitTickAfter(0, first));

  const std::vector<std::string> parts =
      absl::StrSplit(agent.error(), connected(second));
  Kill(first);
  // One more time than before.
  ASSERT_TRUE(
      agent.WaitForError(connected(second), static_cast<int>(parts.size())))
      << agent.error();
  const Ticks until_now = ReadTaken(capture);
  ASSERT_FALSE(until_now.empty());
  ASSERT_TRUE(AwaitTickAfter(*until_now.rbegin(), second));

  StartOne(first);
  ASSERT_TRUE(agent.WaitForError(connected(first), 2)) << agent.error();
  const Ticks taken = ReadTaken(capture);
  ASSERT_FALSE(taken.empty());
  // Batches are sent in order, so all of these have been acknowledged then.
  ASSERT_TRUE(AwaitTickAfter(*taken.rbegin(), first));
  Stored both{.ticks = StoredTicks(first)};
  both.ticks.merge(StoredTicks(second));
  EXPECT_THAT(FindMissing(taken, both), IsEmpty());
}

// `b` has the machine that `a` expects, and the page that `a` names.
TEST_F(OtherAggregators, AnExpectedMachineMayBeAtAnother) {
  StartOne("b", "web: {listen: '127.0.0.1:0', address_file: b.page}\n");
  const auto page = ReadFile(deployment_.File("b.page"));
  ASSERT_TRUE(page.ok());
  const std::string url =
      absl::StrCat("https://", absl::StripSuffix(*page, "\n"));
  StartOne("a", absl::StrCat("web: {listen: '127.0.0.1:0', address_file: "
                             "a.page}\nexpected_machines: [m-000, m-001]\n"
                             "others:\n  - {aggregator: '",
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
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(
      absl::StripSuffix(
          absl::StripPrefix(ReadFile(deployment_.File("a.page")).value(),
                            "127.0.0.1:"),
          "\n"),
      &port));
  EXPECT_THAT(
      HttpsClient(port, {.authority = deployment_.File("authority.pem"),
                         .certificate = deployment_.File("reader-tester.pem"),
                         .key = deployment_.File("reader-tester.key")})
          .Ask("POST", "/api/v1/others", "Content-Type: application/json\r\n",
               "{}"),
      EndsWith(absl::StrCat("{\"others\":[{\"aggregator\":\"", AddressOf("b"),
                            "\",\"page\":\"", url,
                            "\"},{\"aggregator\":\"127.0.0.1:1\"}]}")));
  const Result both = LogIn("a");
  EXPECT_EQ(both.status, 0) << both.error;
  EXPECT_THAT(
      LinesOf(both.output),
      ElementsAre(StartsWith(absl::StrCat("https://127.0.0.1:", port, "/")),
                  StartsWith(absl::StrCat(url, "/login?token="))));
  Kill("b");
  const Result one = LogIn("a");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(LinesOf(one.output), SizeIs(1));
  EXPECT_THAT(one.error, HasSubstr(AddressOf("b")));
}

// Each aggregator accepts one of two agents of a name. Their lists say so.
TEST_F(OtherAggregators, ListsShowAMachineThatIsConnectedTwice) {
  std::set<std::string> addresses;
  std::vector<std::unique_ptr<FakeAgent>> agents;
  const auto reader =
      TlsIdentity::Load({.authority = deployment_.File("authority.pem"),
                         .certificate = deployment_.File("reader-tester.pem"),
                         .key = deployment_.File("reader-tester.key")},
                        Role::kReader);
  ASSERT_TRUE(reader.ok());
  for (const std::string name : {"a", "b"}) {
    StartOne(name);
    agents.push_back(std::make_unique<FakeAgent>(
        AddressOf(name), agents_tls_, MakeHello(AgentName(0), kEpoch, 1, 1)));
    ASSERT_TRUE(agents.back()->Receive().has_value());
    const auto stub = v1::FleetService::NewStub(
        MakeChannel(AddressOf(name), (*reader)->ForClient()));
    grpc::ClientContext context;
    v1::ListMachinesRequest request;
    request.set_machine(AgentName(0));
    v1::ListMachinesResponse response;
    ASSERT_TRUE(stub->ListMachines(&context, request, &response).ok());
    ASSERT_EQ(response.machines_size(), 1);
    EXPECT_TRUE(response.machines(0).connected());
    EXPECT_THAT(response.machines(0).address(), StartsWith("ipv4:127.0.0.1:"));
    addresses.insert(response.machines(0).address());
  }
  EXPECT_THAT(addresses, SizeIs(2));
}

}  // namespace
}  // namespace fleetperf::testing
