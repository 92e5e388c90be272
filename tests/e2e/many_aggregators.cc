#include "tests/e2e/many_aggregators.h"

#include <signal.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/deliver/rendezvous.h"
#include "base/os/files.h"
#include "base/text/units.h"
#include "perflib/clocks.h"

namespace fleetperf::testing {
namespace {

constexpr char kPath[] = "\\\\m-*\\Numbers\\Number";

}  // namespace

ManyAggregators::ManyAggregators(uint64_t agents, absl::Time start)
    : agents_(agents), start_(start) {
  std::vector<std::string> names;
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    names.push_back(AgentName(agent));
  }
  agents_tls_ = deployment_.Issue("agent", names);
  reader_tls_ = {.authority = deployment_.File("authority.pem"),
                 .certificate = deployment_.File("reader-tester.pem"),
                 .key = deployment_.File("reader-tester.key")};
  Deployment::Write(deployment_.File("config.yaml"),
                    absl::StrCat("aggregators: 127.0.0.1:1\n",
                                 Deployment::TlsSection(reader_tls_)));
}

std::string ManyAggregators::AgentName(uint64_t agent) {
  return absl::StrFormat("m-%03d", agent);
}

uint64_t ManyAggregators::NumberOf(uint64_t, uint64_t tick) const {
  return tick;
}

// The first batch that a store gets of an agent has the definitions.
v1::CollectRequest ManyAggregators::BatchOf(uint64_t agent, uint64_t tick,
                                            bool is_first) const {
  const int64_t start = perflib::PerfTime100NSecFromTime(start_);
  v1::CollectRequest batch =
      MakeNumberBatch(AgentName(agent), kEpoch, tick, start);
  v1::BatchContent first;
  first.ParseFromString(
      MakeNumberBatch(AgentName(agent), kEpoch, 1, start).batch().payload());
  EditContent(
      [&](v1::BatchContent& content) {
        if (is_first) *content.mutable_definitions() = first.definitions();
        content.mutable_blocks(0)
            ->mutable_queries(0)
            ->mutable_columns(0)
            ->set_first(0, NumberOf(agent, tick));
      },
      &batch);
  return batch;
}

void ManyAggregators::StartOne(const std::string& name,
                               const std::string& more) {
  Aggregator& aggregator = aggregators_[name];
  const TlsFiles tls = {
      .authority = deployment_.File("authority.pem"),
      .certificate = deployment_.File("aggregator-localhost.pem"),
      .key = deployment_.File("aggregator-localhost.key")};
  Deployment::Write(
      deployment_.File(name + ".yaml"),
      absl::StrCat("name: ", name, "\nlisten: ", aggregator.address,
                   "\naddress_file: ", name, ".address\nstore: {directory: ",
                   name, ".store, recent_memory: 32MiB}\n",
                   Deployment::TlsSection(tls), more));
  aggregator.process = std::make_unique<Process>(
      std::vector<std::string>{Deployment::Executable("fleetperf-aggregator"),
                               "--config", deployment_.File(name + ".yaml")});
  ASSERT_TRUE(aggregator.process->WaitForError("listening on "))
      << aggregator.process->error();
  const auto address = ReadFile(deployment_.File(name + ".address"));
  ASSERT_TRUE(address.ok());
  aggregator.address = std::string(absl::StripSuffix(*address, "\n"));
}

std::string ManyAggregators::PageSection(const std::string& name) {
  return absl::StrCat("web: {listen: '127.0.0.1:0', address_file: ", name,
                      ".page}\n");
}

std::string ManyAggregators::PageOf(const std::string& name) {
  const auto page = ReadFile(deployment_.File(name + ".page"));
  EXPECT_TRUE(page.ok());
  return std::string(absl::StripSuffix(page.value_or(""), "\n"));
}

HttpsClient ManyAggregators::BrowserOf(const std::string& name) {
  return HttpsClient(PortOf(PageOf(name)), reader_tls_);
}

