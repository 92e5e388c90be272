// Tests of subscribers of a running aggregator. A fake agent sends the ticks,
// so that the test knows every value.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/os/clock.h"
#include "base/rpc/channel.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/subscriber.h"

namespace fleetperf::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNumber[] = "\\Numbers\\Number";

v1::SubscribeRequest MakeRequest() {
  v1::SubscribeRequest request;
  request.add_paths(kNumber);
  return request;
}

class Subscriptions : public ::testing::Test {
 protected:
  // Connects an agent of a new epoch and sends the next number.
  std::unique_ptr<FakeAgent> Connect(uint64_t epoch) {
    epoch_ = epoch;
    sequence_ = 0;
    auto agent = std::make_unique<FakeAgent>(deployment_.address(), tls_,
                                             MakeHello("box", epoch, 1, 0));
    EXPECT_TRUE(agent->Receive()->has_welcome());
    Send(*agent, 1);
    return agent;
  }

  // Sends a batch of the next `count` numbers, whose ticks are 1 s apart.
  void Send(FakeAgent& agent, int count) {
    auto batch = MakeNumberBatch("box", epoch_, ++sequence_,
                                 perflib::PerfTime100NSecFromTime(kStart));
    EditContent(
        [&](v1::BatchContent& content) {
          v1::BlockColumns& block = *content.mutable_blocks(0);
          v1::Column& column = *block.mutable_queries(0)->mutable_columns(0);
          const int64_t ahead = next_ - static_cast<int64_t>(sequence_);
          block.set_perf_time_100nsec(
              0, block.perf_time_100nsec(0) + ahead * perflib::kLinuxPerfFreq);
          block.set_perf_time_stamp(
              0, block.perf_time_stamp(0) + ahead * perflib::kLinuxPerfFreq);
          column.set_first(0, static_cast<uint64_t>(next_));
          for (int i = 1; i < count; ++i) {
            block.add_perf_time_100nsec(perflib::kLinuxPerfFreq);
            block.add_perf_time_stamp(perflib::kLinuxPerfFreq);
            block.add_perf_freq(0);
            column.add_differences(1);
          }
        },
        &batch);
    next_ += count;
    ASSERT_TRUE(agent.Send(batch));
  }

