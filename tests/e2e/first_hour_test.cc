// Runs the commands of docs/tasks/first-hour.md as they are printed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "perflib/registration.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/process.h"
#include "tests/support/batch_writer.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kMebibyte = 1 << 20;

// Returns the lines of the page that begin with "$ ", without it.
std::vector<std::string> CommandsOf(const std::string& page) {
  const auto text = ReadFile(absl::StrCat(FLEETPERF_DOCS, "/tasks/", page));
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> commands;
  for (absl::string_view line : absl::StrSplit(text.value_or(""), '\n')) {
    if (absl::ConsumePrefix(&line, "$ ")) commands.emplace_back(line);
  }
  return commands;
}

// What the output of a command that contains `part` must match.
struct Expectation {
  std::string part;
  ::testing::Matcher<std::string> output;
};

std::vector<Expectation> Expectations() {
  const auto has_machines = AllOf(HasSubstr("web-1"), HasSubstr("web-2"));
  return {
      {"fleetperf countersets",
       AllOf(HasSubstr("Process V2"), HasSubstr("Processor Information"))},
      {"fleetperf counters",
       AllOf(HasSubstr("% Processor Time"), HasSubstr("Working Set"))},
      {"fleetperf instances",
       AllOf(HasSubstr("_Total"), HasSubstr("web-1"), Not(HasSubstr("web-2")))},
      {"fleetperf machines --machine", HasSubstr("web-3")},
      {"fleetperf machines", AllOf(has_machines, HasSubstr("web-3"))},
      // Find a CPU hog.
      {"(_Total)\\% Processor Time' --since 5m --top 3", has_machines},
      {"query '\\Process V2(*)\\% Processor Time'", HasSubstr("cpu-hog:")},
      {"fleetperf watch", HasSubstr("cpu-hog:")},
      {"plot '\\Process V2(*)\\% Processor Time'", HasSubstr("cpu-hog:")},
      // Find a memory leak over a day.
      {"--since 24h --step 1h",
       AllOf(HasSubstr("leaky:4711"), HasSubstr("MIN"), HasSubstr("LAST"))},
      {"leak.svg", StartsWith("<?xml")},
      // 100 MiB, and 2 MiB a minute for a day.
      {"--over max", AllOf(HasSubstr("leaky:4711"), HasSubstr("2.91"))},
      // Compare machines.
      {"query '\\\\web-*\\Processor", has_machines},
      {"--agg sum --by machine", AllOf(has_machines, Not(HasSubstr("hog")))},
      {"--by label:role", AllOf(HasSubstr("front"), HasSubstr("back"))},
      {"plot '\\\\web-*\\Processor", has_machines},
      // Export to a spreadsheet.
      {"cpu.csv", AllOf(HasSubstr("web-1"), HasSubstr("web-2"))},
      {"memory.csv", AllOf(StartsWith("\"(PDH-CSV 4.0)"),
                           HasSubstr("\\\\web-1\\Memory\\Available Bytes"),
                           HasSubstr("\\\\web-2\\Memory\\Available Bytes"))},
      // Alert from cron.
      {"--critical '> 200000'", AllOf(HasSubstr(" OK "), EndsWith("\n0\n"))},
      {"--warn '> 0'", AllOf(HasSubstr(" WARNING "), EndsWith("\n1\n"))},
      // See a dead machine.
      {"web-3\\Process V2(*)\\Working Set' --since 5m; echo", EndsWith("2\n")},
      {"--stale 1m", AllOf(HasSubstr(" UNKNOWN "), EndsWith("\n3\n"))},
      {"--since 1h", AllOf(HasSubstr("leaky:4711"), HasSubstr("old"))},
  };
}

