// Measures what the page of a fleet costs an aggregator: how long the overview
// takes to load, and the CPU time for no viewer, one, and many that see the
// same.
//
//   web_bench [--agents N] [--viewers N] [--seconds N] [--rounds N]
//
// Agents tick once a second and send ten ticks in a message, as agents do
// while no user watches them closely. Viewers send the requests of a browser
// with the page: they read the page's files and the list of machines, follow
// the live values, and read the list again every 30 s. CPU times are those of
// the aggregator's process; agents and viewers run in this one. The baseline is
// TLS alone, which writes the same bytes. Fails only if a viewer gets wrong
// values, or none.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/daemon/command_parser.h"
#include "base/os/files.h"
#include "base/rpc/rpc_log.h"
#include "base/status_macros.h"
#include "tests/bench/endless_fleet.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/bench/tls_floor.h"
#include "tests/bench/web_fleet.h"
#include "tests/bench/web_viewers.h"
#include "tests/e2e/https_client.h"

namespace fleetperf::bench {
namespace {

struct Parameters {
  size_t agents = 10'000;
  size_t viewers = 100;
  int seconds = 30;
  int rounds = 3;
};

// The time in which new viewers, and an aggregator that has lost some, settle.
constexpr absl::Duration kSettle = absl::Seconds(5);

// Sends at the machines' pace, on a thread of its own.
class Sending {
 public:
  explicit Sending(EndlessFleet* fleet)
      : fleet_(*fleet), thread_([this] { Run(); }) {}
  ~Sending() {
    is_over_.Notify();
    thread_.join();
  }

 private:
  void Run() {
    while (!is_over_.HasBeenNotified()) {
      fleet_.SendUntil(absl::Now() + absl::Seconds(1));
    }
  }

  EndlessFleet& fleet_;
  absl::Notification is_over_;
  std::thread thread_;
};

// Wall times from the first request on.
struct Load {
  absl::Duration files;
  absl::Duration machines;
  absl::Duration values;
  uint64_t files_bytes = 0;
  uint64_t machines_bytes = 0;
  uint64_t values_bytes = 0;

  absl::Duration all() const { return std::max(machines, values); }
};

// The costs of some viewers, in processors, and what each of them got in a
// second.
struct Cost {
  double cpu = 0;
  double lines = 0;
  double line_bytes = 0;
  double list_bytes = 0;
};

class WebBench {
 public:
  WebBench(const Parameters& parameters, const FleetperfProcess& server)
      : parameters_(parameters), server_(server) {}

  absl::Status Connect() {
    Progress(absl::StrCat("connecting ", parameters_.agents, " agents"));
    ASSIGN_OR_RETURN(agents_, EndlessFleet::Connect(
                                  {.agents = parameters_.agents, .twins = 1},
                                  [this](size_t machines, absl::Time start) {
                                    return fleet_.Make(machines, start);
                                  },
                                  server_));
    sending_ = std::make_unique<Sending>(agents_.get());
    ASSIGN_OR_RETURN(const std::string address, ReadFile(server_.File("page")));
    const std::string port = address.substr(address.rfind(':') + 1);
    if (!absl::SimpleAtoi(port, &page_.port)) {
      return absl::InternalError("the page has no port");
    }
    page_.tls = server_.reader();
    page_.machines = parameters_.agents;
    page_.fleet = &fleet_;
    // Until each machine has sent whole windows.
    Progress("waiting for the first values");
    LiveViewer viewer(page_, /*checks=*/true);
    RETURN_IF_ERROR(viewer.AwaitValues());
    return viewer.Stop();  // waits until all machines are current
  }

  absl::Status Measure() {
    for (int i = 0; i < parameters_.rounds; ++i) {
      RETURN_IF_ERROR(MeasureRound());
    }
    return MeasureFloor();
  }

