// Tests of counters of the test's own machine, from /proc to the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kProcessorTime[] =
    "\\Processor Information(_Total)\\% Processor Time";

[[noreturn]] void BurnForever() {
  volatile uint64_t spins = 0;
  for (;;) {
    const uint64_t next = spins + 1;
    spins = next;
  }
}

// Records the busy times of /proc/stat every 50 ms in a thread of its own. The
// readers may be called after Stop().
class StatRecorder {
 public:
  StatRecorder() : thread_([this] { Record(); }) {}
  ~StatRecorder() {
    if (thread_.joinable()) Stop();
  }
  void Stop() {
    stop_.Notify();
    thread_.join();
  }

  // Returns the share of time for which the processors were busy between two
  // moments, in percent, according to the kernel's busy times and the wall
  // clock.
  double BusyPercent(absl::Time start, absl::Time end) const {
    const double busy = BusySecondsAt(end) - BusySecondsAt(start);
    return 100 * busy / absl::ToDoubleSeconds(end - start);
  }

  absl::Time first() const { return moments_.front().time; }
  absl::Time last() const { return moments_.back().time; }

 private:
  struct Moment {
    absl::Time time;
    double busy_seconds;  // of the average processor
  };

  void Record() {
    do {
      moments_.push_back({absl::Now(), ReadBusySeconds()});
    } while (!stop_.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  }

  static double ReadBusySeconds() {
    std::ifstream stat("/proc/stat");
    std::string name;
    double user, nice, system, idle, io_wait, irq, softirq, steal;
    stat >> name >> user >> nice >> system >> idle >> io_wait >> irq >>
        softirq >> steal;
    return (user + nice + system + irq + softirq + steal) /
           static_cast<double>(sysconf(_SC_CLK_TCK)) /
           static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  }

  double BusySecondsAt(absl::Time time) const {
    for (size_t i = 1; i < moments_.size(); ++i) {
      const Moment& before = moments_[i - 1];
      const Moment& after = moments_[i];
      if (after.time < time) continue;
      const double part =
          absl::FDivDuration(time - before.time, after.time - before.time);
      return before.busy_seconds +
             part * (after.busy_seconds - before.busy_seconds);
    }
    ADD_FAILURE() << "no busy time was recorded at " << time;
    return 0;
  }

  std::vector<Moment> moments_;
  absl::Notification stop_;
  std::thread thread_;
};

// The averages, in percent, of the ticks that were recorded.
struct Comparison {
  int ticks = 0;
  double fleetperf = 0;
  double stat = 0;
};

Comparison Compare(const Deployment& deployment, const StatRecorder& recorder) {
  const auto lines = deployment.Json(
      {"query", kProcessorTime, "--since", "20s", "--step", "1s"});
  Comparison sums;
  // Each value covers the time since the previous sample.
  for (size_t i = 1; i < lines.size(); ++i) {
    const absl::Time start = TimeOf(lines[i - 1]);
    const absl::Time end = TimeOf(lines[i]);
    if (start < recorder.first() || end > recorder.last()) continue;
    EXPECT_EQ(lines[i]["machine"], "box");
    EXPECT_EQ(lines[i]["path"], kProcessorTime);
    // A slow machine may miss a tick.
    if (lines[i - 1]["status"] != "ok" || lines[i]["status"] != "ok") continue;
    EXPECT_EQ(lines[i]["unit"], "%");
    sums.fleetperf += lines[i]["value"].get<double>();
    sums.stat += recorder.BusyPercent(start, end);
    ++sums.ticks;
  }
  if (sums.ticks == 0) return {};
  return {sums.ticks, sums.fleetperf / sums.ticks, sums.stat / sums.ticks};
}

TEST(Counters, ProcessorTimeAgreesWithProcStat) {
  // A pause between a reading of the clock and one of /proc/stat spoils a
  // comparison.
  constexpr int kAttempts = 5;
  constexpr int kMinTicks = 8;
  // /proc/stat counts in units of 10 ms, and the recorder reads it every 50 ms.
  constexpr double kTolerance = 1.5;
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  const Process burner("burner", BurnForever);
  deployment.WaitForSamples("box");
  const auto start_watch = [&] {
    return deployment.StartFleetperf(
        {"watch", kProcessorTime, "--format", "json"});
  };
  const std::string is_ok = "\"status\":\"ok\"";
  // From now on, ticks arrive at once.
  const auto watch = start_watch();
  ASSERT_TRUE(watch->WaitForOutput(is_ok, 2)) << watch->error();
  Comparison averages;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    StatRecorder recorder;
    const auto ticks = start_watch();
    ASSERT_TRUE(ticks->WaitForOutput(is_ok, 12)) << ticks->error();
    recorder.Stop();
    averages = Compare(deployment, recorder);
    if (averages.ticks >= kMinTicks &&
        std::abs(averages.fleetperf - averages.stat) <= kTolerance) {
      break;
    }
  }
  ASSERT_GE(averages.ticks, kMinTicks);
  EXPECT_NEAR(averages.fleetperf, averages.stat, kTolerance);
  EXPECT_GT(averages.fleetperf, 20) << "the burner ran";
}

