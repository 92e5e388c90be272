// Three aggregators and 300 agents: each aggregator answers for the whole
// fleet, also with live values, while one is killed and one is added.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/channel.h"
#include "base/credentials.h"
#include "base/files.h"
#include "base/units.h"
#include "fleetperf/v1/peer.grpc.pb.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/fleet_viewers.h"
#include "tests/e2e/https_client.h"
#include "tests/e2e/process.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kAgents = 300;
constexpr char kPath[] = "\\\\m-*\\Numbers\\Number";

std::string AgentName(uint64_t agent) {
  return absl::StrFormat("m-%03d", agent);
}

// The batch of a tick. The first one that an aggregator gets of an agent has
// the definitions.
v1::CollectRequest BatchOf(uint64_t agent, uint64_t tick, bool is_first) {
  const int64_t start = perflib::PerfTime100NSecFromTime(kStart);
  v1::CollectRequest batch =
      MakeNumberBatch(AgentName(agent), kEpoch, tick, start);
  if (!is_first || tick == 1) return batch;
  v1::BatchContent first;
  first.ParseFromString(
      MakeNumberBatch(AgentName(agent), kEpoch, 1, start).batch().payload());
  EditContent(
      [&](v1::BatchContent& content) {
        *content.mutable_definitions() = first.definitions();
      },
      &batch);
  return batch;
}

class ManyAggregators : public ::testing::Test {
 protected:
  struct Aggregator {
    std::string address = "127.0.0.1:0";
    std::unique_ptr<Process> process;
  };

  ManyAggregators() {
    std::vector<std::string> names;
    for (uint64_t agent = 0; agent < kAgents; ++agent) {
      names.push_back(AgentName(agent));
    }
    agents_tls_ = deployment_.Issue("agent", names);
    reader_ = {.authority = deployment_.File("authority.pem"),
               .certificate = deployment_.File("reader-tester.pem"),
               .key = deployment_.File("reader-tester.key")};
    Deployment::Write(deployment_.File("config.yaml"),
                      absl::StrCat("aggregator: 127.0.0.1:1\n",
                                   Deployment::TlsSection(reader_)));
  }

  void WriteConfig(const std::string& name) {
    std::vector<std::string> addresses;
    for (const auto& [other, aggregator] : aggregators_) {
      if (!aggregator.address.ends_with(":0")) {
        addresses.push_back(absl::StrCat("'", aggregator.address, "'"));
      }
    }
    const TlsFiles tls = {
        .authority = deployment_.File("authority.pem"),
        .certificate = deployment_.File("aggregator-localhost.pem"),
        .key = deployment_.File("aggregator-localhost.key")};
    Deployment::Write(
        deployment_.File(name + ".yaml"),
        absl::StrCat(
            "name: ", name, "\nlisten: ", aggregators_[name].address,
            "\naddress_file: ", name, ".address\nstore: {directory: ", name,
            ".store, recent_memory: 32MiB}\npeers: [",
            absl::StrJoin(addresses, ", "),
            "]\nweb: {listen: '127.0.0.1:0', address_file: ", name, ".page}\n",
            Deployment::TlsSection(tls), "  revoked: revoked\n"));
  }

  // Starts an aggregator, at its former address if it had one.
  void StartOne(const std::string& name) {
    WriteConfig(name);
    reloads_of_[name] = 0;
    Aggregator& aggregator = aggregators_[name];
    aggregator.process = std::make_unique<Process>(
        std::vector<std::string>{Deployment::Executable("fleetperf-aggregator"),
                                 "--config", deployment_.File(name + ".yaml")});
    ASSERT_TRUE(aggregator.process->WaitForError("listening on "))
        << aggregator.process->error();
    const auto address = ReadFile(deployment_.File(name + ".address"));
    ASSERT_TRUE(address.ok());
    aggregator.address = std::string(absl::StripSuffix(*address, "\n"));
  }

  // Tells all aggregators all addresses, also their own.
  void Introduce() {
    for (const auto& [name, aggregator] : aggregators_) {
      WriteConfig(name);
      aggregator.process->Signal(SIGHUP);
    }
    for (const auto& [name, aggregator] : aggregators_) {
      ASSERT_TRUE(aggregator.process->WaitForError("changed: peers",
                                                   ++reloads_of_[name]))
          << aggregator.process->error();
    }
  }