  void Print() const {
    absl::PrintF(
        "\n%d machines with %d counters, a tick a second, ten in a message\n",
        parameters_.agents, WebFleet::kCounters);
    PrintLoad("the overview, first viewer", first_loads_);
    PrintLoad("the overview, others watch", later_loads_);
    const Cost many = MedianOf(many_);
    absl::PrintF("\n%-40s%12s  %s\n", "% of a processor", "median",
                 "all rounds");
    const std::string viewers = absl::StrCat(parameters_.viewers, " viewers");
    PrintCost("no viewer", none_);
    PrintCost("one viewer", one_);
    PrintCost("  more than none in the round", one_, none_);
    PrintCost(viewers, many_);
    PrintCost("  more than none in the round", many_, none_);
    const double others = static_cast<double>(parameters_.viewers - 1);
    const double further =
        PrintCost("  more than one in the round", many_, one_) / others;
    const double floor = floor_ / static_cast<double>(parameters_.viewers);
    absl::PrintF("%-40s%12.3f\n", "each further viewer", 100 * further);
    absl::PrintF("%-40s%12.3f\n", "TLS alone, the same bytes, each",
                 100 * floor);
    absl::PrintF("%-40s%12.2f\n", "ratio", further / floor);
    absl::PrintF(
        "a viewer gets %.1f lines and %.1f kB of values, and %.1f kB of "
        "lists, a second\n",
        many.lines, many.line_bytes / 1e3, many.list_bytes / 1e3);
    absl::PrintF("subscriptions while there were %d viewers: %d\n",
                 parameters_.viewers, subscriptions_);
    absl::PrintF("agents reconnected %d times\n", agents_->reconnects());
    absl::PrintF(
        "verified: all values are right, without gaps, and the same for all\n");
    std::fflush(stdout);
  }

  // Ends the streams of agents, which takes a while.
  absl::Status Disconnect() {
    Progress("disconnecting the agents");
    sending_.reset();
    return agents_->AwaitAcknowledged();
  }

 private:
  absl::Status MeasureRound() {
    Progress("no viewer");
    absl::SleepFor(kSettle);
    RETURN_IF_ERROR(MeasureCost({}, &none_));
    Progress("one viewer");
    RETURN_IF_ERROR(MeasureOne());
    Progress(absl::StrCat(parameters_.viewers, " viewers"));
    RETURN_IF_ERROR(MeasureMany());
    return agents_->CheckStreams();
  }

  absl::Status MeasureFloor() {
    const Cost many = MedianOf(many_);
    Progress(absl::StrFormat(
        "TLS alone: %.1f lines of %.0f bytes and %.0f bytes of lists a second",
        many.lines, many.line_bytes / many.lines, many.list_bytes));
    const double rounds = std::max(many.lines, 0.1) * parameters_.seconds;
    const FloorLoad load = {
        .readers = parameters_.viewers,
        .rounds = static_cast<size_t>(rounds),
        .pause = absl::Seconds(parameters_.seconds) / rounds,
        .line_bytes =
            static_cast<size_t>(many.line_bytes * parameters_.seconds / rounds),
        .other_bytes = static_cast<size_t>(
            many.list_bytes * static_cast<double>(parameters_.viewers) *
            parameters_.seconds / rounds)};
    ASSIGN_OR_RETURN(
        const TlsFiles tls,
        server_.Issue(Role::kAggregator, {"floor", "localhost", "127.0.0.1"}));
    ASSIGN_OR_RETURN(const absl::Duration cpu, MeasureTlsFloor(load, tls));
    floor_ = absl::ToDoubleSeconds(cpu) / parameters_.seconds;
    return absl::OkStatus();
  }

  // Loads the overview. Sets `viewer` to the viewer that then watches.
  absl::StatusOr<Load> LoadOverview(std::unique_ptr<LiveViewer>* viewer) {
    Load load;
    const absl::Time begin = absl::Now();
    testing::HttpsClient browser(page_.port, page_.tls);
    ASSIGN_OR_RETURN(load.files_bytes, ReadFiles(&browser));
    load.files = absl::Now() - begin;
    *viewer = std::make_unique<LiveViewer>(page_, /*checks=*/true);
    ASSIGN_OR_RETURN(load.machines_bytes, ReadMachines(page_, &browser));
    load.machines = absl::Now() - begin;
    RETURN_IF_ERROR((*viewer)->AwaitValues());
    load.values = absl::Now() - begin;
    load.values_bytes = (*viewer)->bytes();
    return load;
  }

