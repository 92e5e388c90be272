// The command line asks three aggregators that the agents spread over. One is
// killed, its agents move to the others, and it comes back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/text/units.h"
#include "tests/e2e/many_aggregators.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kAgentCount = 12;
constexpr char kAll[] = "\\\\m-*\\Numbers\\Number";

absl::Time MinuteAgo() {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) -
         absl::Minutes(1);
}

class SeveralAggregators : public ManyAggregators {
 protected:
  SeveralAggregators() : ManyAggregators(kAgentCount, MinuteAgo()) {}

  uint64_t NumberOf(uint64_t agent, uint64_t tick) const override {
    return 1000 * agent + tick;
  }

  void Start(const std::string& name) {
    std::vector<std::string> names;
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      names.push_back(AgentName(agent));
    }
    StartOne(name, absl::StrCat("expected_machines: [",
                                absl::StrJoin(names, ", "), "]\n"));
  }

  // Starts all, and sends the ticks up to `last` of all agents.
  void StartAll(uint64_t last) {
    for (const std::string name : {"a", "b", "c"}) Start(name);
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      Connect(agent, Choose(agent), 1, last);
      Send(agent, 1, last);
    }
    AwaitAcks(last);
  }

  // Moves the agents of a killed aggregator, and sends ticks of all agents.
  void MoveFrom(const std::string& name, uint64_t first, uint64_t last) {
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      if (AggregatorOf(agent) == name) {
        Connect(agent, Choose(agent, name), first, last);
      }
      Send(agent, first, last);
    }
    AwaitAcks(last);
  }

  std::vector<std::string> Addressed(std::vector<std::string> arguments) {
    for (const std::string name : {"a", "b", "c"}) {
      arguments.insert(arguments.end(), {"--aggregator", AddressOf(name)});
    }
    return arguments;
  }

  Result AskAll(const std::vector<std::string>& arguments) {
    return deployment_.Fleetperf(Addressed(arguments));
  }

  // Returns the lines of JSON.
  std::vector<nlohmann::json> JsonOfAll(std::vector<std::string> arguments,
                                        int status = 0) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const Result result = AskAll(arguments);
    EXPECT_EQ(result.status, status) << result.error;
    std::vector<nlohmann::json> lines;
    for (const absl::string_view line :
         absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
      lines.push_back(nlohmann::json::parse(line.begin(), line.end()));
    }
    return lines;
  }

  // Returns a query of the ticks from `first` to `last`.
  std::vector<std::string> QueryOf(uint64_t first, uint64_t last,
                                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "query",  kAll,
        "--from", FormatUtc(start_ + absl::Seconds(first) - absl::Seconds(1)),
        "--to",   FormatUtc(start_ + absl::Seconds(last))};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Checks the raw samples of a range: each tick once, except those before
  // `moved_at` of agents whose aggregator is down.
  void ExpectTicks(uint64_t last, int status = 0,
                   const std::set<std::string>& moved = {},
                   uint64_t moved_at = 0) {
    std::map<std::string, int> found;
    for (const auto& line : JsonOfAll(QueryOf(1, last, {"--raw"}), status)) {
      if (line["value"].is_null()) continue;
      ++found[line["value"].get<std::string>()];
    }
    std::map<std::string, int> expected;
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      const bool is_moved = moved.contains(AgentName(agent));
      for (uint64_t tick = is_moved ? moved_at : 1; tick <= last; ++tick) {
        expected[absl::StrCat(NumberOf(agent, tick))] = 1;
      }
    }
    EXPECT_EQ(found, expected);
  }

  // Checks the answers about ticks that all reached aggregators have together.
  void ExpectAnswers(uint64_t first, uint64_t last, int status) {
    const double mean = static_cast<double>(first + last) / 2;
    std::vector<std::string> machines;
    for (const auto& line : JsonOfAll(QueryOf(first, last), status)) {
      machines.push_back(line["machine"].get<std::string>());
      const size_t agent = machines.size() - 1;
      EXPECT_EQ(line["value"].get<double>(),
                1000 * static_cast<double>(agent) + mean);
    }
    std::vector<std::string> all;
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      all.push_back(AgentName(agent));
    }
    EXPECT_EQ(machines, all);  // in their order
    EXPECT_THAT(Ranked(first, last, {"--top", "3"}, status),
                ElementsAre("m-011", "m-010", "m-009"));
    EXPECT_THAT(Ranked(first, last, {"--bottom", "2"}, status),
                ElementsAre("m-000", "m-001"));
    EXPECT_THAT(Ranked(first, last, {"--where", "> 9000"}, status),
                ElementsAre("m-009", "m-010", "m-011"));
    EXPECT_THAT(
        Ranked(first, last, {"--agg", "max", "--by", "machine"}, status),
        SizeIs(kAgentCount));
    EXPECT_THAT(JsonOfAll(QueryOf(first, last, {"--step", "1s"}), status),
                SizeIs(kAgentCount * (last - first + 1)));
    const Result over = AskAll(QueryOf(first, last, {"--agg", "sum"}));
    EXPECT_EQ(over.status, 1) << over.output;
    EXPECT_THAT(over.error,
                AllOf(HasSubstr("--by machine"), HasSubstr("--aggregator")));
  }

  std::vector<std::string> Ranked(uint64_t first, uint64_t last,
                                  const std::vector<std::string>& flags,
                                  int status) {
    std::vector<std::string> machines;
    for (const auto& line : JsonOfAll(QueryOf(first, last, flags), status)) {
      machines.push_back(line["machine"].get<std::string>());
    }
    return machines;
  }

  // Returns the states of the agents' machines.
  std::map<std::string, std::string> States(int status) {
    std::map<std::string, std::string> states;
    for (const auto& line :
         JsonOfAll({"machines", "--machine", "m-*"}, status)) {
      EXPECT_TRUE(states
                      .emplace(line["machine"].get<std::string>(),
                               line["state"].get<std::string>())
                      .second);
    }
    return states;
  }

  void ExpectAllConnected(int status) {
    const auto states = States(status);
    EXPECT_THAT(states, SizeIs(kAgentCount));
    for (const auto& [machine, state] : states) {
      EXPECT_EQ(state, "connected") << machine;
    }
  }

  Result CheckMissing() {
    return AskAll({"check", "--missing", "--machine", "m-*", "--stale", "10m"});
  }
};