// A day of samples of "web-3", one a minute, that ended ten minutes ago:
// "leaky:4711" starts with 100 MiB and grows by 2 MiB a minute.
void SendDayOfLeak(const Deployment& deployment, const TlsFiles& tls) {
  constexpr int64_t kMinutes = 24 * 60;
  const absl::Time start =
      absl::Now() - absl::Minutes(10) - absl::Minutes(kMinutes);
  BatchWriter writer;
  const uint32_t machine = writer.Machine("web-3");
  const uint32_t counterset = writer.Counterset(
      {.guid = *perflib::ParseGuid("{0e2e0e2e-0000-4000-8000-000000000002}"),
       .name = "Process V2",
       .instance_type = perflib::kCountersetMultipleInstances,
       .counters = {{.counter_id = 10,
                     .type = perflib::kPerfCounterLargeRawcount,
                     .name = "Working Set"}}});
  const uint32_t query =
      writer.Query(machine, counterset, absl::Minutes(1), {{.counter_id = 10}});
  const uint32_t leaky = writer.Instance(machine, counterset, "leaky:4711");
  const uint32_t steady = writer.Instance(machine, counterset, "steady:12");
  for (int64_t minute = 1; minute <= kMinutes; ++minute) {
    const absl::Time time = start + absl::Minutes(minute);
    const auto grown = static_cast<uint64_t>(minute) * 2 * kMebibyte;
    writer.AddTick(
        query,
        {.perf_time_stamp = minute * 60 * perflib::kLinuxPerfFreq,
         .perf_time_100nsec = perflib::PerfTime100NSecFromTime(time),
         .perf_freq = perflib::kLinuxPerfFreq},
        {{leaky, {100 * kMebibyte + grown}}, {steady, {50 * kMebibyte}}});
  }
  FakeAgent agent(deployment.address(), tls, MakeHello("web-3", kEpoch, 1, 1));
  v1::CollectRequest request;
  *request.mutable_batch() = MakeBatch(kEpoch, 1, writer.TakeContent());
  EXPECT_TRUE(agent.Send(request));
  EXPECT_TRUE(agent.ReceiveAck(1));
}

// Runs until it is killed.
void UseProcessor() {
  // Ahead of other tests, if it is allowed.
  setpriority(PRIO_PROCESS, 0, -10);
  std::atomic<uint64_t> count = 0;
  while (true) ++count;
}

// Waits until the machine has a window of the longest step on the page that
// young data have. Returns false if it has none within kPatience.
bool WaitForWindow(const Deployment& deployment, const std::string& machine) {
  const std::string path =
      absl::StrCat("\\\\", machine, "\\Process V2(cpu-hog*)\\% Processor Time");
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const Result result = deployment.Fleetperf(
        {"query", path, "--since", "5m", "--step", "5s", "--format", "json"});
    if (absl::StrContains(result.output, R"("status":"ok")")) return true;
  }
  return false;
}

// Runs a command in a shell. Returns the file that the command writes, if it
// writes one, else its output.
std::string RunAsPrinted(const Deployment& deployment,
                         const std::string& command) {
  const std::filesystem::path program = Deployment::Executable("fleetperf");
  const Result result = RunCommand(
      {"sh", "-c", absl::StrCat("cd ", deployment.directory(), "\n", command)},
      {{"FLEETPERF_CONFIG", deployment.File("config.yaml")},
       {"PATH",
        absl::StrCat(program.parent_path().string(), ":/usr/bin:/bin")}});
  EXPECT_EQ(result.status, 0) << result.error;
  for (const std::string file : {"leak.svg", "cpu.csv", "memory.csv"}) {
    if (absl::StrContains(command, file)) {
      return ReadFile(deployment.File(file)).value_or("");
    }
  }
  return result.output;
}

TEST(FirstHour, CommandsWorkAsPrinted) {
  const Process hog("cpu-hog", UseProcessor);
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  SendDayOfLeak(deployment, deployment.Issue("agent", {"web-3"}));
  constexpr char kAgent[] = "delivery: {batch_period: 1s}\nlabels: {role: ";
  const auto web_1 =
      deployment.StartAgent("web-1", absl::StrCat(kAgent, "front}\n"));
  const auto web_2 =
      deployment.StartAgent("web-2", absl::StrCat(kAgent, "back}\n"));
  ASSERT_TRUE(WaitForWindow(deployment, "web-1"));
  ASSERT_TRUE(WaitForWindow(deployment, "web-2"));
  std::vector<Expectation> expectations = Expectations();
  for (const std::string& command : CommandsOf("first-hour.md")) {
    SCOPED_TRACE(command);
    const std::string output = RunAsPrinted(deployment, command);
    // The first one whose part the command contains; each has its command.
    const auto found = std::find_if(expectations.begin(), expectations.end(),
                                    [&](const Expectation& e) {
                                      return absl::StrContains(command, e.part);
                                    });
    ASSERT_NE(found, expectations.end()) << "the test expects nothing of it";
    EXPECT_THAT(output, found->output);
    expectations.erase(found);
  }
  for (const Expectation& left : expectations) {
    ADD_FAILURE() << "no command of the page contains " << left.part;
  }
}

}  // namespace
}  // namespace fleetperf::testing