  absl::Status MeasureOne() {
    std::unique_ptr<LiveViewer> viewer;
    ASSIGN_OR_RETURN(const Load load, LoadOverview(&viewer));
    first_loads_.push_back(load);
    absl::SleepFor(kSettle);
    RETURN_IF_ERROR(MeasureCost({viewer.get()}, &one_));
    RETURN_IF_ERROR(viewer->Stop());
    return viewer->CheckWhole();
  }

  absl::Status MeasureMany() {
    LiveViewer checked(page_, /*checks=*/true);
    RETURN_IF_ERROR(checked.AwaitValues());
    std::vector<std::unique_ptr<LiveViewer>> others;
    std::vector<const LiveViewer*> all = {&checked};
    while (all.size() < parameters_.viewers) {
      others.push_back(std::make_unique<LiveViewer>(page_, /*checks=*/false));
      all.push_back(others.back().get());
    }
    for (const auto& other : others) RETURN_IF_ERROR(other->AwaitValues());
    absl::SleepFor(kSettle);
    RETURN_IF_ERROR(MeasureCost(all, &many_));
    RETURN_IF_ERROR(CountSubscriptions());
    std::unique_ptr<LiveViewer> later;
    ASSIGN_OR_RETURN(const Load load, LoadOverview(&later));
    later_loads_.push_back(load);
    RETURN_IF_ERROR(later->Stop());
    for (const auto& other : others) other->StopSoon();
    for (const auto& other : others) RETURN_IF_ERROR(other->Stop());
    for (const auto& other : others) {
      RETURN_IF_ERROR(checked.AwaitLinesOf(*other));
    }
    RETURN_IF_ERROR(checked.Stop());
    return checked.CheckWhole();
  }

  // Adds the cost of these viewers, who also read the lists.
  absl::Status MeasureCost(const std::vector<const LiveViewer*>& viewers,
                           std::vector<Cost>* costs) {
    const auto sum = [&](auto value) {
      double all = 0;
      for (const LiveViewer* viewer : viewers) {
        all += static_cast<double>((viewer->*value)());
      }
      return all / static_cast<double>(std::max<size_t>(viewers.size(), 1));
    };
    ListReader lists(page_, viewers.size());
    const double lines = sum(&LiveViewer::lines);
    const double bytes = sum(&LiveViewer::bytes);
    const absl::Time begin = absl::Now();
    const absl::Duration before = CpuTimeOf(server_.pid());
    absl::SleepFor(absl::Seconds(parameters_.seconds));
    const absl::Duration cpu = CpuTimeOf(server_.pid()) - before;
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    const double readers =
        static_cast<double>(std::max<size_t>(viewers.size(), 1));
    costs->push_back(
        {.cpu = absl::ToDoubleSeconds(cpu) / seconds,
         .lines = (sum(&LiveViewer::lines) - lines) / seconds,
         .line_bytes = (sum(&LiveViewer::bytes) - bytes) / seconds,
         .list_bytes = static_cast<double>(lists.bytes()) / readers / seconds});
    return lists.Stop();
  }

  // The aggregator takes its own counters every ten seconds.
  absl::Status CountSubscriptions() {
    testing::HttpsClient browser(page_.port, page_.tls);
    ASSIGN_OR_RETURN(
        const std::string answer,
        PostToPage(
            &browser, "query",
            R"({"paths":["\\fleetperf Aggregator\\Subscribers"],"since":"25s"})"));
    for (const absl::string_view line : absl::StrSplit(answer, '\n')) {
      const auto part = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                              /*allow_exceptions=*/false);
      if (!part.is_object() || !part.contains("points")) continue;
      subscriptions_ = part["points"]["v"].back().get<int>();
    }
    if (subscriptions_ == 1) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("the viewers have ", subscriptions_, " subscriptions"));
  }