TEST_F(SeveralAggregators, AnswerAsOneAtEachStage) {
  StartAll(10);
  ExpectAllConnected(0);
  ExpectTicks(10);
  ExpectAnswers(1, 10, 0);
  EXPECT_EQ(CheckMissing().status, 0) << CheckMissing().output;
  const Result status = AskAll({"status"});
  EXPECT_EQ(status.status, 0) << status.error;
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_THAT(status.output, HasSubstr(AddressOf(name)));
  }
  const std::string of_c = *AgentsOf("c").begin();
  const std::set<std::string> moved = AgentsOf("c");

  // One is killed. Its agents have not moved yet.
  Kill("c");
  const Result machines = AskAll({"machines"});
  EXPECT_EQ(machines.status, 2);
  EXPECT_THAT(machines.error,
              HasSubstr(absl::StrCat("cannot reach the aggregator at ",
                                     AddressOf("c"))));
  const Result unknown = CheckMissing();
  EXPECT_EQ(unknown.status, 3) << unknown.output;
  EXPECT_THAT(unknown.output, AllOf(HasSubstr(of_c), HasSubstr(AddressOf("c")),
                                    Not(HasSubstr("missing:"))));
  // A path with wildcards may be of its machines.
  const Result wildcards =
      AskAll({"check", kAll, "--since", "10m", "--stale", "10m"});
  EXPECT_EQ(wildcards.status, 3) << wildcards.output;
  EXPECT_THAT(wildcards.output, HasSubstr(AddressOf("c")));

  MoveFrom("c", 11, 20);
  ExpectAllConnected(2);
  ExpectTicks(20, 2, moved, 11);
  ExpectAnswers(11, 20, 2);
  const Result moved_on = CheckMissing();
  EXPECT_EQ(moved_on.status, 0) << moved_on.output;

  // It comes back with the first ticks of its agents, which are at the others.
  Start("c");
  ExpectAllConnected(0);
  ExpectTicks(20);
  ExpectAnswers(11, 20, 0);
  EXPECT_THAT(JsonOfAll(QueryOf(1, 20, {"--step", "1s"})),
              SizeIs(kAgentCount * 20));
  for (const auto& line : JsonOfAll(QueryOf(1, 20))) {
    const std::string machine = line["machine"].get<std::string>();
    EXPECT_EQ(line.contains("aggregators"), moved.contains(machine));
    if (!moved.contains(machine)) continue;
    EXPECT_THAT(line["aggregators"], SizeIs(2));
    EXPECT_EQ(line["aggregators"].back(), AddressOf("c"));
    EXPECT_LT(line["coverage"].get<double>(), 0.6);
  }

  // The agents return to it.
  for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
    if (Choose(agent) == "c") Connect(agent, "c", 21, 22);
    Send(agent, 21, 22);
  }
  AwaitAcks(22);
  ExpectAllConnected(0);
  ExpectTicks(22);
  ExpectAnswers(21, 22, 0);
  EXPECT_EQ(CheckMissing().status, 0);

  for (const std::string name : {"a", "b", "c"}) Kill(name);
  const Result none = AskAll({"machines"});
  EXPECT_EQ(none.status, 1);
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_THAT(none.error, HasSubstr(AddressOf(name)));
  }
}

