// Tests that no acknowledged batch is lost and no batch is stored twice,
// whichever process is killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/ticks.h"

namespace fleetperf::testing {
namespace {

TEST(Delivery, KilledAggregatorLosesNoAcknowledgedBatchAndRepeatsNone) {
  constexpr uint64_t kBatches = 600;
  constexpr uint64_t kInFlight = 8;
  Deployment deployment;
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  const int64_t start_100nsec = perflib::PerfTime100NSecFromTime(start);
  std::mt19937 random(20261120);

  uint64_t acknowledged = 0;
  int kills = 0;
  while (acknowledged < kBatches) {
    const auto aggregator = deployment.StartAggregator();
    FakeAgent agent(deployment.address(), tls,
                    MakeHello("box", kEpoch, acknowledged + 1, kBatches));
    auto response = agent.Receive();
    ASSERT_TRUE(response.has_value() && response->has_welcome());
    const v1::EpochState epoch = response->welcome().epochs(0);
    // All acknowledged batches are durable, and possibly some more.
    ASSERT_GE(epoch.durable_sequence(), acknowledged);
    ASSERT_TRUE(epoch.dictionary_held());
    // Ignores the durable sequence of Welcome and sends all batches after the
    // last acknowledged one again. The aggregator must not store them twice.
    uint64_t sent = acknowledged;
    const uint64_t kill_at = acknowledged + 1 + random() % (kBatches / 8);
    bool killed = false;
    while (acknowledged < kBatches) {
      while (!killed && sent < std::min(acknowledged + kInFlight, kBatches)) {
        ++sent;
        killed = sent == kill_at;
        if (!agent.Send(MakeNumberBatch("box", kEpoch, sent, start_100nsec))) {
          break;
        }
        if (killed) aggregator->Signal(SIGKILL);  // in mid-stream
      }
      response = agent.Receive();
      if (!response.has_value()) break;  // the aggregator was killed
      ASSERT_TRUE(response->has_ack()) << response->ShortDebugString();
      // Batches that were durable before the kill may be acknowledged only now.
      ASSERT_LE(response->ack().sequence(),
                std::max(sent, epoch.durable_sequence()));
      acknowledged = std::max(acknowledged, response->ack().sequence());
    }
    kills += killed;
  }
  EXPECT_GE(kills, 5);

  const auto aggregator = deployment.StartAggregator();
  std::vector<double> expected(kBatches);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(StoredNumbers(deployment, start), expected);
}

TEST(Delivery, AgentResumesWhenAggregatorRestarts) {
  Deployment deployment;
  const absl::Time start = absl::Now();
  auto aggregator = deployment.StartAggregator();
  const std::string capture = deployment.File("capture");
  const auto agent = deployment.StartAgent(
      "box", absl::StrCat("queries: [{counterset: System}]\n"
                          "delivery: {batch_period: 1s}\n"
                          "capture: {directory: ",
                          capture, "}\n"));
  deployment.WaitForSamples("box");
  for (int kill = 0; kill < 2; ++kill) {
    aggregator->Signal(SIGKILL);
    aggregator->Wait();
    // The agent logs the cause only for the first of the lost connections.
    ASSERT_TRUE(agent->WaitForError("trying again"));
    aggregator = deployment.StartAggregator();
    ASSERT_TRUE(agent->WaitForError("connected to the aggregator", kill + 2))
        << agent->error();
  }
  const std::string path = "\\System\\Processes";
  const auto watch = deployment.StartFleetperf(
      {"watch", absl::StrCat("\\\\box", path), "--format", "json"});
  ASSERT_TRUE(watch->WaitForOutput("\"ok\"", 5));
  // All ticks until now, also those of the outages, are stored exactly once.
  const Ticks taken = ReadTaken(capture);
  ASSERT_GE(taken.size(), 5);
  const absl::Time deadline = absl::Now() + kPatience;
  Stored stored;
  do {
    stored = ReadStored(deployment, "box", path, start - absl::Hours(1),
                        absl::Now() + absl::Hours(1));
  } while (!FindMissing(taken, stored).empty() && absl::Now() < deadline);
  EXPECT_THAT(FindMissing(taken, stored), ::testing::IsEmpty());
  EXPECT_THAT(stored.repeated, ::testing::IsEmpty());
}

TEST(Delivery, RejectsMalformedBatchAndStoresTheRest) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  const int64_t start_100nsec = perflib::PerfTime100NSecFromTime(start);
  FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 3));
  ASSERT_TRUE(agent.Receive().has_value());
  agent.Send(MakeNumberBatch("box", kEpoch, 1, start_100nsec));
  auto poison = MakeNumberBatch("box", kEpoch, 2, start_100nsec);
  poison.mutable_batch()->set_payload("\xff\xff\xff\xff");
  poison.mutable_batch()->set_content_size(4);
  poison.mutable_batch()->set_fingerprint(
      Fingerprint(poison.batch().payload()));
  agent.Send(poison);
  agent.Send(MakeNumberBatch("box", kEpoch, 3, start_100nsec));

  std::set<uint64_t> rejected;
  uint64_t acknowledged = 0;
  while (acknowledged < 3) {
    const auto response = agent.Receive();
    ASSERT_TRUE(response.has_value());
    if (response->has_reject()) {
      rejected.insert(response->reject().sequence());
      EXPECT_THAT(response->reject().reason(),
                  ::testing::HasSubstr("Batch.payload is not a BatchContent"));
    }
    if (response->has_ack()) acknowledged = response->ack().sequence();
  }
  EXPECT_THAT(rejected, ::testing::ElementsAre(2));
  EXPECT_THAT(StoredNumbers(deployment, start), ::testing::ElementsAre(1, 3));
  const auto machines = deployment.Json({"machines"});
  ASSERT_EQ(machines.size(), 1);
  EXPECT_EQ(machines[0]["rejected_batches"], "1");
}