  // Returns the round with the median CPU time.
  static Cost MedianOf(std::vector<Cost> costs) {
    std::sort(costs.begin(), costs.end(),
              [](const Cost& a, const Cost& b) { return a.cpu < b.cpu; });
    return costs[costs.size() / 2];
  }

  static void PrintLoad(const std::string& what, std::vector<Load> loads) {
    std::sort(loads.begin(), loads.end(),
              [](const Load& a, const Load& b) { return a.all() < b.all(); });
    const Load& load = loads[loads.size() / 2];
    absl::PrintF("\n%s: median %.2f s, longest %.2f s\n", what,
                 absl::ToDoubleSeconds(load.all()),
                 absl::ToDoubleSeconds(loads.back().all()));
    const auto print = [](const char* part, absl::Duration time,
                          uint64_t bytes) {
      absl::PrintF("  %-38s%12.3f s%12.1f kB\n", part,
                   absl::ToDoubleSeconds(time),
                   static_cast<double>(bytes) / 1e3);
    };
    print("until its files have arrived", load.files, load.files_bytes);
    print("until the list of all machines has", load.machines,
          load.machines_bytes);
    print("until the values of all machines have", load.values,
          load.values_bytes);
  }

  // Prints the CPU times of the rounds, in percent of a processor, minus those
  // of `less` in the same rounds, and their median. Returns the median, in
  // processors.
  static double PrintCost(const std::string& what,
                          const std::vector<Cost>& costs,
                          const std::vector<Cost>& less = {}) {
    std::vector<double> rounds;
    std::string all;
    for (size_t i = 0; i < costs.size(); ++i) {
      rounds.push_back(costs[i].cpu - (less.empty() ? 0 : less[i].cpu));
      absl::StrAppendFormat(&all, " %6.2f", 100 * rounds[i]);
    }
    std::sort(rounds.begin(), rounds.end());
    const double median = rounds[rounds.size() / 2];
    absl::PrintF("%-40s%12.2f %s\n", what, 100 * median, all);
    return median;
  }

  const Parameters parameters_;
  const FleetperfProcess& server_;
  WebFleet fleet_;
  PageOfFleet page_;
  std::unique_ptr<EndlessFleet> agents_;
  std::unique_ptr<Sending> sending_;
  std::vector<Load> first_loads_;
  std::vector<Load> later_loads_;
  std::vector<Cost> none_;
  std::vector<Cost> one_;
  std::vector<Cost> many_;
  int subscriptions_ = 0;
  double floor_ = 0;
};

absl::Status Run(const Parameters& parameters) {
  RETURN_IF_ERROR(
      CheckOpenFileLimit(parameters.agents + 2 * parameters.viewers));
  ASSIGN_OR_RETURN(const auto server, FleetperfProcess::Make());
  RETURN_IF_ERROR(
      server->Start({}, "web: {listen: '127.0.0.1:0', address_file: page}\n"));
  WebBench bench(parameters, *server);
  RETURN_IF_ERROR(bench.Connect());
  const absl::Status measured = bench.Measure();
  if (measured.ok()) {
    bench.Print();
  } else {
    Progress(measured.message());
  }
  RETURN_IF_ERROR(bench.Disconnect());
  return measured;
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Parameters parameters;
  fleetperf::Command program(
      "web_bench", "Measures what the page of a fleet costs an aggregator.");
  program
      .AddNumber("--agents", &parameters.agents,
                 "Number of agents, each with its own connection", 1, 20'000)
      .ShowDefault();
  program
      .AddNumber("--viewers", &parameters.viewers, "Number of many viewers", 2,
                 127)
      .ShowDefault();
  program
      .AddNumber("--seconds", &parameters.seconds, "Duration of a measurement",
                 10, 3600)
      .ShowDefault();
  program
      .AddNumber("--rounds", &parameters.rounds,
                 "Number of measurements of each kind, by turns", 1, 100)
      .ShowDefault();
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogs();
  std::signal(SIGPIPE, SIG_IGN);
  const absl::Status status = fleetperf::bench::Run(parameters);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "web_bench: %s\n", status.message());
  return 1;
}
