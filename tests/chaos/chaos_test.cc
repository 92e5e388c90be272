// Runs a fleet under random faults and checks that no tick is lost unnoticed.
//
// Faults: processes are killed or stopped; the network is cut, slow or stalls;
// disks fill up; clocks step; the aggregator loses power. Meanwhile an agent
// sends changed messages to the aggregator.
//
// Invariants, checked for each agent after all faults have ended:
// - No tick is stored twice.
// - A tick that the agent took is stored, or the agent counted it as lost to a
//   full spool or disk. The only exception is the tick in progress when the
//   agent was killed.
// - No process ends by itself, or with an error, such as a sanitizer's finding.
//
//   chaos_test [--seconds N] [--seed S]
//
// The seed determines the faults, their times and the messages; the test prints
// it. Full disks require the right to mount a file system; the test prints
// whether it has to omit them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/os/clock.h"
#include "perflib/clocks.h"
#include "tests/chaos/fleet.h"
#include "tests/hostile/message_fuzzer.h"

namespace fleetperf::testing {
namespace {

struct Options {
  int seconds = 60;
  uint64_t seed = std::random_device()();
  bool may_mount = false;
};
Options options;

// Formats losses as "lost and counted: 3 disk_full, 40 spool_full".
std::string LostText(const std::map<std::string, uint64_t>& lost) {
  std::vector<std::string> texts;
  for (const auto& [cause, ticks] : lost) {
    texts.push_back(absl::StrCat(ticks, " ", cause));
  }
  return absl::StrCat("lost and counted: ",
                      texts.empty() ? "0" : absl::StrJoin(texts, ", "));
}

// Processes in addition to those of the machine.
constexpr int kProcesses = 400;
// The length in seconds from which a run must fill a spool.
constexpr int kLongRun = 600;
// Certificates are valid from an hour before they are made; an agent that
// starts earlier than that refuses to.
constexpr absl::Duration kMaxClockOffset = absl::Minutes(50);
constexpr absl::Duration kFuzzPause = absl::Milliseconds(10);

// Forks kProcesses children and never returns. Async-signal-safe.
void RunCrowd() {
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  for (;;) pause();
}

// A fleet, its faults and its checks.
class Chaos {
 public:
  Chaos() : random_(options.seed), aggregator_(&deployment_) {}

  // Runs the fleet under faults, then ends all faults.
  void Run();
  // Checks the invariants of all agents, and stops the fleet.
  void Check();

 private:
  struct Fault {
    const char* name;
    std::function<bool()> begin;  // returns false if impossible at present
  };

  double Uniform(double min, double max) {
    return std::uniform_real_distribution<double>(min, max)(random_);
  }
  ChaosAgent& AnyAgent() { return *agents_[random_() % agents_.size()]; }
  // Schedules `action`, for example the end of a fault.
  void After(double seconds, std::function<void()> action) {
    scheduled_.emplace(Clock::Real().Monotonic() + absl::Seconds(seconds),
                       std::move(action));
  }
  void RunScheduledUntil(absl::Duration time);
  void StartFleet();
  std::vector<Fault> Faults();
  bool EndAgent(bool kill);
  bool EndAggregator(const std::function<void()>& end);
  bool DisturbNetwork(Proxy::Mode mode, double max_seconds);
  bool FillDisk();
  bool StepClock(SteppedClock& clock);
  // Returns the target of the changed messages.
  Target FuzzTarget();
  // Ends all faults and starts all processes.
  void EndFaults();
  // Returns the violated invariants of an agent; empty if none. Waits up to
  // kPatience for the samples to arrive.
  std::string FindProblems(const ChaosAgent& agent);

