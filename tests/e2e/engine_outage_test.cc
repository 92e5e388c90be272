// An engine that was away for minutes gets everything that agents delivered
// meanwhile. Skipped without the engines, which deploy/install-deps test
// unpacks.

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/bench/peer_executable.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/engine.h"
#include "tests/e2e/process.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

// Much longer than the longest wait between two attempts of an export.
constexpr absl::Duration kOutage = absl::Minutes(2);
// A rate has a value if its samples are at most this far apart.
constexpr absl::Duration kLongestRate = absl::Milliseconds(2500);

constexpr char kCounter[] = "\\\\box\\System\\Context Switches/sec";
constexpr char kRawSeries[] = "fleetperf_system_context_switches_raw[1h]";
constexpr char kValueSeries[] =
    "fleetperf_system_context_switches_per_second[1h]";
// Sent after everything else of a tick.
constexpr char kTickSeries[] = "fleetperf_system_tick_epoch_raw[1h]";

// Values by time in milliseconds since 1970.
using Values = std::map<int64_t, double>;

double NumberOf(const nlohmann::json& text) {
  double number = 0;
  EXPECT_TRUE(absl::SimpleAtod(text.get<std::string>(), &number)) << text;
  return number;
}

Values StoredSamples(const Deployment& deployment) {
  Values values;
  for (const auto& line :
       deployment.Json({"query", kCounter, "--raw", "--since", "1h"})) {
    values[absl::ToUnixMillis(TimeOf(line))] = NumberOf(line["value"]);
  }
  return values;
}

// The samples of an engine's only series, without repetitions.
Values SamplesOf(Engine& engine, const std::string& query) {
  Values values;
  const auto result = engine.Query(query, absl::Now());
  if (result.empty()) return values;
  EXPECT_EQ(result.size(), 1) << query;
  for (const auto& sample : result[0]["values"]) {
    const double value = NumberOf(sample[1]);
    if (std::isnan(value)) continue;  // a staleness marker
    values[std::llround(sample[0].get<double>() * 1000)] = value;
  }
  return values;
}

// Waits until the oldest sample that the engine does not have is of `age`.
void AwaitLag(const Deployment& deployment, absl::Duration age) {
  const auto watch = deployment.StartFleetperf(
      {"watch", "\\\\central\\fleetperf Aggregator\\Export Lag Seconds",
       "--where", absl::StrCat(">= ", absl::ToInt64Seconds(age)), "--format",
       "json"});
  const absl::Time deadline = absl::Now() + age + kPatience;
  while (!watch->WaitForOutput("\"value\"")) {
    ASSERT_LT(absl::Now(), deadline) << watch->error();
  }
  watch->Signal(SIGINT);
  watch->Wait();
}

void TestOutage(const std::string& package, const std::string& executable) {
  Engine engine(package, executable);
  engine.Start();
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator(
      absl::StrCat("name: central\nexport: {url: '", engine.url(),
                   "', raw: true, interval: 1s}\n"));
  const auto agent = deployment.StartAgent(
      "box", "queries: [{counterset: System, interval: 1s}]\n");
  Retry([&] { return !SamplesOf(engine, kValueSeries).empty(); });
  ASSERT_FALSE(SamplesOf(engine, kValueSeries).empty());

  engine.Stop();
  AwaitLag(deployment, kOutage);
  engine.Start();
  agent->Signal(SIGTERM);
  ASSERT_EQ(agent->Wait(), 0);

  // The agent's last batch may be stored after it has ended.
  Values stored;
  Retry([&] {
    stored = StoredSamples(deployment);
    const Values ticks = SamplesOf(engine, kTickSeries);
    return !stored.empty() && !ticks.empty() &&
           stored.rbegin()->first == ticks.rbegin()->first;
  });
  EXPECT_GT(stored.size(), kOutage / absl::Seconds(2));
  EXPECT_EQ(SamplesOf(engine, kTickSeries).size(), stored.size());
  EXPECT_EQ(SamplesOf(engine, kRawSeries), stored);
  const Values values = SamplesOf(engine, kValueSeries);
  for (auto at = std::next(stored.begin()); at != stored.end(); ++at) {
    const auto apart = absl::Milliseconds(at->first - std::prev(at)->first);
    if (apart >= kLongestRate) continue;
    EXPECT_TRUE(values.contains(at->first)) << at->first;
  }
}

TEST(EngineOutage, MissesNothing) {
  std::map<std::string, std::string> executables;
  for (const std::string package : {"victoria-metrics", "prometheus"}) {
    const auto executable = bench::PeerExecutable(package);
    if (!executable.ok()) GTEST_SKIP() << executable.status().message();
    executables[package] = *executable;
  }
  // At the same time, because both wait.
  std::vector<std::thread> threads;
  for (const auto& [package, executable] : executables) {
    threads.emplace_back(TestOutage, package, executable);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace fleetperf::testing
