#include "agent/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::StatusIs;

// Parses the configuration of agent db-7, which ends with `line`, its line 4.
absl::StatusOr<Config> Parse(const std::string& line) {
  return ParseConfig(
      absl::StrCat("name: db-7\n"
                   "tls: {authority: a.pem, certificate: c.pem, key: c.key}\n"
                   "aggregators: ['agg-2.example:7443', 'agg-1.example:7443', "
                   "'agg-3.example:7443']\n",
                   line),
      "agent.yaml", {});
}

// The order by hash is that of rendezvous_test.cc: 1, 3, 2.
TEST(AgentConfig, AggregatorsAreInTheOrderOfTheHashUnlessListed) {
  for (const std::string line : {"", "aggregators_order: hash\n"}) {
    ASSERT_OK_AND_ASSIGN(const Config config, Parse(line));
    EXPECT_THAT(PreferredAggregators(config),
                ElementsAre("agg-1.example:7443", "agg-3.example:7443",
                            "agg-2.example:7443"));
  }
  ASSERT_OK_AND_ASSIGN(const Config listed,
                       Parse("aggregators_order: listed\n"));
  EXPECT_THAT(PreferredAggregators(listed),
              ElementsAre("agg-2.example:7443", "agg-1.example:7443",
                          "agg-3.example:7443"));
}

TEST(AgentConfig, RefusesAnotherOrderOfAggregators) {
  EXPECT_THAT(Parse("aggregators_order: list\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "agent.yaml:4: aggregators_order: \"list\" is not hash "
                       "or listed; did you mean \"listed\"?"));
}

}  // namespace
}  // namespace fleetperf::agent