  // Sends the ticks from `first` to `last` of an agent to an aggregator.
  void Send(uint64_t agent, const std::string& name, uint64_t first,
            uint64_t last) {
    Stream& stream = streams_[agent];
    const bool is_new = stream.aggregator != name;
    if (is_new) {
      stream.agent.reset();
      stream.aggregator = name;
      v1::Hello hello = MakeHello(AgentName(agent), kEpoch, first, last);
      if (!role_.empty()) (*hello.mutable_labels())["role"] = role_;
      stream.agent = std::make_unique<FakeAgent>(aggregators_[name].address,
                                                 agents_tls_, hello);
    }
    for (uint64_t tick = first; tick <= last; ++tick) {
      stream.agent->Send(BatchOf(agent, tick, is_new && tick == first));
    }
  }

  // Waits until the ticks up to `last` of all agents are stored.
  void AwaitAcks(uint64_t last) {
    for (uint64_t agent = 0; agent < kAgents; ++agent) {
      ASSERT_TRUE(streams_[agent].agent->ReceiveAck(last)) << AgentName(agent);
    }
  }

  Result Ask(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(
        arguments.end(),
        {"--aggregator", aggregators_[name].address, "--format", "json"});
    // On a busy machine, a peer may answer too late.
    Result result;
    Retry([&] {
      result = deployment_.Fleetperf(arguments);
      return !absl::StrContains(result.error, "does not answer");
    });
    return result;
  }

  // Asks for the ticks up to `last`.
  Result Query(const std::string& name, uint64_t last,
               std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "query",           kPath,  "--from",
        FormatUtc(kStart), "--to", FormatUtc(kStart + absl::Seconds(last))};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Ask(name, std::move(arguments));
  }

  // Returns the port of an aggregator's page.
  int PagePort(const std::string& name) const {
    const auto address = ReadFile(deployment_.File(name + ".page"));
    int port = 0;
    EXPECT_TRUE(address.ok());
    EXPECT_TRUE(absl::SimpleAtoi(
        absl::StripSuffix(absl::StripPrefix(*address, "127.0.0.1:"), "\n"),
        &port));
    return port;
  }

  // Asks a page once. Returns the answer with its head.
  std::string AskPage(const std::string& name, const std::string& method,
                      const nlohmann::json& request) const {
    return HttpsClient(PagePort(name), reader_)
        .Ask("POST", "/api/v1/" + method, "Content-Type: application/json\r\n",
             request.dump());
  }

  static std::vector<double> Values(const Result& result) {
    std::vector<double> values;
    for (const absl::string_view line :
         absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
      const auto json = nlohmann::json::parse(line.begin(), line.end());
      if (json["status"] == "ok") values.push_back(json["value"].get<double>());
    }
    return values;
  }

  // Checks that an aggregator has each tick of `machines` machines once.
  void ExpectComplete(const std::string& name, uint64_t last,
                      uint64_t machines = kAgents) {
    SCOPED_TRACE(absl::StrCat("asking ", name));
    std::vector<double> counts;
    std::vector<double> sums;
    for (uint64_t tick = 1; tick <= last; ++tick) {
      counts.push_back(static_cast<double>(machines));
      sums.push_back(static_cast<double>(machines * tick));
    }
    EXPECT_EQ(Values(Query(name, last, {"--step", "1s", "--agg", "count"})),
              counts);
    EXPECT_EQ(Values(Query(name, last, {"--step", "1s", "--agg", "sum"})),
              sums);
  }

  Deployment deployment_;
  TlsFiles agents_tls_;
  TlsFiles reader_;
  std::map<std::string, Aggregator> aggregators_;
  struct Stream {
    std::string aggregator;
    std::unique_ptr<FakeAgent> agent;
  };
  std::map<uint64_t, Stream> streams_;
  std::map<std::string, int> reloads_of_;
  std::string role_;  // a label of agents that connect
};

