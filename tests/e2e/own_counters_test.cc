// Tests that the counters of agents and aggregators about themselves are
// collected and queried like all others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

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