  std::mt19937_64 random_;
  Process crowd_{"crowd", RunCrowd};
  Deployment deployment_;
  ChaosAggregator aggregator_;
  std::vector<std::unique_ptr<ChaosAgent>> agents_;
  std::multimap<absl::Duration, std::function<void()>> scheduled_;
  std::map<std::string, int> fault_counts_;
  absl::Time start_ = absl::Now();
  bool spool_was_full_ = false;
  uint64_t fuzzed_streams_ = 0;
};

void Chaos::RunScheduledUntil(absl::Duration time) {
  while (!scheduled_.empty() && scheduled_.begin()->first <= time) {
    const auto next = scheduled_.extract(scheduled_.begin());
    const absl::Duration wait = next.key() - Clock::Real().Monotonic();
    if (wait > absl::ZeroDuration()) absl::SleepFor(wait);
    next.mapped()();
  }
  const absl::Duration rest = time - Clock::Real().Monotonic();
  if (rest > absl::ZeroDuration()) absl::SleepFor(rest);
}

void Chaos::StartFleet() {
  aggregator_.Start();
  const std::string small =
      "queries: [{counterset: System}]\ndelivery: {batch_period: 3s}\n";
  // With the crowd's processes, the batches are large enough to fill the
  // spools.
  const std::string large =
      "queries: [{counterset: System}, {counterset: Process V2}]\n"
      "delivery: {batch_period: 1s, spool_size: 128KiB}\n";
  const auto add = [&](const std::string& name, bool has_disk,
                       const std::string& more) {
    agents_.push_back(std::make_unique<ChaosAgent>(
        &deployment_, name, aggregator_.port(), has_disk, more));
    agents_.back()->Start();
  };
  add("steady", /*has_disk=*/false, small);
  add("full-disk", options.may_mount, large);
  add("full-spool", /*has_disk=*/false, large);
}

// Ends no agent that depends on its memory: its ticks would be lost. (The tick
// in progress when the agent is killed may be lost in any case.)
bool Chaos::EndAgent(bool kill) {
  ChaosAgent& agent = AnyAgent();
  if (!agent.running() || agent.DependsOnMemory()) return false;
  if (kill) {
    agent.Kill();
  } else {
    agent.Stop();
  }
  After(Uniform(0, 3), [&agent] { agent.Start(); });
  return true;
}

bool Chaos::EndAggregator(const std::function<void()>& end) {
  if (!aggregator_.running()) return false;
  end();
  // Some outages are long enough to fill a spool.
  const double max_seconds = random_() % 4 == 0 ? 30 : 4;
  After(Uniform(0, max_seconds), [this] { aggregator_.Start(); });
  return true;
}

bool Chaos::DisturbNetwork(Proxy::Mode mode, double max_seconds) {
  ChaosAgent& agent = AnyAgent();
  agent.network().Set(mode);
  After(Uniform(0.1, max_seconds),
        [&agent] { agent.network().Set(Proxy::Mode::kPass); });
  return true;
}

bool Chaos::FillDisk() {
  const auto found =
      std::find_if(agents_.begin(), agents_.end(),
                   [](const auto& agent) { return agent->has_disk(); });
  if (found == agents_.end()) return false;
  ChaosAgent& agent = **found;
  if (!agent.running() || agent.DependsOnMemory()) return false;
  agent.FillDisk();
  After(Uniform(1, 15), [&agent] { agent.FreeDisk(); });
  return true;
}

bool Chaos::StepClock(SteppedClock& clock) {
  // Some steps are large, most are close to the interval of ticks.
  const double max_step = random_() % 4 == 0 ? 3600 : 3;
  const absl::Duration offset =
      clock.offset() + absl::Seconds(Uniform(-max_step, max_step));
  clock.Set(std::clamp(offset, -kMaxClockOffset, kMaxClockOffset));
  return true;
}

Target Chaos::FuzzTarget() {
  return {.address = deployment_.address(),
          .port = aggregator_.port(),
          .agent = deployment_.Issue("agent", AttackerNames("evil")),
          .seed = options.seed};
}

std::vector<Chaos::Fault> Chaos::Faults() {
  return {
      {"agent killed", [this] { return EndAgent(true); }},
      {"agent killed", [this] { return EndAgent(true); }},
      {"agent stopped", [this] { return EndAgent(false); }},
      {"aggregator killed",
       [this] { return EndAggregator([this] { aggregator_.Kill(); }); }},
      {"aggregator stopped",
       [this] { return EndAggregator([this] { aggregator_.Stop(); }); }},
      {"aggregator lost its power",
       [this] { return EndAggregator([this] { aggregator_.CutPower(); }); }},
      {"network cut", [this] { return DisturbNetwork(Proxy::Mode::kCut, 20); }},
      {"network half-open",
       [this] { return DisturbNetwork(Proxy::Mode::kHalfOpen, 35); }},
      {"network slow",
       [this] { return DisturbNetwork(Proxy::Mode::kSlow, 10); }},
      {"disk full", [this] { return FillDisk(); }},
      {"agent's clock stepped",
       [this] { return StepClock(AnyAgent().clock()); }},
      {"aggregator's clock stepped",
       [this] { return StepClock(aggregator_.clock()); }},
  };
}

void Chaos::Run() {
  StartFleet();
  std::atomic<bool> is_over = false;
  std::thread fuzzer([&, target = FuzzTarget()] {
    fuzzed_streams_ = FuzzMessages(target, [&] {
      absl::SleepFor(kFuzzPause);  // leaves the processors to the fleet
      return is_over.load();
    });
  });
  const absl::Duration end =
      Clock::Real().Monotonic() + absl::Seconds(options.seconds);
  const std::vector<Fault> faults = Faults();
  absl::Duration now = Clock::Real().Monotonic();
  while (now < end) {
    const Fault& fault = faults[random_() % faults.size()];
    const bool has_begun = fault.begin();
    if (has_begun) ++fault_counts_[fault.name];
    now = Clock::Real().Monotonic() + absl::Seconds(Uniform(0.2, 2));
    RunScheduledUntil(now);
  }
  is_over = true;
  fuzzer.join();
  EndFaults();
}

void Chaos::EndFaults() {
  RunScheduledUntil(scheduled_.empty() ? absl::ZeroDuration()
                                       : scheduled_.rbegin()->first);
  for (const auto& agent : agents_) {
    if (!agent->running()) agent->Start();
  }
  if (!aggregator_.running()) aggregator_.Start();
}

std::string Chaos::FindProblems(const ChaosAgent& agent) {
  // Only the ticks taken until now must arrive.
  const Ticks taken = agent.Taken();
  const absl::Duration margin = absl::Hours(24);
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    const Stored stored =
        ReadStored(deployment_, agent.name(), "\\System\\Processes",
                   start_ - margin, absl::Now() + margin);
    const Ticks missing = FindMissing(taken, stored);
    uint64_t excused = 0;
    for (const int64_t tick : missing) {
      excused += agent.interrupted().contains(tick);
    }
    uint64_t counted = 0;
    std::vector<std::string> problems;
    for (const auto& [cause, ticks] : stored.lost) {
      if (cause == "spool_full" || cause == "disk_full") {
        counted += ticks;
        spool_was_full_ = spool_was_full_ || cause == "spool_full";
      } else if (cause != "overrun" && cause != "source_failed") {
        // Ticks with these two causes were never taken.
        problems.push_back(absl::StrCat(ticks, " ticks lost: ", cause));
      }
    }
    if (!stored.repeated.empty()) {
      problems.push_back(
          absl::StrCat(stored.repeated.size(), " ticks stored twice"));
    }
    // Some of the ticks in progress when the agent was killed may have reached
    // the spool and been counted as lost later.
    if (counted < missing.size() - excused || counted > missing.size()) {
      problems.push_back(
          absl::StrCat(missing.size(), " ticks missing, of which ", excused,
                       " were being taken when the agent was killed; but ",
                       counted, " counted as lost"));
    }
    if (problems.empty() || absl::Now() > deadline) {
      if (problems.empty()) {
        std::printf(
            "%-12s %zu ticks taken, %zu stored; %s; %zu while it was killed\n",
            agent.name().c_str(), taken.size(), taken.size() - missing.size(),
            LostText(stored.lost).c_str(), missing.size() - counted);
        return "";
      }
      for (const int64_t tick : missing) {
        if (problems.size() > 12) break;
        problems.push_back(absl::StrCat(
            "missing: ",
            absl::FormatTime(perflib::TimeFromPerfTime100NSec(tick)),
            agent.interrupted().contains(tick) ? " (excused)" : ""));
      }
      return absl::StrCat(agent.name(), ": ", absl::StrJoin(problems, "\n  "));
    }
    absl::SleepFor(absl::Milliseconds(500));
  }
}

void Chaos::Check() {
  std::printf("seed %llu, %d s\n",
              static_cast<unsigned long long>(options.seed), options.seconds);
  for (const auto& [name, count] : fault_counts_) {
    std::printf("%4d x %s\n", count, name.c_str());
  }
  for (const auto& agent : agents_) {
    const std::string problems = FindProblems(*agent);
    EXPECT_EQ(problems, "") << "seed " << options.seed << "\n" << agent->Log();
  }
  for (const auto& agent : agents_) agent->Stop();
  aggregator_.Stop();
  std::printf("%4llu streams of changed messages\n",
              static_cast<unsigned long long>(fuzzed_streams_));
  EXPECT_GT(fuzzed_streams_, 0);
  EXPECT_TRUE(spool_was_full_ || options.seconds < kLongRun)
      << "no spool was full: the run needs longer outages";
}

TEST(Chaos, LosesNothingAndStoresNothingTwice) {
  if (!options.may_mount) {
    std::printf(
        "omitting full disks: this process may not mount file systems\n");
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  Chaos chaos;
  chaos.Run();
  chaos.Check();
}

}  // namespace
}  // namespace fleetperf::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  using fleetperf::testing::options;
  fleetperf::Command program(
      "chaos_test",
      "Runs a fleet under random faults and checks that no tick is lost.");
  program.AddNumber("--seconds", &options.seconds, "Duration in seconds", 1,
                    1'000'000);
  program.AddNumber("--seed", &options.seed,
                    "Determines the faults and their times", 0, UINT64_MAX);
  if (const auto status = program.Parse(argc, argv)) return *status;
  options.may_mount = fleetperf::testing::EnterMountNamespace();
  return RUN_ALL_TESTS();
}
