// Loads an aggregator with a fleet for a long time, while agents, instances,
// subscribers and plans come and go, and shows which figures grow.
//
//   fleet_soak [--agents N] [--twins N] [--series N] [--minutes N]
//
// Prints a row a minute. Questions about the last minute are asked by turns.
// The last row is the slope of each figure over the second half of the run, as
// a percentage of its mean per hour. Fails only if the server rejects a message
// or a question, or ends a stream.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/endless_fleet.h"
#include "tests/bench/fleet_questions.h"
#include "tests/bench/fleet_visitors.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMiB = 1 << 20;

struct Parameters {
  FleetSize fleet = {.agents = 10'000, .twins = 10, .series = 1000};
  int minutes = 60;
};

struct Figure {
  std::string name;
  int decimals = 0;
  std::vector<double> values;  // by minute

  double Mean(size_t first) const {
    return std::accumulate(values.begin() + static_cast<ptrdiff_t>(first),
                           values.end(), 0.0) /
           static_cast<double>(values.size() - first);
  }

  // The least-squares slope over the second half, in percent of its mean per
  // hour.
  double Slope() const {
    const size_t first = values.size() / 2;
    const double mean = Mean(first);
    const double middle = static_cast<double>(first + values.size() - 1) / 2;
    double products = 0;
    double squares = 0;
    for (size_t i = first; i < values.size(); ++i) {
      const double minutes = static_cast<double>(i) - middle;
      products += minutes * (values[i] - mean);
      squares += minutes * minutes;
    }
    return 100 * 60 * products / squares / mean;
  }
};

// Asks about the last minute every few seconds, on a thread of its own.
class Questioner {
 public:
  explicit Questioner(std::unique_ptr<FleetQuestions> questions)
      : questions_(std::move(questions)), thread_([this] { Run(); }) {}

  ~Questioner() {
    is_over_.Notify();
    thread_.join();
  }

  // Returns the costs since the previous call, by question.
  absl::StatusOr<std::vector<FleetQuestionCost>> Take() {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(status_);
    std::vector<FleetQuestionCost> taken = costs_;
    for (size_t i = 0; i < taken.size(); ++i) {
      std::sort(taken[i].times.begin(), taken[i].times.end());
      costs_[i].times.clear();
    }
    return taken;
  }

 private:
  static constexpr absl::Duration kPause = absl::Seconds(5);

  void Run() {
    while (!is_over_.WaitForNotificationWithTimeout(kPause)) {
      auto asked = questions_->Ask(1);
      absl::MutexLock lock(&mutex_);
      status_ = asked.status();
      if (!status_.ok()) return;
      if (costs_.empty()) {
        costs_ = *std::move(asked);
        continue;
      }
      for (size_t i = 0; i < costs_.size(); ++i) {
        costs_[i].times.push_back((*asked)[i].times.front());
      }
    }
  }

  const std::unique_ptr<FleetQuestions> questions_;
  absl::Notification is_over_;
  absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<FleetQuestionCost> costs_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

struct Size {
  double bytes = 0;
  double files = 0;
};

// Files may vanish meanwhile.
Size SizeOf(const std::string& directory) {
  Size size;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code vanished;
    const auto bytes = entry->file_size(vanished);
    if (vanished) continue;
    size.bytes += static_cast<double>(bytes);
    ++size.files;
  }
  return size;
}

double EntriesOf(const std::string& directory) {
  std::error_code error;
  return static_cast<double>(
      std::distance(fs::directory_iterator(directory, error), {}));
}

// The figures of a run, by minute.
class Report {
 public:
  // `fleet` and `server` must outlive this object.
  Report(EndlessFleet* fleet, const FleetperfProcess& server)
      : fleet_(fleet), server_(server) {}

  // Measures what has happened since the previous call, or since construction,
  // and prints it.
  void Minute(const std::vector<FleetQuestionCost>& asked) {
    next_ = 0;
    AddIngest();
    AddUsage();
    for (const FleetQuestionCost& cost : asked) {
      Add(absl::StrCat(cost.name, ", ms"), 0,
          cost.times.empty() ? std::nan("")
                             : Milliseconds(Quantile(cost.times, 0.5)));
    }
    if (figures_.front().values.size() == 1) PrintNames();
    absl::PrintF("%7d", figures_.front().values.size());
    for (const Figure& figure : figures_) {
      absl::PrintF(" %9.*f", figure.decimals, figure.values.back());
    }
    absl::PrintF("\n");
    std::fflush(stdout);
  }

  void PrintSlopes() const {
    absl::PrintF("%%/hour");
    for (const Figure& figure : figures_) {
      absl::PrintF(" %+9.1f", figure.Slope());
    }
    absl::PrintF("\n");
  }

 private:
  static double Milliseconds(absl::Duration duration) {
    return absl::ToDoubleMilliseconds(duration);
  }