TEST_F(ManyAggregators, EachAnswersForTheFleet) {
  const std::vector<std::string> three = {"a", "b", "c"};
  for (const std::string& name : three) StartOne(name);
  Introduce();
  for (uint64_t agent = 0; agent < kAgents; ++agent) {
    Send(agent, three[agent % 3], 1, 3);
  }
  AwaitAcks(3);
  for (const std::string& name : three) ExpectComplete(name, 3);

  const Result machines = Ask("b", {"machines"});
  EXPECT_EQ(machines.status, 0) << machines.error;
  EXPECT_EQ(std::count(machines.output.begin(), machines.output.end(), '\n'),
            static_cast<int>(kAgents));
  EXPECT_THAT(Ask("b", {"countersets"}).output, HasSubstr("\"machines\":300,"));
  EXPECT_THAT(Ask("b", {"counters", "Numbers"}).output,
              HasSubstr("\"Number\""));

  // So does its page.
  const auto count_lines = [](const std::string& text,
                              const std::string& part) {
    const std::vector<std::string> parts = absl::StrSplit(text, part);
    return parts.size() - 1;
  };
  const nlohmann::json count = {
      {"paths", {kPath}},
      {"startTime", FormatUtc(kStart)},
      {"endTime", FormatUtc(kStart + absl::Seconds(3))},
      {"aggregate", "AGGREGATE_FUNCTION_COUNT"}};
  const auto counted = [](int expected) {
    return HasSubstr(absl::StrCat("\"v\":[", expected, "]"));
  };
  EXPECT_EQ(count_lines(AskPage("b", "machines", nlohmann::json::object()),
                        "\"name\":\"m-"),
            kAgents);
  EXPECT_THAT(AskPage("b", "countersets", nlohmann::json::object()),
              HasSubstr("\"machines\":300"));
  EXPECT_THAT(AskPage("b", "query", count), counted(300));
  EXPECT_THAT(AskPage("b", "explain",
                      {{"path", "\\\\m-000\\Numbers\\Number"},
                       {"time", FormatUtc(kStart + absl::Seconds(3))}}),
              HasSubstr("\"formula\""));

  // Viewers of two of them get the values of all machines.
  GrpcViewer grpc_viewer(aggregators_["a"].address, reader_, kPath);
  PageViewer page_viewer(PagePort("b"), reader_, kPath);
  grpc_viewer.ExpectContinuous(kAgents, 3, 3);
  page_viewer.ExpectContinuous(kAgents, 3, 3);
  const Result nothing = Ask("a", {"watch", "\\Numbers\\Numbr"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.error, HasSubstr("\"Number\""));

  // One is killed. Its agents move to another one, and send a tick again.
  aggregators_["c"].process->Signal(SIGKILL);
  aggregators_["c"].process->Wait();
  const Result partial = Query("a", 3, {"--agg", "count"});
  EXPECT_EQ(partial.status, 2);
  EXPECT_THAT(partial.error, HasSubstr(absl::StrCat(
                                 "the machines of the aggregator at ",
                                 aggregators_["c"].address, " are missing")));
  EXPECT_THAT(partial.output, HasSubstr(R"("status":"unreachable")"));
  EXPECT_EQ(Values(partial), std::vector<double>{200});
  EXPECT_EQ(Ask("a", {"machines"}).status, 2);
  const auto names_it = HasSubstr(
      absl::StrCat("\"address\":\"", aggregators_["c"].address, "\""));
  const std::string of_page = AskPage("a", "query", count);
  EXPECT_THAT(of_page, HasSubstr("{\"unreachable\":{"));
  EXPECT_THAT(of_page, names_it);
  EXPECT_THAT(of_page, counted(200));
  EXPECT_THAT(AskPage("a", "machines", nlohmann::json::object()), names_it);
  const Result watched = Ask("a", {"watch", kPath, "--count", "1"});
  EXPECT_EQ(watched.status, 2) << watched.error;
  EXPECT_THAT(watched.error, HasSubstr("are missing"));
  grpc_viewer.AwaitUnreachable({aggregators_["c"].address});
  page_viewer.AwaitUnreachable({aggregators_["c"].address});
  for (uint64_t agent = 0; agent < kAgents; ++agent) {
    const bool must_move = agent % 3 == 2;
    Send(agent, must_move ? "b" : streams_[agent].aggregator, must_move ? 3 : 4,
         5);
  }
  AwaitAcks(5);
  grpc_viewer.ExpectContinuous(kAgents, 3, 5);
  page_viewer.ExpectContinuous(kAgents, 3, 5);

  // It returns, and one is added.
  StartOne("c");
  StartOne("d");
  Introduce();
  grpc_viewer.AwaitUnreachable({});
  page_viewer.AwaitUnreachable({});
  for (const std::string& name : three) ExpectComplete(name, 5);
  for (uint64_t agent = 0; agent < kAgents; ++agent) {
    const std::string before = streams_[agent].aggregator;
    Send(agent, agent % 4 == 3 ? "d" : before, 6, 6);
  }
  AwaitAcks(6);
  grpc_viewer.ExpectContinuous(kAgents, 3, 6);
  page_viewer.ExpectContinuous(kAgents, 3, 6);
  for (const std::string name : {"a", "c", "d"}) ExpectComplete(name, 6);

  // All give the same answers.
  const std::vector<std::vector<std::string>> questions = {
      {},
      {"--step", "2s"},
      {"--agg", "p95"},
      {"--agg", "avg", "--by", "machine", "--step", "3s"},
      {"--top", "7"},
      {"--where", "> 3.4"}};
  for (const auto& question : questions) {
    const Result of_a = Query("a", 6, question);
    EXPECT_EQ(of_a.status, 0) << of_a.error;
    EXPECT_GT(Values(of_a).size(), 0);
    EXPECT_EQ(Query("d", 6, question).output, of_a.output)
        << absl::StrJoin(question, " ");
  }
  const std::vector<std::string> explain = {
      "explain", "\\\\m-007\\Numbers\\Number", "--at",
      FormatUtc(kStart + absl::Seconds(6))};
  const Result explained = Ask("a", explain);
  EXPECT_EQ(explained.status, 0) << explained.error;
  EXPECT_EQ(Ask("d", explain).status, 0);
  // A misspelled name finds the nearest one, wherever it is.
  const Result missed =
      Ask("d", {"query", "\\\\m-000\\Numbers\\Numbr", "--since", "1h"});
  EXPECT_THAT(missed.error, HasSubstr("\"Number\""));
}

TEST_F(ManyAggregators, ANewLabelSelectsAMovedMachineWithAllItsSamples) {
  for (const std::string name : {"a", "b"}) StartOne(name);
  Introduce();
  role_ = "db";
  Send(0, "a", 1, 3);
  ASSERT_TRUE(streams_[0].agent->ReceiveAck(3));
  role_ = "web";
  Send(0, "b", 4, 6);
  ASSERT_TRUE(streams_[0].agent->ReceiveAck(6));
  for (const std::string name : {"a", "b"}) {
    SCOPED_TRACE(absl::StrCat("asking ", name));
    EXPECT_EQ(Values(Query(name, 6, {"--label", "role=web", "--step", "1s"})),
              (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_THAT(Ask(name, {"machines", "--label", "role=web"}).output,
                HasSubstr("\"m-000\""));
    const Result former = Ask(name, {"machines", "--label", "role=db"});
    EXPECT_THAT(former.output, Not(HasSubstr("m-000")));
    EXPECT_EQ(former.status, 2) << former.error;
    const Result of_former = Query(name, 6, {"--label", "role=db"});
    EXPECT_EQ(Values(of_former), std::vector<double>());
    EXPECT_EQ(of_former.status, 2) << of_former.error;
  }
}

// An aggregator's certificate gives no rights of users, and a user's
// certificate none of aggregators. An aggregator without peers has no use for
// them.
TEST_F(ManyAggregators, OnlyAggregatorsReadAsPeers) {
  StartOne("a");
  const TlsFiles tls = {
      .authority = deployment_.File("authority.pem"),
      .certificate = deployment_.File("aggregator-localhost.pem"),
      .key = deployment_.File("aggregator-localhost.key")};
  const auto describe = [&](const TlsFiles& files) {
    grpc::ClientContext context;
    const auto stub = v1::PeerService::NewStub(
        MakeChannel(aggregators_["a"].address, *ClientCredentials(files)));
    const auto reader = stub->Describe(&context, v1::DescribeRequest());
    v1::DescribeResponse response;
    while (reader->Read(&response)) {
    }
    return reader->Finish().error_code();
  };
  const auto subscribe = [&](const TlsFiles& files, bool own_machines_only) {
    grpc::ClientContext context;
    const auto stub = v1::SubscriptionService::NewStub(
        MakeChannel(aggregators_["a"].address, *ClientCredentials(files)));
    v1::SubscribeRequest request;
    request.add_paths("\\Numbers\\Number");
    request.set_own_machines_only(own_machines_only);
    const auto reader = stub->Subscribe(&context, request);
    v1::SubscribeResponse response;
    if (reader->Read(&response)) context.TryCancel();
    while (reader->Read(&response)) {
    }
    return reader->Finish().error_code();
  };
  EXPECT_EQ(describe(tls), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(subscribe(tls, true), grpc::StatusCode::PERMISSION_DENIED);
  Introduce();
  EXPECT_EQ(subscribe(tls, true), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(subscribe(tls, false), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(subscribe(reader_, true), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(describe(tls), grpc::StatusCode::OK);
  EXPECT_EQ(describe(deployment_.Issue("reader", {"bob"})),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(describe(agents_tls_), grpc::StatusCode::PERMISSION_DENIED);
  const Result listed =
      Ask("a", {"machines", "--authority", tls.authority, "--certificate",
                tls.certificate, "--key", tls.key});
  EXPECT_EQ(listed.status, 1);
  EXPECT_THAT(listed.error, HasSubstr("requires the role reader or operator"));

  // So ends the use of a stolen key.
  const TlsFiles stolen = deployment_.Issue("aggregator", {"stolen"});
  EXPECT_EQ(describe(stolen), grpc::StatusCode::OK);
  const Result revoked =
      deployment_.Fleetperf({"pki", "revoke", "aggregator", "stolen",
                             "--directory", deployment_.directory()});
  EXPECT_EQ(revoked.status, 0) << revoked.error;
  Retry([&] { return describe(stolen) == grpc::StatusCode::UNAVAILABLE; });
  EXPECT_EQ(describe(stolen), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace fleetperf::testing