TEST(Counters, TopNamesBusiestProcess) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  const Process burner("fleetperf-burn", BurnForever);
  deployment.WaitForSamples("box");
  const std::string instance = absl::StrCat("fleetperf-burn:", burner.pid());
  const auto watch = deployment.StartFleetperf(
      {"watch", absl::StrCat("\\Process V2(", instance, ")\\% Processor Time"),
       "--format", "json"});
  ASSERT_TRUE(watch->WaitForOutput("\"status\":\"ok\"", 3)) << watch->error();
  const auto top =
      deployment.Json({"query", "\\Process V2(*)\\% Processor Time", "--since",
                       "10s", "--top", "20"});  // other tests run, too
  std::vector<std::string> paths;
  for (const auto& line : top) paths.push_back(line["path"]);
  EXPECT_THAT(paths, Contains(HasSubstr(instance)));
  EXPECT_LE(paths.size(), 20);
}

TEST(Counters, WatchReportsThatNothingMatchesYet) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const auto watch = deployment.StartFleetperf(
      {"watch", "\\Process V2(fleetperf-later:*)\\% Processor Time"});
  ASSERT_TRUE(watch->WaitForError("nothing matches yet")) << watch->error();
  const Process later("fleetperf-later", BurnForever);
  EXPECT_TRUE(watch->WaitForOutput("fleetperf-later"));
}

TEST(Counters, WatchDeliversTicksAtOnceDespiteLongBatchPeriod) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  // Without a subscriber, the agent would send its first batch after 5 minutes.
  const auto agent =
      deployment.StartAgent("box", "delivery: {batch_period: 5m}\n");
  ASSERT_TRUE(aggregator->WaitForError("agent box connected"));
  std::unique_ptr<Process> watch;
  do {  // fails until the agent has sent samples of its countersets
    watch = deployment.StartFleetperf({"watch", kProcessorTime});
  } while (!watch->WaitForOutput("_Total") && watch->Wait() != 0);
  EXPECT_TRUE(watch->WaitForOutput("_Total", 3));
  watch->Signal(SIGINT);
  EXPECT_EQ(watch->Wait(), 0);
}

TEST(Counters, WatchRemovesEndedProcess) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  auto burner = std::make_unique<Process>("fleetperf-burn", BurnForever);
  const std::string instance = absl::StrCat("fleetperf-burn:", burner->pid());
  deployment.WaitForSamples("box");
  const auto watch = deployment.StartFleetperf(
      {"watch", "\\Process V2(fleetperf-*)\\% Processor Time"});
  ASSERT_TRUE(watch->WaitForOutput(instance)) << watch->error();
  burner.reset();
  // Later tables do not contain the process.
  const auto last_tables_have_it = [&] {
    const std::string output = watch->output();
    const size_t last = output.rfind("MACHINE");
    return absl::StrContains(output.substr(last), instance);
  };
  int tables = 1;
  while (last_tables_have_it() && tables < 60) {
    ASSERT_TRUE(watch->WaitForOutput("MACHINE", ++tables));
  }
  EXPECT_FALSE(last_tables_have_it());
}

}  // namespace
}  // namespace fleetperf::testing
