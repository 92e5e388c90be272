// Tests that the counters of agents and aggregators about themselves are
// collected and queried like all others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/e2e/deployment.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the newest raw value of a counter.
uint64_t RawValue(const Deployment& deployment, const std::string& path) {
  const auto lines = deployment.Json({"query", path, "--raw", "--since", "1m"});
  EXPECT_FALSE(lines.empty()) << path;
  uint64_t value = 0;
  if (!lines.empty()) {
    EXPECT_TRUE(
        absl::SimpleAtoi(lines.back()["value"].get<std::string>(), &value))
        << lines.back();
  }
  return value;
}

TEST(OwnCounters, AreCollectedOnAggregatorAndAgent) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("name: central\n");
  const auto agent = deployment.StartAgent("web-1");
  deployment.WaitForSamples("web-1");
  ASSERT_TRUE(deployment.WaitForAnswer(
      "\\\\central\\fleetperf Aggregator\\Store Bytes"));
  ASSERT_TRUE(
      deployment.WaitForAnswer("\\\\web-1\\fleetperf Agent\\Working Set"));

  EXPECT_GT(RawValue(deployment, "\\\\web-1\\fleetperf Agent\\Working Set"),
            1 << 20);
  EXPECT_EQ(RawValue(deployment, "\\\\web-1\\fleetperf Agent\\Ticks Dropped"),
            0);
  EXPECT_GT(
      RawValue(deployment, "\\\\central\\fleetperf Aggregator\\Thread Count"),
      1);
  EXPECT_EQ(RawValue(deployment,
                     "\\\\central\\fleetperf Aggregator\\Batches Rejected"),
            0);
}

TEST(OwnCounters, CountQueriesWithoutSamples) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent(
      "web-1",
      "queries: [{counterset: fleetperf Agent}, {counterset: Nonsense}]\n");
  const std::string path = "\\\\web-1\\fleetperf Agent\\Queries Failing";
  ASSERT_TRUE(deployment.WaitForAnswer(path));
  const absl::Time deadline = absl::Now() + kPatience;
  while (RawValue(deployment, path) != 1 && absl::Now() < deadline) {
  }
  EXPECT_EQ(RawValue(deployment, path), 1);
}

TEST(OwnCounters, AreShownByStatus) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("name: central\n");
  ASSERT_TRUE(deployment.WaitForAnswer(
      "\\\\central\\fleetperf Aggregator\\Store Bytes"));
  const Result status = deployment.Fleetperf({"status", "--verbose"});
  EXPECT_THAT(status.output,
              AllOf(HasSubstr("steady"), HasSubstr("Machines Missing"),
                    HasSubstr("Store Bytes")));
}

// `fleetperf machines` lists only machines that have an agent.
TEST(OwnCounters, MachinesOmitAggregator) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("name: central\n");
  ASSERT_TRUE(deployment.WaitForAnswer(
      "\\\\central\\fleetperf Aggregator\\Store Bytes"));
  EXPECT_THAT(deployment.Fleetperf({"machines"}).error,
              HasSubstr("no agent has connected yet"));
  EXPECT_THAT(deployment.Fleetperf({"countersets"}).output,
              HasSubstr("fleetperf Aggregator"));
}

}  // namespace
}  // namespace fleetperf::testing
