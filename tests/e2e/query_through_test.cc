// Answers are the same whether older samples are in the own store or in an
// engine. Skipped without the engines, which deploy/install-deps test unpacks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "perflib/clocks.h"
#include "tests/bench/peer_executable.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/engine.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/process.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kTicks = 1080;
constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr int kRestart = 500;  // the first tick of the second epoch

// The time of the own store's full resolution, if it is not configured.
constexpr absl::Duration kKept = absl::Hours(24 * 7);
// Samples before this are asked of the engine.
absl::Time Seam() { return absl::Now() - kKept + absl::Minutes(15); }

// A process of an agent of "box" with three disks, of which one comes and goes,
// and one is replaced from time to time.
class BoxAgent : public BatchWriter {
 public:
  explicit BoxAgent(absl::Time start)
      : start_(start),
        machine_(Machine("box")),
        disk_(Counterset(DiskRegistration())),
        query_(Query(machine_, disk_, kInterval,
                     {{kTransfers},
                      {kQueueLength, 4},
                      {kBytesPerRead},
                      {kReads, 4, /*only_linked=*/true, /*wraps=*/true}})),
        c_(Instance(machine_, disk_, "C:")) {}

  void AddTick(int tick) {
    const auto clocks = perflib::LinuxClocks(
        (tick < kRestart ? absl::Hours(900) : absl::ZeroDuration()) +
            tick * kInterval,
        start_ + tick * kInterval);
    if (tick % 97 == 50) {  // the query fails
      return AddBlock(query_, clocks, {{query_, {}, 1460}});
    }
    std::vector<Row> rows = {RowOf(c_, tick)};
    if (tick / 40 % 3 == 1) {
      d_.reset();
    } else {
      if (!d_.has_value()) d_ = Begin("D:", tick % 2 == 0);
      rows.push_back(RowOf(*d_, tick));
    }
    if (!e_.has_value() || tick % 60 == 30) e_ = Begin("E \"5\\", true);
    rows.push_back(RowOf(*e_, tick));
    BatchWriter::AddTick(query_, clocks, rows);
  }

 private:
  uint32_t Begin(const std::string& name, bool is_born) {
    return Instance(machine_, disk_, name, /*instance_id=*/5, /*occurrence=*/0,
                    is_born);
  }
  static Row RowOf(uint32_t instance, int tick) {
    const auto at = static_cast<uint64_t>(tick);
    // Transfers exceed the whole numbers of a double; one counter wraps.
    return {instance,
            {(at << 44) + at * instance, at * 7 % 11,
             tick % 71 == 9 ? std::optional<uint64_t>() : at * at * 13,
             static_cast<uint32_t>(at * 20'000'000)}};
  }

  const absl::Time start_;
  const uint32_t machine_, disk_, query_, c_;
  std::optional<uint32_t> d_, e_;
};