  void Add(const std::string& name, int decimals, double value) {
    if (next_ == figures_.size()) {
      figures_.push_back({.name = name, .decimals = decimals});
    }
    figures_[next_++].values.push_back(value);
  }

  void AddIngest() {
    const absl::Time now = absl::Now();
    const absl::Duration cpu = CpuTimeOf(server_.pid());
    const auto samples = static_cast<double>(fleet_->samples());
    Add("samples a second, millions", 2,
        (samples - samples_) / absl::ToDoubleSeconds(now - time_) / 1e6);
    Add("CPU of the aggregator, ns a sample", 1,
        absl::ToDoubleNanoseconds(cpu - cpu_) / (samples - samples_));
    const std::vector<absl::Duration> delays = fleet_->TakeDelays();
    for (const auto& [name, part] :
         {std::pair("median", 0.5), {"p99", 0.99}, {"max", 1.0}}) {
      Add(absl::StrCat("due until acknowledged, ", name, ", ms"), 0,
          delays.empty() ? std::nan("") : Milliseconds(Quantile(delays, part)));
    }
    time_ = now;
    cpu_ = cpu;
    samples_ = samples;
  }

  void AddUsage() {
    const std::string process = absl::StrCat("/proc/", server_.pid());
    Add("resident memory, MiB", 0,
        static_cast<double>(MemoryOf(server_.pid())) / kMiB);
    Add("descriptors", 0, EntriesOf(process + "/fd"));
    Add("threads", 0, EntriesOf(process + "/task"));
    const Size size = SizeOf(server_.store_directory());
    Add("store, MiB", 0, size.bytes / kMiB);
    Add("store, bytes a sample", 3, size.bytes / samples_);
    Add("files of the store", 0, size.files);
  }

  void PrintNames() const {
    for (size_t i = 0; i < figures_.size(); ++i) {
      absl::PrintF("%3d  %s\n", i + 1, figures_[i].name);
    }
    absl::PrintF("\n minute");
    for (size_t i = 0; i < figures_.size(); ++i) absl::PrintF(" %9d", i + 1);
    absl::PrintF("\n");
  }

  EndlessFleet* const fleet_;
  const FleetperfProcess& server_;
  std::vector<Figure> figures_;
  size_t next_ = 0;  // of figures_
  absl::Time time_ = absl::Now();
  absl::Duration cpu_ = CpuTimeOf(server_.pid());
  double samples_ = 0;
};

absl::Status Run(const Parameters& parameters) {
  RETURN_IF_ERROR(CheckOpenFileLimit(parameters.fleet.agents));
  ASSIGN_OR_RETURN(const auto server, FleetperfProcess::Make());
  RETURN_IF_ERROR(server->Start());
  Progress(absl::StrCat("connecting ", parameters.fleet.agents, " agents"));
  ASSIGN_OR_RETURN(const auto fleet,
                   EndlessFleet::Connect(parameters.fleet, *server));
  ASSIGN_OR_RETURN(auto questions,
                   FleetQuestions::Make(QuestionKind::kNear, *server,
                                        [&] { return fleet->now(); }));
  Report report(fleet.get(), *server);
  Questioner questioner(std::move(questions));
  FleetVisitors visitors(parameters.fleet.series, server.get());
  const absl::Time begin = absl::Now();
  for (int minute = 1; minute <= parameters.minutes; ++minute) {
    fleet->SendUntil(begin + minute * absl::Minutes(1));
    RETURN_IF_ERROR(fleet->CheckStreams());
    ASSIGN_OR_RETURN(const auto asked, questioner.Take());
    RETURN_IF_ERROR(visitors.status());
    report.Minute(asked);
  }
  RETURN_IF_ERROR(fleet->AwaitAcknowledged());
  report.PrintSlopes();
  absl::PrintF("Asked to reconnect, to spread load: %d times\n",
               fleet->reconnects());
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Parameters parameters;
  fleetperf::Command program(
      "fleet_soak", "Loads an aggregator with a fleet for a long time.");
  program
      .AddNumber("--agents", &parameters.fleet.agents,
                 "Number of agents, each with its own connection", 1, 100'000)
      .ShowDefault();
  program
      .AddNumber("--twins", &parameters.fleet.twins,
                 "Agents that send the same machine's values", 1, 1000)
      .ShowDefault();
  program
      .AddNumber("--series", &parameters.fleet.series,
                 "Approximate series per agent", 100, 100'000)
      .ShowDefault();
  program
      .AddNumber("--minutes", &parameters.minutes, "Duration of the run", 4,
                 10'000)
      .ShowDefault();
  if (const auto status = program.Parse(argc, argv)) return *status;
  if (parameters.fleet.agents % parameters.fleet.twins != 0) {
    absl::FPrintF(stderr, "fleet_soak: --twins does not divide --agents\n");
    return 1;
  }
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(parameters);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "fleet_soak: %s\n", status.message());
  return 1;
}