  // Receives the next Pace message. Returns whether it is live, that is,
  // whether it requests every tick at once, as expected.
  static bool ReceivePace(FakeAgent& agent, bool live) {
    for (;;) {
      const auto response = agent.Receive();
      if (!response.has_value()) return false;
      if (response->has_pace()) return response->pace().live() == live;
    }
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_ = deployment_.StartAggregator();
  const TlsFiles tls_ = deployment_.Issue("agent", {"box"});
  const TlsFiles reader_ = deployment_.Issue("reader", {"carol"});
  uint64_t epoch_ = 0;
  uint64_t sequence_ = 0;
  int64_t next_ = 1;
};

TEST_F(Subscriptions, SlowSubscriberDoesNotDelayOthers) {
  constexpr int kBatches = 400;
  constexpr int kTicks = 1000;
  const auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  Subscriber slow(deployment_.address(), reader_, MakeRequest());
  Subscriber quick(deployment_.address(), reader_, MakeRequest());
  ASSERT_TRUE(slow.ReadUntil(1));
  ASSERT_TRUE(quick.ReadUntil(1));
  for (int i = 0; i < kBatches; ++i) {
    Send(*agent, kTicks);
    ASSERT_TRUE(agent->ReceiveAck(sequence_));
    ASSERT_TRUE(quick.ReadUntil(next_ - 1));
  }
  EXPECT_EQ(quick.lagged, 0);
  std::vector<double> all(kBatches * kTicks + 1);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(quick.values, all);

  ASSERT_TRUE(slow.ReadUntil(next_ - 1));
  EXPECT_GT(slow.lagged, 0);
  EXPECT_EQ(slow.lagged + slow.values.size(), all.size());
}

TEST_F(Subscriptions, WatchSurvivesARestartOfTheAggregator) {
  auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  const auto watch =
      deployment_.StartFleetperf({"watch", kNumber, "--format", "json"});
  ASSERT_TRUE(watch->WaitForOutput("\"value\":1"));
  aggregator_->Signal(SIGKILL);
  aggregator_->Wait();
  EXPECT_TRUE(watch->WaitForError("connecting again"));
  aggregator_ = deployment_.StartAggregator();
  agent = std::make_unique<FakeAgent>(deployment_.address(), tls_,
                                      MakeHello("box", epoch_, 2, 1));
  ASSERT_TRUE(agent->Receive()->has_welcome());
  Send(*agent, 1);
  EXPECT_TRUE(watch->WaitForOutput("\"value\":2"));
  watch->Signal(SIGINT);
  EXPECT_EQ(watch->Wait(), 0);
  // Nothing is printed twice.
  EXPECT_TRUE(watch->WaitForOutput("\"value\":", 2));
  EXPECT_FALSE(watch->WaitForOutput("\"value\":", 3)) << watch->output();
}

TEST_F(Subscriptions, WatchEndsAfterACountOrATime) {
  const auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  const auto watch = deployment_.StartFleetperf(
      {"watch", kNumber, "--format", "json", "--count", "2"});
  ASSERT_TRUE(watch->WaitForOutput("\"value\":1"));
  Send(*agent, 1);
  EXPECT_EQ(watch->Wait(), 0);
  EXPECT_TRUE(watch->WaitForOutput("\"value\":2"));
  for (const std::string format : {"json", "table"}) {
    // A slow machine may need longer than a short time for the first value.
    Result timed;
    for (const std::string time : {"1s", "10s", "1m"}) {
      timed = deployment_.Fleetperf(
          {"watch", kNumber, "--format", format, "--for", time});
      if (absl::StrContains(timed.output, "Number")) break;
    }
    EXPECT_EQ(timed.status, 0) << timed.error;
    EXPECT_THAT(timed.output, HasSubstr("Number"));
    EXPECT_EQ(timed.error, "");
  }
}

// One machine is ahead of the other.
TEST(Watch, CountsTheSamplesOfEachSeries) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const int64_t start =
      perflib::PerfTime100NSecFromTime(Clock::Real().Now() - absl::Seconds(10));
  std::map<std::string, std::unique_ptr<FakeAgent>> agents;
  const auto send = [&](const std::string& machine, uint64_t sequence) {
    EXPECT_TRUE(agents[machine]->Send(
        MakeNumberBatch(machine, kEpoch, sequence, start)));
    EXPECT_TRUE(agents[machine]->ReceiveAck(sequence));
  };
  for (const std::string machine : {"box", "web"}) {
    agents[machine] = std::make_unique<FakeAgent>(
        deployment.address(), deployment.Issue("agent", {machine}),
        MakeHello(machine, kEpoch, 1, 0));
    ASSERT_TRUE(agents[machine]->Receive()->has_welcome());
    send(machine, 1);
  }
  const auto watch = [&](const std::string& format) {
    return deployment.StartFleetperf(
        {"watch", kNumber, "--count", "3", "--format", format});
  };
  const auto json = watch("json");
  const auto csv = watch("pdh-csv");
  const auto table = watch("table");
  ASSERT_TRUE(json->WaitForOutput("\"value\":1", 2));
  ASSERT_TRUE(csv->WaitForOutput("PDH-CSV"));
  ASSERT_TRUE(table->WaitForOutput("VALUE"));
  for (const uint64_t sequence : {2, 3, 4, 5}) send("box", sequence);
  for (const uint64_t sequence : {2, 3}) send("web", sequence);
  const auto count = [](const Process& process, const std::string& part) {
    const std::vector<std::string> parts =
        absl::StrSplit(process.output(), part);
    return parts.size() - 1;
  };
  EXPECT_EQ(json->Wait(), 0);
  EXPECT_EQ(count(*json, "\"machine\":\"box\""), 3u) << json->output();
  EXPECT_EQ(count(*json, "\"machine\":\"web\""), 3u) << json->output();
  EXPECT_EQ(table->Wait(), 0);
  EXPECT_EQ(count(*table, "VALUE"), 3u) << table->output();
  EXPECT_EQ(csv->Wait(), 0);
  const std::vector<std::string> rows =
      absl::StrSplit(csv->output(), "\r\n", absl::SkipEmpty());
  ASSERT_EQ(rows.size(), 4u) << csv->output();
  for (const size_t row : {1, 2, 3}) {
    EXPECT_THAT(rows[row],
                EndsWith(absl::StrCat(",\"", row, "\",\"", row, "\"")));
  }
}

// The header of pdh-csv has the columns that are known then.
TEST(Watch, NamesSeriesWithoutAColumnOnce) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const int64_t start =
      perflib::PerfTime100NSecFromTime(Clock::Real().Now() - absl::Seconds(10));
  std::map<std::string, std::unique_ptr<FakeAgent>> agents;
  const auto send = [&](const std::string& machine, uint64_t sequence) {
    EXPECT_TRUE(agents[machine]->Send(
        MakeNumberBatch(machine, kEpoch, sequence, start)));
    EXPECT_TRUE(agents[machine]->ReceiveAck(sequence));
  };
  const auto connect = [&](const std::string& machine) {
    agents[machine] = std::make_unique<FakeAgent>(
        deployment.address(), deployment.Issue("agent", {machine}),
        MakeHello(machine, kEpoch, 1, 0));
    ASSERT_TRUE(agents[machine]->Receive()->has_welcome());
    send(machine, 1);
  };
  connect("box");
  const auto watch = deployment.StartFleetperf(
      {"watch", kNumber, "--count", "4", "--format", "pdh-csv"});
  ASSERT_TRUE(watch->WaitForOutput("PDH-CSV"));
  connect("late-1");
  connect("late-2");
  ASSERT_TRUE(watch->WaitForError("series that begin now are not in the"))
      << watch->error();
  for (const uint64_t sequence : {2, 3, 4}) {
    send("late-1", sequence);
    send("late-2", sequence);
    send("box", sequence);
  }
  EXPECT_EQ(watch->Wait(), 0);
  EXPECT_EQ(watch->error(),
            "fleetperf: series that begin now are not in the output, because "
            "pdh-csv has no place for more columns; use --format csv to see "
            "them\n");
  EXPECT_THAT(watch->output(), HasSubstr("\\\\box\\"));
  EXPECT_THAT(watch->output(), Not(HasSubstr("late")));
}

