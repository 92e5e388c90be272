// Events of perf_event, from the kernel to an answer.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::SizeIs;

constexpr char kPlan[] =
    "delivery: {batch_period: 1s}\n"
    "queries:\n"
    "  - counterset: Linux Perf\n"
    "    counters: [faults, cs]\n"
    "    instances: ['%s']\n";

// A cgroup that is removed with the object.
class Cgroup {
 public:
  Cgroup() {
    for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (access(absl::StrCat(root, "/cgroup.controllers").c_str(), F_OK) !=
          0) {
        continue;
      }
      const std::string path = absl::StrCat(root, name_);
      if (mkdir(path.c_str(), 0755) == 0) path_ = path;
      break;
    }
  }
  ~Cgroup() {
    if (exists()) rmdir(path_.c_str());
  }

  bool exists() const { return !path_.empty(); }
  const std::string& name() const { return name_; }
  std::string processes() const { return path_ + "/cgroup.procs"; }

 private:
  const std::string name_ = absl::StrCat("/fleetperf_test.", getpid());
  std::string path_;
};

struct OpenPipe {
  OpenPipe() {
    if (pipe(ends) != 0) abort();
  }
  ~OpenPipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void Send() const {
    if (write(ends[1], "x", 1) != 1) _exit(1);
  }
  void Receive() const {
    char byte;
    if (read(ends[0], &byte, 1) != 1) _exit(1);
  }

  int ends[2];
};

// What the kernel says of a process that waits.
struct Usage {
  uint64_t faults = 0;
  uint64_t switches = 0;

  bool operator==(const Usage&) const = default;
};

uint64_t FieldOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    uint64_t value;
    if (word == name && file >> value) return value;
  }
  return 0;
}

std::optional<Usage> UsageOf(pid_t process) {
  const std::string directory = absl::StrCat("/proc/", process);
  std::ifstream file(directory + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string state;
  uint64_t ignored, minor, major;
  fields >> state;
  for (int i = 4; i < 10; ++i) fields >> ignored;
  fields >> minor >> ignored >> major;
  if (state != "S") return std::nullopt;
  return Usage{
      minor + major,
      FieldOf(directory + "/status", "voluntary_ctxt_switches:") +
          FieldOf(directory + "/status", "nonvoluntary_ctxt_switches:")};
}

Usage WaitForUsage(pid_t process) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    // It is seen to wait just before the kernel counts its switch.
    const auto usage = UsageOf(process);
    if (usage.has_value() && UsageOf(process) == usage) return *usage;
  }
  ADD_FAILURE() << "the child does not wait";
  return {};
}

// Returns the newest raw value that was sampled after `time`.
uint64_t RawAfter(const Deployment& deployment, const std::string& path,
                  absl::Time time) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    for (const auto& line :
         deployment.Json({"query", path, "--raw", "--since", "5m"})) {
      uint64_t value;
      if (TimeOf(line) > time && line.contains("value") &&
          absl::SimpleAtoi(line.at("value").get<std::string>(), &value)) {
        return value;
      }
    }
  }
  ADD_FAILURE() << path << " has no sample";
  return 0;
}

// The child faults `kPages` pages and waits `kWaits` times. The expected counts
// are those that the kernel keeps of the process.
TEST(PerfCounters, CountsExactlyWhatAProcessDoes) {
  constexpr size_t kPages = 3000;
  constexpr int kWaits = 200;
  const Cgroup cgroup;
  if (!cgroup.exists()) GTEST_SKIP() << "The test cannot create a cgroup";
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const memory =
      static_cast<char*>(mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  const int processes = open(cgroup.processes().c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(processes, 0);
  const OpenPipe there, back;
  Process child("faulter", [&] {
    if (write(processes, "0", 1) != 1) _exit(1);
    back.Send();
    there.Receive();
    for (size_t i = 0; i < kPages; ++i) {
      const_cast<volatile char*>(memory)[i * page] = 1;
    }
    for (int i = 0; i < kWaits; ++i) {
      back.Send();
      there.Receive();
    }
    back.Send();
    there.Receive();
  });
  back.Receive();

  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  std::string plan = kPlan;
  plan.replace(plan.find("%s"), 2, cgroup.name());
  const auto agent = deployment.StartAgent("box", plan);
  const std::string faults =
      absl::StrCat("\\Linux Perf(", cgroup.name(), ")\\page-faults");
  const std::string switches =
      absl::StrCat("\\Linux Perf(", cgroup.name(), ")\\context-switches");
  ASSERT_TRUE(deployment.WaitForAnswer(faults));
  const Usage before = WaitForUsage(child.pid());
  const absl::Time start = absl::Now();
  const uint64_t faults_before = RawAfter(deployment, faults, start);
  const uint64_t switches_before = RawAfter(deployment, switches, start);
  there.Send();
  for (int i = 0; i < kWaits; ++i) {
    back.Receive();
    there.Send();
  }
  back.Receive();
  const Usage after = WaitForUsage(child.pid());
  const absl::Time end = absl::Now();
  EXPECT_GE(after.faults - before.faults, kPages);
  EXPECT_EQ(RawAfter(deployment, faults, end) - faults_before,
            after.faults - before.faults);
  EXPECT_EQ(RawAfter(deployment, switches, end) - switches_before,
            after.switches - before.switches);
  there.Send();
  EXPECT_EQ(child.Wait(), 0);
  close(processes);
  munmap(memory, kPages * page);
}

// The values of simulated_pmu.cc's script.
TEST(PerfCounters, HardwareCountersHaveTheValuesOfTheSimulation) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const std::string config =
      deployment.WriteAgentConfig("box", {},
                                  "delivery: {batch_period: 1s}\nqueries: "
                                  "[{counterset: Hardware Counters}]\n");
  const Process agent({FLEETPERF_SIMULATED_PMU_AGENT, "--config", config});
  const auto value_of = [&](const std::string& path) {
    EXPECT_TRUE(deployment.WaitForAnswer(path)) << path;
    const auto lines = deployment.Json({"query", path, "--since", "1m"});
    EXPECT_THAT(lines, SizeIs(1));
    return lines.empty() ? 0.0 : lines[0].value("value", 0.0);
  };
  EXPECT_TRUE(deployment.WaitForAnswer("\\Hardware Counters(_Total)\\IPC"));
  // Each second has the same ratio, because the script's rates are constant.
  // All: (3 + 0.375) / (2 · 1.5); the CPUs are read one after the other.
  const std::map<std::string, double> expected = {
      {"\\Hardware Counters(0)\\IPC", 2},
      {"\\Hardware Counters(1)\\IPC", 0.25},
      {"\\Hardware Counters(_Total)\\IPC", 1.125}};
  std::set<std::string> paths;
  for (const auto& line : deployment.Json(
           {"query", "\\Hardware Counters(*)\\IPC", "--step", "1s"})) {
    if (line.at("status") != "ok") continue;
    const std::string path = line.at("path").get<std::string>();
    paths.insert(path);
    // The agent may pause between the CPUs of a total.
    const double tolerance = absl::StrContains(path, "_Total") ? 0.2 : 1e-3;
    EXPECT_NEAR(line.at("value").get<double>(), expected.at(path), tolerance);
  }
  EXPECT_THAT(paths, SizeIs(3));
  EXPECT_NEAR(value_of("\\Hardware Counters(0)\\% L3 Hits"), 75, 1e-4);
  EXPECT_NEAR(value_of("\\Hardware Counters(0)\\L3 Misses per Instruction"),
              5.0 / 3000, 1e-4);
}

}  // namespace
}  // namespace fleetperf::testing