int ManyAggregators::PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port;
}

void ManyAggregators::Kill(const std::string& name) {
  aggregators_[name].process->Signal(SIGKILL);
  aggregators_[name].process->Wait();
}

std::string ManyAggregators::Choose(uint64_t agent,
                                    const std::string& unreachable) {
  std::map<std::string, std::string> names;  // by address
  std::vector<std::string> addresses;
  for (const auto& [name, aggregator] : aggregators_) {
    if (name == unreachable) continue;
    names[aggregator.address] = name;
    addresses.push_back(aggregator.address);
  }
  return names[agent::ByPreference(AgentName(agent), addresses).front()];
}

void ManyAggregators::Connect(uint64_t agent, const std::string& name,
                              uint64_t first, uint64_t last) {
  Stream& stream = streams_[agent];
  stream.agent.reset();
  stream.aggregator = name;
  stream.agent = std::make_unique<FakeAgent>(
      aggregators_[name].address, agents_tls_,
      MakeHello(AgentName(agent), kEpoch, first, last));
}

void ManyAggregators::Send(uint64_t agent, uint64_t first, uint64_t last) {
  Stream& stream = streams_[agent];
  for (uint64_t tick = first; tick <= last; ++tick) {
    const bool is_first = defined_[stream.aggregator].insert(agent).second;
    stream.agent->Send(BatchOf(agent, tick, is_first));
  }
}

void ManyAggregators::AwaitAck(uint64_t agent, uint64_t last) {
  ASSERT_TRUE(streams_[agent].agent->ReceiveAck(last)) << AgentName(agent);
}

void ManyAggregators::AwaitAcks(uint64_t last) {
  for (uint64_t agent = 0; agent < agents_; ++agent) AwaitAck(agent, last);
}

std::set<std::string> ManyAggregators::AgentsOf(const std::string& name) const {
  std::set<std::string> agents;
  for (const auto& [agent, stream] : streams_) {
    if (stream.aggregator == name) agents.insert(AgentName(agent));
  }
  return agents;
}

std::vector<nlohmann::json> ManyAggregators::Ask(
    const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--aggregator", aggregators_[name].address,
                                     "--format", "json"});
  const Result result = deployment_.Fleetperf(arguments);
  EXPECT_EQ(result.status, 0) << result.error;
  std::vector<nlohmann::json> lines;
  for (const absl::string_view line :
       absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(line.begin(), line.end()));
  }
  return lines;
}

std::set<std::string> ManyAggregators::MachinesOf(const std::string& name) {
  std::set<std::string> machines;
  for (const nlohmann::json& line : Ask(name, {"machines"})) {
    EXPECT_TRUE(machines.insert(line["machine"].get<std::string>()).second);
  }
  // The aggregator's own counters.
  machines.erase(name);
  return machines;
}

void ManyAggregators::ExpectEachTickOnce(uint64_t last) {
  std::map<std::string, int> stored;
  for (const auto& [name, aggregator] : aggregators_) {
    for (const nlohmann::json& line :
         Ask(name, {"query", kPath, "--raw", "--from", FormatUtc(start_),
                    "--to", FormatUtc(start_ + absl::Seconds(last))})) {
      const nlohmann::json& value = line["value"];
      if (value.is_null()) continue;  // a note about a machine
      ++stored[absl::StrCat(
          line["machine"].get<std::string>(), " ",
          value.is_string() ? value.get<std::string>() : value.dump())];
    }
  }
  std::map<std::string, int> expected;
  for (uint64_t agent = 0; agent < agents_; ++agent) {
    for (uint64_t tick = 1; tick <= last; ++tick) {
      expected[absl::StrCat(AgentName(agent), " ", NumberOf(agent, tick))] = 1;
    }
  }
  EXPECT_EQ(stored, expected);
}

}  // namespace fleetperf::testing