// A series is judged by the aggregator that has most of it.
TEST_F(SeveralAggregators, JudgesAMovedSeriesByItsLargerPart) {
  for (const std::string name : {"a", "b", "c"}) Start(name);
  Connect(0, "a", 1, 9);
  Send(0, 1, 9);  // at most 9
  AwaitAck(0, 9);
  Connect(0, "b", 10, 12);
  Send(0, 10, 12);  // at least 10
  AwaitAck(0, 12);
  EXPECT_THAT(Ranked(1, 12, {"--where", "< 10"}, 0), ElementsAre("m-000"));
  EXPECT_EQ(AskAll(QueryOf(1, 12, {"--where", "> 10"})).status, 2);
}

// The smaller part of the first agent's series has the largest values of all.
class MovedSeries : public SeveralAggregators {
 protected:
  uint64_t NumberOf(uint64_t agent, uint64_t tick) const override {
    const uint64_t number = SeveralAggregators::NumberOf(agent, tick);
    return agent == 0 && tick >= 10 ? 90000 + number : number;
  }
};

// At `b`, m-000 is the first. `a`, which has most of it, does not rank it.
TEST_F(MovedSeries, IsRankedByItsLargerPart) {
  for (const std::string name : {"a", "b", "c"}) Start(name);
  for (uint64_t agent = 0; agent < 4; ++agent) {
    Connect(agent, agent == 3 ? "b" : "a", 1, 12);
    Send(agent, 1, agent == 0 ? 9 : 12);
    AwaitAck(agent, agent == 0 ? 9 : 12);
  }
  Connect(0, "b", 10, 12);
  Send(0, 10, 12);
  AwaitAck(0, 12);
  EXPECT_THAT(Ranked(1, 12, {"--top", "1"}, 0), ElementsAre("m-003"));
  EXPECT_THAT(Ranked(1, 12, {"--top", "2"}, 0), ElementsAre("m-003", "m-002"));
  EXPECT_THAT(Ranked(1, 12, {"--bottom", "1"}, 0), ElementsAre("m-000"));
  EXPECT_THAT(Ranked(1, 12, {"--top", "1", "--where", "< 2500"}, 0),
              ElementsAre("m-002"));
  EXPECT_EQ(AskAll(QueryOf(1, 12, {"--top", "1", "--where", "> 9000"})).status,
            2);
  // With its windows at both.
  const auto windows =
      JsonOfAll(QueryOf(1, 12, {"--bottom", "1", "--step", "1s"}));
  EXPECT_THAT(windows, SizeIs(12));
  EXPECT_EQ(windows.back()["value"], NumberOf(0, 12));
  EXPECT_THAT(windows.back()["aggregators"],
              ElementsAre(AddressOf("a"), AddressOf("b")));
  // Groups are not ranked if they are of machines of both.
  const Result over = AskAll(QueryOf(1, 12, {"--agg", "sum", "--top", "1"}));
  EXPECT_EQ(over.status, 1) << over.output;
  EXPECT_THAT(over.error, HasSubstr("--by machine"));
}