TEST_F(Subscriptions, WatchShowsTheOtherPathsIfOneIsMissing) {
  const auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  for (const std::string format : {"json", "table"}) {
    const Result result =
        deployment_.Fleetperf({"watch", kNumber, "\\\\bax\\Numbers\\Number",
                               "--format", format, "--count", "1"});
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.output, HasSubstr("Number"));
    EXPECT_EQ(result.error,
              "fleetperf: \\\\bax\\Numbers\\Number: there is no machine "
              "\"bax\"; did you mean \"box\"? See: fleetperf machines\n");
  }
  const Result result = deployment_.Fleetperf(
      {"watch", "\\\\bax\\Numbers\\Number", "--count", "1"});
  EXPECT_EQ(result.status, 2);
}

TEST_F(Subscriptions, KilledSubscriberIsRemoved) {
  const auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  const auto watch =
      deployment_.StartFleetperf({"watch", kNumber, "--format", "json"});
  ASSERT_TRUE(ReceivePace(*agent, /*live=*/true));
  ASSERT_TRUE(watch->WaitForOutput("\"value\":1"));
  watch->Signal(SIGKILL);
  EXPECT_TRUE(ReceivePace(*agent, /*live=*/false));
}

TEST_F(Subscriptions, HistoryContinuesWithLiveValues) {
  auto agent = Connect(/*epoch=*/7);
  Send(*agent, 49);
  ASSERT_TRUE(agent->ReceiveAck(sequence_));
  auto request = MakeRequest();
  *request.mutable_start() = ToProto(kStart + absl::Seconds(10));
  Subscriber subscriber(deployment_.address(), reader_, request);
  for (int i = 0; i < 30; ++i) Send(*agent, 10);
  ASSERT_TRUE(subscriber.ReadUntil(350));
  std::vector<double> all(340);
  std::iota(all.begin(), all.end(), 11);
  EXPECT_EQ(subscriber.values, all);
  EXPECT_EQ(subscriber.series, 1);
}

TEST_F(Subscriptions, ContinuesAfterAgentRestart) {
  auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  Subscriber subscriber(deployment_.address(), reader_, MakeRequest());
  ASSERT_TRUE(ReceivePace(*agent, /*live=*/true));
  ASSERT_TRUE(subscriber.ReadUntil(1));
  Send(*agent, 1);
  ASSERT_TRUE(subscriber.ReadUntil(2));
  EXPECT_EQ(agent->Finish().code(), absl::StatusCode::kOk);
  // The restarted agent process is told again to send ticks at once.
  agent = Connect(/*epoch=*/8);
  EXPECT_TRUE(ReceivePace(*agent, /*live=*/true));
  ASSERT_TRUE(subscriber.ReadUntil(3));
  EXPECT_EQ(subscriber.series, 1);
  EXPECT_THAT(subscriber.values, ElementsAre(1, 2, 3));
}

TEST_F(Subscriptions, WatchSelectsValues) {
  const auto agent = Connect(/*epoch=*/7);
  ASSERT_TRUE(agent->ReceiveAck(1));
  const auto above =
      deployment_.StartFleetperf({"watch", kNumber, "--since", "1h", "--where",
                                  ">= 4", "--format", "json"});
  const auto raw = deployment_.StartFleetperf(
      {"watch", kNumber, "--raw", "--format", "csv"});
  const auto top = deployment_.StartFleetperf({"watch", kNumber, "--top", "1"});
  ASSERT_TRUE(raw->WaitForOutput(",1,"));
  ASSERT_TRUE(top->WaitForOutput("Number"));
  Send(*agent, 4);
  EXPECT_TRUE(above->WaitForOutput("\"value\":5"));
  EXPECT_TRUE(raw->WaitForOutput(",5,"));
  EXPECT_THAT(above->output(), HasSubstr("\"value\":4"));
  EXPECT_THAT(above->output(), Not(HasSubstr("\"value\":3")));
  const Result refused = deployment_.Fleetperf({"watch", kNumber, "--raw"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("--format json or csv"));
}

}  // namespace
}  // namespace fleetperf::testing
