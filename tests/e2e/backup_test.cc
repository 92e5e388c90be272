// Tests of backup, verify and restore of a running aggregator's store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"

namespace fleetperf::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result RunAggregator(const Deployment& deployment,
                     std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   Deployment::Executable("fleetperf-aggregator"));
  arguments.insert(arguments.end(),
                   {"--config", deployment.File("aggregator.yaml")});
  return RunCommand(arguments);
}

TEST(Backup, RestoresStore) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  const TlsFiles operator_tls = deployment.Issue("operator", {"alice"});
  const std::string backup = deployment.File("monday");
  const auto back_up = [&](const std::string& directory) {
    return deployment.Fleetperf({"backup", directory, "--certificate",
                                 operator_tls.certificate, "--key",
                                 operator_tls.key});
  };
  {
    FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 3));
    ASSERT_TRUE(agent.Receive().has_value());
    DeliverNumbers(agent, 1, 3);

    const Result refused = deployment.Fleetperf({"backup", backup});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("requires the role operator"));
    EXPECT_FALSE(std::filesystem::exists(backup));

    const Result done = back_up(backup);
    ASSERT_EQ(done.status, 0) << done.error;
    EXPECT_THAT(done.output, HasSubstr(absl::StrCat(" bytes to ", backup)));
    EXPECT_TRUE(aggregator->WaitForError("backed up "));
    EXPECT_THAT(back_up(backup).error, HasSubstr("exists"));
    EXPECT_THAT(back_up("here").error, HasSubstr("not an absolute path"));
    // The backup does not interrupt the agent's stream.
    DeliverNumbers(agent, 4, 5);
  }
  EXPECT_THAT(StoredNumbers(deployment, kStart), ElementsAre(1, 2, 3, 4, 5));
  const Result verified = RunAggregator(deployment, {"verify", backup});
  EXPECT_EQ(verified.status, 0) << verified.error;
  // Three batches of the agent, and some with the aggregator's own counters.
  EXPECT_THAT(verified.output,
              ContainsRegex(" ([4-9]|[1-9][0-9]+) batches in the log"));

  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  EXPECT_THAT(RunAggregator(deployment, {"restore"}).error,
              HasSubstr("DIRECTORY is missing"));
  EXPECT_THAT(RunAggregator(deployment, {"restore", backup}).error,
              HasSubstr(deployment.File("store") + " is not empty"));
  std::filesystem::remove_all(deployment.File("store"));
  const Result restored = RunAggregator(deployment, {"restore", backup});
  ASSERT_EQ(restored.status, 0) << restored.error;
  aggregator = deployment.StartAggregator();
  EXPECT_THAT(StoredNumbers(deployment, kStart), ElementsAre(1, 2, 3));

  // Batches acknowledged since the backup are lost: neither side has them. The
  // agent continues and sends its definitions again.
  FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 6, 6));
  const auto response = agent.Receive();
  ASSERT_TRUE(response.has_value() && response->has_welcome());
  EXPECT_EQ(response->welcome().epochs(0).durable_sequence(), 3);
  EXPECT_FALSE(response->welcome().epochs(0).dictionary_held());
  DeliverNumbers(agent, 6, 6);
  EXPECT_THAT(StoredNumbers(deployment, kStart), ElementsAre(1, 2, 3, 6));
}

}  // namespace
}  // namespace fleetperf::testing
