// Tests of `fleetperf query` as users type it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Queries, AggregateFilterAndCalculate) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box", "labels: {role: test}\n");
  deployment.WaitForSamples("box");
  const auto ask = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"query", "--since", "1h"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return deployment.Json(arguments);
  };
  const auto by_role = ask(
      {"\\System\\Processes", "--agg", "p95", "--by", "label:role,counter"});
  ASSERT_THAT(by_role, SizeIs(1));
  EXPECT_EQ(by_role[0].at("labels").at("role"), "test");
  EXPECT_GT(by_role[0].at("value"), 0);

  const auto one = ask({"\\System\\Processes / \\System\\Processes"});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].at("value"), 1);
  EXPECT_EQ(one[0].at("path"), "\\System\\Processes / \\System\\Processes");

  EXPECT_THAT(ask({"\\System\\Processes", "--where", ">0"}), SizeIs(1));
  EXPECT_THAT(ask({"\\System\\Processes", "--where", "<= 0"}), SizeIs(0));
  // Each process has at least one thread.
  const auto fewer =
      ask({"\\System\\Processes", "\\System\\Threads", "--bottom", "1"});
  ASSERT_THAT(fewer, SizeIs(1));
  EXPECT_EQ(fewer[0].at("path"), "\\System\\Processes");
}

TEST(Queries, InvalidFlagsAreNamed) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto message = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"query", "\\System\\Processes"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Result result = deployment.Fleetperf(arguments);
    EXPECT_EQ(result.status, 1);
    return result.error;
  };
  EXPECT_THAT(message({"--where", "90"}),
              HasSubstr("--where: \"90\" is not >, >=, <, <=, = or != and a "
                        "number"));
  EXPECT_THAT(message({"--where", "> much"}), HasSubstr("--where: \"> much\""));
  EXPECT_THAT(message({"--where", "> nan"}), HasSubstr("--where: \"> nan\""));
  EXPECT_THAT(message({"--agg", "p42"}), HasSubstr("--agg: \"p42\" is not"));
  EXPECT_THAT(message({"--agg", "sum", "--by", "label:"}),
              HasSubstr("--by: \"label:\" is not machine, instance, counter, "
                        "counterset or label:NAME"));
  EXPECT_THAT(message({"--top", "1", "--bottom", "1"}),
              HasSubstr("--top and --bottom exclude each other"));
  EXPECT_THAT(message({"--raw", "--where", "> 1"}),
              HasSubstr("--raw returns unprocessed samples"));
}

}  // namespace
}  // namespace fleetperf::testing
