// Tests that daemons recover although the system gives them no further thread
// or file descriptor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/https_client.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kConnected[] = "connected to the aggregator at";
constexpr char kPageConfig[] =
    "web: {listen: '127.0.0.1:0', address_file: page}\n";
constexpr char kDisconnected[] = "trying again";

class Reserves : public ::testing::Test {
 protected:
  // Starts an agent, and waits until it is connected.
  void StartAgent() {
    agent_ = std::make_unique<Process>(
        std::vector<std::string>{Deployment::Executable("fleetperf-agent"),
                                 "--config",
                                 deployment_.WriteAgentConfig("box", {}, "")},
        environment());
    ASSERT_TRUE(agent_->WaitForError(kConnected)) << agent_->error();
    deployment_.WaitForSamples("box");
  }

  // Ends the aggregator, waits until the agent has noticed it, and starts an
  // aggregator at the same address.
  void RestartAggregator() {
    aggregator_->Signal(SIGTERM);
    aggregator_->Wait();
    ASSERT_TRUE(agent_->WaitForError(kDisconnected)) << agent_->error();
    aggregator_ = deployment_.StartAggregator();
  }

  // The environment of a process that may start no threads after RefuseThreads.
  std::map<std::string, std::string> environment() const {
    return {{"LD_PRELOAD", FLEETPERF_PRELOAD},
            {"FLEETPERF_NO_THREADS", deployment_.File("no-threads")}};
  }
  void RefuseThreads() {
    ASSERT_OK(WriteFile(deployment_.File("no-threads"), ""));
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_ = deployment_.StartAggregator();
  std::unique_ptr<Process> agent_;
};

// Takes all unused descriptors from a process.
void RefuseDescriptors(pid_t pid) {
  rlimit limit;
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
  limit.rlim_cur = 0;
  while (std::filesystem::is_symlink(std::filesystem::symlink_status(
      absl::StrCat("/proc/", pid, "/fd/", limit.rlim_cur)))) {
    ++limit.rlim_cur;
  }
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
}

TEST_F(Reserves, AgentReconnectsWithoutASpareThread) {
  StartAgent();
  RefuseThreads();
  RestartAggregator();
  EXPECT_TRUE(agent_->WaitForError(kConnected, 2)) << agent_->error();
  deployment_.WaitForSamples("box");
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait(), 0);
}

TEST_F(Reserves, AgentReloadsWithoutASpareThread) {
  StartAgent();
  RefuseThreads();
  deployment_.WriteAgentConfig("box", {}, R"(
labels: {role: web}
queries:
  - counterset: Memory
)");
  agent_->Signal(SIGHUP);
  ASSERT_TRUE(agent_->WaitForError("changed: labels, queries"))
      << agent_->error();
  EXPECT_TRUE(agent_->WaitForError(kConnected, 2)) << agent_->error();
  EXPECT_TRUE(deployment_.WaitForAnswer(R"(\\box\Memory\Available Bytes)"));
  EXPECT_EQ(deployment_.Json({"machines"})[0]["labels"]["role"], "web");
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait(), 0);
}

TEST_F(Reserves, AgentReconnectsWithoutASpareDescriptor) {
  StartAgent();
  RefuseDescriptors(agent_->pid());
  RestartAggregator();
  EXPECT_TRUE(agent_->WaitForError(kConnected, 2)) << agent_->error();
  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait(), 0);
}

// A question over many machines is divided among threads, if there are any.
TEST_F(Reserves, AggregatorAnswersWithoutASpareThread) {
  aggregator_->Signal(SIGTERM);
  aggregator_->Wait();
  aggregator_ = deployment_.StartAggregator(kPageConfig, environment());
  const auto before = deployment_.StartAgent("box");
  deployment_.WaitForSamples("box");
  RefuseThreads();
  const auto after = deployment_.StartAgent("late");
  deployment_.WaitForSamples("late");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"query", "\\System\\Processes"},
        {"query", "\\System\\Processes", "--agg", "avg"},
        {"watch", "\\System\\Processes", "--count", "2"},
        {"machines"},
        {"countersets"},
        {"status"}}) {
    const Result result = deployment_.Fleetperf(command);
    EXPECT_EQ(result.status, 0) << command[0] << ": " << result.error;
  }
  const auto page = ReadFile(deployment_.File("page"));
  ASSERT_OK(page);
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(page->substr(page->rfind(':') + 1), &port));
  HttpsClient client(port, deployment_.Issue("reader", {"alice"}));
  EXPECT_THAT(client.Ask("GET", "/metrics"), HasSubstr(" 200 "));
  aggregator_->Signal(SIGTERM);
  EXPECT_EQ(aggregator_->Wait(), 0) << aggregator_->error();
}

}  // namespace
}  // namespace fleetperf::testing