// The stream waits in the aggregator until the certificate's budget allows the
// next batch.
TEST(Delivery, ReadsStreamInDebtAfterPause) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const int64_t start_100nsec = perflib::PerfTime100NSecFromTime(kStart);
  FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 8));
  ASSERT_TRUE(agent.Receive().has_value());
  ASSERT_TRUE(agent.Send(MakeNumberBatch("box", kEpoch, 1, start_100nsec)));
  // A kilobyte that inflates to 12 MiB and is no batch.
  const std::string content(12 << 20, '\xff');
  auto poison = MakeNumberBatch("box", kEpoch, 2, start_100nsec);
  ZstdCompress(content, poison.mutable_batch()->mutable_payload());
  poison.mutable_batch()->set_compression(v1::COMPRESSION_ZSTD);
  poison.mutable_batch()->set_content_size(
      static_cast<uint32_t>(content.size()));
  poison.mutable_batch()->set_fingerprint(
      Fingerprint(poison.batch().payload()));
  for (uint64_t sequence = 2; sequence <= 7; ++sequence) {
    poison.mutable_batch()->set_sequence(sequence);
    ASSERT_TRUE(agent.Send(poison));
  }
  ASSERT_TRUE(agent.Send(MakeNumberBatch("box", kEpoch, 8, start_100nsec)));
  size_t throttles = 0;
  for (uint64_t acknowledged = 0; acknowledged < 8;) {
    const auto response = agent.Receive();
    ASSERT_TRUE(response.has_value());
    if (response->has_ack()) acknowledged = response->ack().sequence();
    if (!response->has_throttle()) continue;
    ++throttles;
    EXPECT_THAT(response->throttle().reason(),
                ::testing::HasSubstr("(max_work_per_second)"));
  }
  EXPECT_GE(throttles, 1);
  EXPECT_THAT(StoredNumbers(deployment, kStart), ::testing::ElementsAre(1, 8));
}

TEST(Delivery, KeepsDefinitionsOfRejectedBatch) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  const int64_t start_100nsec = perflib::PerfTime100NSecFromTime(start);
  {
    FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 2));
    ASSERT_TRUE(agent.Receive().has_value());
    auto poison = MakeNumberBatch("box", kEpoch, 1, start_100nsec);
    EditContent(
        [](v1::BatchContent& content) {
          // A column of two values for one run.
          auto* column =
              content.mutable_blocks(0)->mutable_queries(0)->mutable_columns(0);
          column->add_first(1);
          // An invalid counterset.
          content.mutable_definitions()->add_countersets()->set_id(77);
        },
        &poison);
    agent.Send(poison);
    agent.Send(MakeNumberBatch("box", kEpoch, 2, start_100nsec));
    bool rejected = false;
    uint64_t acknowledged = 0;
    while (acknowledged < 2) {
      const auto response = agent.Receive();
      ASSERT_TRUE(response.has_value());
      rejected = rejected || response->has_reject();
      if (response->has_ack()) acknowledged = response->ack().sequence();
    }
    EXPECT_TRUE(rejected);
  }
  const auto stored = [&] { return StoredNumbers(deployment, start); };
  EXPECT_THAT(stored(), ::testing::ElementsAre(2));
  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  aggregator = deployment.StartAggregator();
  EXPECT_THAT(stored(), ::testing::ElementsAre(2));
}

}  // namespace
}  // namespace fleetperf::testing