TEST_F(SeveralAggregators, AreNamedIfTheyDoNotSuit) {
  for (const std::string name : {"a", "b", "c"}) Start(name);
  const Result backup = AskAll({"backup", deployment_.File("copy")});
  EXPECT_EQ(backup.status, 1);
  EXPECT_THAT(backup.error, HasSubstr("--aggregator " + AddressOf("a")));
  // A reader must not forget machines: all refuse it.
  Connect(0, "a", 1, 1);
  Send(0, 1, 1);
  AwaitAck(0, 1);
  const Result forget = AskAll({"machines", "forget", "m-000"});
  EXPECT_EQ(forget.status, 1);
  // A path that one of them has is not missing.
  EXPECT_EQ(
      AskAll({"query", "\\\\m-000\\Numbers\\Number", "--since", "1h"}).status,
      0);
  const Result missing =
      AskAll({"query", "\\\\m-001\\Numbers\\Number", "--since", "1h"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.error, HasSubstr("m-001"));
}

// All that have the machine forget it, or none.
TEST_F(SeveralAggregators, ForgetAMachineTogether) {
  for (const std::string name : {"a", "b"}) StartOne(name);
  Connect(0, "a", 1, 1);
  Send(0, 1, 1);
  AwaitAck(0, 1);
  Connect(0, "b", 2, 2);
  Send(0, 2, 2);
  AwaitAck(0, 2);
  const TlsFiles alice = deployment_.Issue("operator", {"alice"});
  const auto forget = [&] {
    return deployment_.Fleetperf(
        {"machines", "forget", AgentName(0), "--aggregator", AddressOf("a"),
         "--aggregator", AddressOf("b"), "--certificate", alice.certificate,
         "--key", alice.key});
  };
  const Result connected = forget();
  EXPECT_EQ(connected.status, 1);
  EXPECT_THAT(connected.error, HasSubstr("is connected from"));
  EXPECT_EQ(MachinesOf("a"), std::set<std::string>{AgentName(0)});
  Kill("b");
  StartOne("b");  // the agent does not reconnect
  const Result forgotten = forget();
  EXPECT_EQ(forgotten.status, 0) << forgotten.error;
  for (const std::string name : {"a", "b"}) {
    EXPECT_THAT(forgotten.output, HasSubstr(", at " + AddressOf(name)));
  }
  const Result unknown = forget();
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no machine"));
}

// Each value is shown once, wherever its machine is connected.
TEST_F(SeveralAggregators, AreWatchedAsOne) {
  StartAll(2);
  const auto watch = deployment_.StartFleetperf(
      Addressed({"watch", kAll, "--since", "1h", "--format", "json"}));
  const auto is_shown = [&](uint64_t tick) {
    for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
      const std::string value =
          absl::StrCat("\"value\":", NumberOf(agent, tick), ".0,");
      if (!watch->WaitForOutput(value)) return false;
    }
    return true;
  };
  ASSERT_TRUE(is_shown(2)) << watch->output() << watch->error();
  Kill("c");
  ASSERT_TRUE(watch->WaitForError("connecting again")) << watch->error();
  MoveFrom("c", 3, 5);
  ASSERT_TRUE(is_shown(5)) << watch->output() << watch->error();
  Start("c");
  for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
    if (Choose(agent) == "c") Connect(agent, "c", 6, 7);
    Send(agent, 6, 7);
  }
  AwaitAcks(7);
  ASSERT_TRUE(is_shown(7)) << watch->output() << watch->error();
  watch->Signal(SIGINT);
  EXPECT_EQ(watch->Wait(), 0) << watch->error();
  std::map<double, int> shown;
  for (const std::string& line : LinesOf(watch->output())) {
    const auto value = nlohmann::json::parse(line);
    if (value["value"].is_number()) ++shown[value["value"].get<double>()];
  }
  std::map<double, int> expected;
  for (uint64_t agent = 0; agent < kAgentCount; ++agent) {
    for (uint64_t tick = 1; tick <= 7; ++tick) {
      expected[static_cast<double>(NumberOf(agent, tick))] = 1;
    }
  }
  EXPECT_EQ(shown, expected);
}

TEST_F(SeveralAggregators, AreRankedTogetherInWatch) {
  StartAll(1);
  const Result watch =
      AskAll({"watch", kAll, "--top", "3", "--for", "3s", "--format", "json"});
  EXPECT_EQ(watch.status, 0) << watch.error;
  std::set<std::string> last;
  for (const std::string& line : LinesOf(watch.output)) {
    last.insert(nlohmann::json::parse(line)["machine"].get<std::string>());
  }
  EXPECT_TRUE(last.contains("m-011") && last.contains("m-010") &&
              last.contains("m-009"))
      << watch.output;
}

}  // namespace
}  // namespace fleetperf::testing
