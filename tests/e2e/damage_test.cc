// Tests of a store whose acknowledged batches are damaged on disk. The
// aggregator detects and logs the damage; queries show a gap with a cause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/text/units.h"
#include "nlohmann/json.hpp"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Flips a bit of a batch in the newest write-ahead log of the database.
void DamageBatch(const std::string& store, uint64_t sequence) {
  std::string path;
  for (const auto& file : std::filesystem::directory_iterator(store)) {
    if (file.path().extension() != ".log") continue;
    path = std::max(path, file.path().string());
  }
  std::ifstream in(path, std::ios::binary);
  std::string log{std::istreambuf_iterator<char>(in), {}};
  const size_t place =
      log.find(MakeNumberBatch("box", kEpoch, sequence,
                               perflib::PerfTime100NSecFromTime(kStart))
                   .batch()
                   .payload());
  ASSERT_NE(place, log.npos);
  log[place] = static_cast<char>(log[place] ^ 1);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << log;
}

TEST(Damage, ReportsLostBatchesAndShowsGapWithCause) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  {
    FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 20));
    ASSERT_TRUE(agent.Receive().has_value());
    DeliverNumbers(agent, 1, 20);
  }
  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  for (uint64_t sequence = 10; sequence < 14; ++sequence) {
    DamageBatch(deployment.File("store"), sequence);
  }

  const auto verify = [&] {
    return RunCommand({Deployment::Executable("fleetperf-aggregator"), "verify",
                       "--config", deployment.File("aggregator.yaml")});
  };
  const auto reports_damage =
      AllOf(HasSubstr(".log is damaged"), HasSubstr("4 batches in 4 commits"));
  const Result damaged = verify();
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.output, reports_damage);

  aggregator = deployment.StartAggregator();
  EXPECT_TRUE(aggregator->WaitForError("4 batches in 4 commits"));
  std::set<double> values;
  std::set<std::string> causes;
  for (const auto& line : deployment.Json(
           {"query", "\\Numbers\\Number", "--from", FormatUtc(kStart), "--to",
            FormatUtc(kStart + absl::Seconds(20)), "--step", "1s"})) {
    if (line["status"] == "ok") {
      values.insert(line["value"].get<double>());
    } else {
      causes.insert(line["cause"].get<std::string>());
    }
  }
  EXPECT_EQ(values.size(), 16);
  EXPECT_FALSE(values.contains(10));
  EXPECT_THAT(causes, ElementsAre("store_damaged"));

  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);
  EXPECT_EQ(verify().status, 0);
}

}  // namespace
}  // namespace fleetperf::testing
