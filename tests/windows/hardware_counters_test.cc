// Tests of the agent's hardware counters on Windows: the driver with a
// simulated PMU is loaded by Wine, the aggregator runs on Linux.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/windows/scenarios.h"
#include "tests/windows/wine_machine.h"

namespace fleetperf::testing {
namespace {

using nlohmann::json;

constexpr char kLoader[] = FLEETPERF_MINGW "/bin/fleetperf-pmu.exe";
constexpr char kImage[] = FLEETPERF_MINGW "/tests/fleetperf_pmu_simulated.sys";

class WindowsHardwareCountersTest : public ::testing::Test {
 protected:
  WindowsHardwareCountersTest() : aggregator_(deployment_.StartAggregator()) {
    Load("remove");
  }
  ~WindowsHardwareCountersTest() override { Load("remove"); }

  int Load(const std::string& command) {
    return wine_.Run({kLoader, command, "--image", kImage}).status;
  }

  // PerfLib has a counterset of its own, as on Windows.
  std::unique_ptr<Process> StartAgent() {
    const std::string perflib = deployment_.File("perflib.dll");
    std::filesystem::copy_file(FLEETPERF_MINGW "/tests/scripted_perflib.dll",
                               perflib);
    const json machine = {{"countersets", {NumbersJson(1)}}};
    Deployment::Write(deployment_.File("perflib.json"),
                      json{{"machines", {{"", machine}}}}.dump());
    const std::string config = deployment_.WriteAgentConfig(
        "win-1", {},
        absl::StrCat("perflib_dll: ", perflib,
                     "\ndelivery: {batch_period: 1s}\n"
                     "queries:\n"
                     "  - counterset: Numbers\n"
                     "  - counterset: Hardware Counters\n"
                     "    counters: [IPC, EXEC, '% L3 Hits',\n"
                     "        L3 Misses per Instruction, '% Branch Misses',\n"
                     "        Temperature]\n"));
    return wine_.Start(
        {FLEETPERF_MINGW "/bin/fleetperf-agent.exe", "--config", config},
        deployment_.File("agent.log"));
  }
  std::string Log() const {
    return ReadFile(deployment_.File("agent.log")).value_or("");
  }

  Deployment deployment_;
  WineMachine wine_;
  std::unique_ptr<Process> aggregator_;
};

// The rates are those of driver/windows/sys/simulated_machine.h. The plan names
// branches, and not the second-level cache, so that branches get the counters.
TEST_F(WindowsHardwareCountersTest, HaveTheValuesOfTheSimulation) {
  ASSERT_EQ(Load("install"), 0);
  ASSERT_EQ(Load("start"), 0);
  const auto agent = StartAgent();
  ASSERT_TRUE(deployment_.WaitForAnswer("\\Hardware Counters(_Total)\\IPC"))
      << Log();
  std::set<std::string> paths;
  for (const auto& line : deployment_.Json(
           {"query", "\\Hardware Counters(*)\\IPC", "--step", "1s"})) {
    if (line.at("status") != "ok") continue;
    paths.insert(line.at("path").get<std::string>());
    // Values are stored as ratios of whole numbers.
    EXPECT_NEAR(line.at("value").get<double>(), 1.5, 1e-6) << line;
  }
  EXPECT_TRUE(paths.contains("\\Hardware Counters(0)\\IPC"));
  EXPECT_TRUE(paths.contains("\\Hardware Counters(_Total)\\IPC"));
  // Instructions per timestamp, the ratios of the general counters, and 30
  // degrees below 100.
  const std::map<std::string, double> expected = {
      {"EXEC", 0.9},
      {"% L3 Hits", 60},
      {"L3 Misses per Instruction", 0.004},
      {"% Branch Misses", 1},
      {"Temperature", 70}};
  for (const auto& [counter, value] : expected) {
    const auto lines = deployment_.Json(
        {"query", absl::StrCat("\\Hardware Counters(0)\\", counter), "--since",
         "1m"});
    ASSERT_EQ(lines.size(), 1) << counter;
    ASSERT_EQ(lines[0].at("status"), "ok") << lines[0];
    EXPECT_NEAR(lines[0].at("value").get<double>(), value, 1e-6) << counter;
  }
}

}  // namespace
}  // namespace fleetperf::testing