void Deliver(Deployment& deployment, absl::Time start) {
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  for (const uint64_t epoch : {uint64_t{0xFEDC'BA98'7654'3210}, kEpoch}) {
    const int first = epoch == kEpoch ? kRestart : 0;
    const int end = epoch == kEpoch ? kTicks : kRestart;
    BoxAgent box(start);
    FakeAgent agent(deployment.address(), tls, MakeHello("box", epoch, 1, 1));
    ASSERT_TRUE(agent.Receive().has_value());
    uint64_t sequence = 0;
    for (int tick = first; tick < end; ++tick) {
      box.AddTick(tick);
      if (tick % 20 != 19) continue;
      v1::CollectRequest request;
      *request.mutable_batch() =
          MakeSealedBatch(epoch, ++sequence, box.TakeContent());
      ASSERT_TRUE(agent.Send(request));
    }
    ASSERT_TRUE(agent.ReceiveAck(sequence));
  }
}

std::string Text(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// Rounds the fractions in a text. Their last digits depend on the number of
// parts in which the samples of a window come, in the own store, too.
std::string Rounded(const std::string& text) {
  std::string rounded;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_of("0123456789", i);
    if (begin == std::string::npos) return rounded + text.substr(i);
    rounded += text.substr(i, begin - i);
    i = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    const std::string number = text.substr(begin, i - begin);
    double value = 0;
    const bool is_fraction =
        absl::StrContains(number, '.') && absl::SimpleAtod(number, &value);
    rounded += is_fraction ? absl::StrFormat("%.13g", value) : number;
  }
  return rounded;
}

// Returns the answers to questions of all kinds.
std::vector<std::string> Answers(const Deployment& deployment,
                                 absl::Time start) {
  const std::string all = "\\Disk(*)\\*";
  const std::vector<std::string> range = {
      "--from", Text(start - absl::Minutes(10)), "--to",
      Text(start + kTicks * kInterval + absl::Minutes(10))};
  std::vector<std::string> answers;
  const auto ask = [&](std::vector<std::string> arguments,
                       const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Result result = deployment.Fleetperf(arguments);
    EXPECT_EQ(result.status, 0) << result.error;
    answers.push_back(Rounded(result.output));
  };
  const std::vector<std::vector<std::string>> options = {
      {"--raw"},
      {},
      {"--step", "10s"},
      {"--step", "90s"},
      {"--step", "5m", "--over", "max"},
      {"--step", "5m", "--agg", "sum"},
      {"--step", "1m", "--top", "2"}};
  for (const auto& option : options) {
    std::vector<std::string> arguments = {"query", all, "--format", "json"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    ask(arguments, range);
  }
  ask({"query", "\\\\box\\Disk(D:)\\Transfers/sec", "--format", "csv", "--step",
       "1m"},
      range);
  for (const int tick : {45, 50, kRestart}) {
    ask({"explain", all, "--at", Text(start + tick * kInterval)}, {});
  }
  return answers;
}

// Returns the values since `from` of a subscription that starts before them.
std::vector<std::string> Watch(const Deployment& deployment, absl::Time from,
                               absl::Time newest) {
  const auto watch = deployment.StartFleetperf(
      {"watch", "\\\\box\\Disk(C:)\\Transfers/sec", "--since",
       absl::StrCat((absl::Now() - from) / absl::Seconds(1) + 100, "s"),
       "--format", "json"});
  EXPECT_TRUE(watch->WaitForOutput(Text(newest).substr(0, 19)));
  watch->Signal(SIGINT);
  watch->Wait();
  std::vector<std::string> values;
  for (const auto line : absl::StrSplit(watch->output(), '\n')) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line);
    if (TimeOf(json) >= from) values.emplace_back(line);
  }
  return values;
}

void TestQueryThrough(const std::string& package) {
  const auto executable = bench::PeerExecutable(package);
  if (!executable.ok()) GTEST_SKIP() << executable.status().message();
  Engine engine(package, *executable);
  engine.Start();
  Deployment deployment;
  const std::string exported =
      absl::StrCat("export: {url: '", engine.url(),
                   "', raw: true, paths: '\\Disk(*)\\*', interval: 1s}\n");
  auto aggregator = deployment.StartAggregator(exported);
  // The seam is in the middle, and moves while the test runs.
  const absl::Time start =
      absl::FromUnixSeconds(absl::ToUnixSeconds(Seam()) / 10 * 10) -
      absl::Hours(2);
  const absl::Time newest = start + (kTicks - 1) * kInterval;
  Deliver(deployment, start);
  bool has_newest = false;
  Retry([&] {
    const auto result =
        engine.Query("timestamp(fleetperf_disk_tick_epoch_raw)", newest);
    return has_newest =
               !result.empty() && result[0]["value"][1] ==
                                      absl::StrCat(absl::ToUnixSeconds(newest));
  });
  ASSERT_TRUE(has_newest);
  const auto expected = Answers(deployment, start);
  const auto watched = Watch(deployment, start + absl::Hours(1), newest);
  EXPECT_GT(watched.size(), 500);

  aggregator->Signal(SIGTERM);
  aggregator->Wait();
  aggregator = deployment.StartAggregator(
      absl::StrCat(exported, "history: {url: 'http://", engine.address(),
                   "/api/v1/query'}\n"));
  const auto compare = [&] {
    const auto answers = Answers(deployment, start);
    ASSERT_EQ(answers.size(), expected.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i], expected[i]) << "answer " << i;
    }
  };
  compare();
  EXPECT_EQ(Watch(deployment, start + absl::Hours(1), newest), watched);
  engine.Stop();
  engine.Start();
  compare();

  engine.Stop();
  const auto ask = [&](absl::Time from) {
    return deployment.Fleetperf(
        {"query", "\\Disk(C:)\\*", "--from", Text(from), "--to", Text(newest)});
  };
  const Result failed = ask(start);
  EXPECT_NE(failed.status, 0);
  EXPECT_THAT(failed.error, HasSubstr(engine.address()));
  EXPECT_THAT(failed.error, HasSubstr("check url, and that the engine runs"));
  EXPECT_EQ(ask(newest - absl::Minutes(10)).status, 0);
}

TEST(QueryThrough, VictoriaMetricsGivesTheSameAnswers) {
  TestQueryThrough("victoria-metrics");
}

TEST(QueryThrough, PrometheusGivesTheSameAnswers) {
  TestQueryThrough("prometheus");
}

}  // namespace
}  // namespace fleetperf::testing
