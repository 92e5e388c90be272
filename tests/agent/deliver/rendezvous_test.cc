#include "agent/deliver/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

constexpr int kAgents = 300;

const std::vector<std::string>& Three() {
  static const auto* const three = new std::vector<std::string>{
      "agg-1.example:7443", "agg-2.example:7443", "agg-3.example:7443"};
  return *three;
}

std::string FirstOf(int agent, const std::vector<std::string>& addresses) {
  return ByPreference(absl::StrCat("web-", agent), addresses).front();
}

// The hashes are those of coreutils, from their first digits:
//   printf 'web-1\nagg-1.example:7443' | sha256sum
//   web-1: 9dc1e565, 3e3c7557, b873ede3
//   db-7:  e3b6f119, 21d74d58, cda5a7b5
//   win-3: 23360834, db826af5, dfa74994
TEST(RendezvousTest, OrdersByHash) {
  const std::string& a = Three()[0];
  const std::string& b = Three()[1];
  const std::string& c = Three()[2];
  EXPECT_THAT(ByPreference("web-1", Three()), ElementsAre(c, a, b));
  EXPECT_THAT(ByPreference("db-7", Three()), ElementsAre(a, c, b));
  EXPECT_THAT(ByPreference("win-3", Three()), ElementsAre(c, b, a));
  EXPECT_THAT(ByPreference("db-7", {c, b, a}), ElementsAre(a, c, b));
}

TEST(RendezvousTest, IgnoresCase) {
  EXPECT_THAT(ByPreference("DB-7", {"AGG-1.example:7443", "agg-2.Example:7443",
                                    "agg-3.example:7443"}),
              ElementsAre("AGG-1.example:7443", "agg-3.example:7443",
                          "agg-2.Example:7443"));
}

// With three equally likely aggregators, the number of agents of one has the
// mean 100 and the standard deviation sqrt(300 * 1/3 * 2/3) = 8.2.
TEST(RendezvousTest, SpreadsAgentsEvenly) {
  std::map<std::string, int> agents;
  for (int i = 0; i < kAgents; ++i) ++agents[FirstOf(i, Three())];
  for (const std::string& address : Three()) {
    EXPECT_THAT(agents[address], AllOf(Ge(75), Le(125))) << address;
  }
}

// A fourth one gets 75 agents on average, with a standard deviation of 7.5.
TEST(RendezvousTest, OneMoreOrLessMovesOnlyItsShare) {
  std::vector<std::string> four = Three();
  four.push_back("agg-4.example:7443");
  int moved = 0;
  for (int i = 0; i < kAgents; ++i) {
    const std::string with = FirstOf(i, four);
    if (with == four.back()) {
      ++moved;
    } else {
      EXPECT_EQ(with, FirstOf(i, Three()));
    }
  }
  EXPECT_THAT(moved, AllOf(Ge(52), Le(98)));
}

}  // namespace
}  // namespace fleetperf::agent
