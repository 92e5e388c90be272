#include "tests/bench/fleet_cost.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_watch.h"
#include "tests/bench/fleetperf_load.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"

namespace fleetperf::bench {
namespace {

constexpr double kKiB = 1 << 10;
constexpr double kMiB = 1 << 20;

// The number of times that a question is asked after the run.
constexpr int kAskedAfter = 10;

// Connects the agents and sends the first message of each, with definitions.
absl::StatusOr<std::unique_ptr<FleetperfLoad>> StartAgents(
    const Workload& workload, const FleetLoad& load,
    const FleetperfProcess& server, FleetCost* cost) {
  const absl::Duration before = CpuTimeOf(server.pid());
  cost->memory_before = MemoryOf(server.pid());
  Progress(
      absl::StrCat(cost->server, ": connecting ", cost->agents, " agents"));
  ASSIGN_OR_RETURN(auto agents, FleetperfLoad::Connect(workload, server));
  cost->memory_connected = MemoryOf(server.pid());
  agents->PrepareFirst(load.ticks_per_message);
  RETURN_IF_ERROR(agents->SendByTurns());
  cost->memory_defined = MemoryOf(server.pid());
  cost->started = CpuTimeOf(server.pid()) - before;
  return agents;
}

// Adds the subscriber's delays to `cost`. DataLoss if it received no samples.
absl::Status TakeWatched(const FleetWatch::Watched& watched, const Pace& pace,
                         FleetCost* cost) {
  if (watched.samples.empty()) {
    return absl::DataLossError("the subscriber received no samples");
  }
  for (const FleetWatch::Sample& sample : watched.samples) {
    cost->watched.push_back(sample.received - (sample.taken + pace.behind));
  }
  std::sort(cost->watched.begin(), cost->watched.end());
  cost->lagged = watched.lagged;
  return absl::OkStatus();
}

absl::Status MeasureSending(FleetperfLoad* agents, FleetWatch* watch,
                            const FleetperfProcess& server, FleetCost* cost) {
  Progress(absl::StrCat(cost->server, ": sending ", cost->samples,
                        " samples at their pace"));
  const absl::Duration before = CpuTimeOf(server.pid());
  const absl::Duration own_before = CpuTimeOf(getpid());
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(Pace pace, agents->SendPaced());
  cost->wall = absl::Now() - begin;
  cost->load = CpuTimeOf(getpid()) - own_before;
  cost->acknowledged = CpuTimeOf(server.pid()) - before;
  cost->memory_after = MemoryOf(server.pid());
  cost->latest = pace.latest;
  cost->delays = std::move(pace.delays);
  std::sort(cost->delays.begin(), cost->delays.end());
  if (watch == nullptr) return absl::OkStatus();
  return TakeWatched(watch->Stop(), pace, cost);
}

double Samples(const FleetCost& cost) {
  return static_cast<double>(cost.samples);
}

double CpuNanos(const FleetCost& cost) {
  return absl::ToDoubleNanoseconds(cost.acknowledged);
}

double PerAgentKib(const FleetCost& cost, uint64_t memory) {
  return (static_cast<double>(memory) -
          static_cast<double>(cost.memory_before)) /
         kKiB / static_cast<double>(cost.agents);
}

// Returns a quantile in milliseconds; NaN if `delays` is empty.
double QuantileMs(const std::vector<absl::Duration>& delays, double part) {
  if (delays.empty()) return std::nan("");
  return absl::ToDoubleMilliseconds(Quantile(delays, part));
}

}  // namespace

absl::StatusOr<FleetCost> MeasureFleet(const std::string& name,
                                       const Workload& workload,
                                       const FleetLoad& load,
                                       const FleetperfProcess& server) {
  FleetCost cost = {.server = name, .agents = workload.machines};
  ASSIGN_OR_RETURN(const auto agents,
                   StartAgents(workload, load, server, &cost));
  Progress(absl::StrCat(name, ": encoding"));
  const uint64_t samples = agents->samples();
  const uint64_t messages = agents->messages();
  agents->Prepare(load.ticks, load.ticks_per_message);
  cost.samples = agents->samples() - samples;
  cost.messages = agents->messages() - messages;
  std::unique_ptr<FleetWatch> watch;
  if (load.is_watched) {
    ASSIGN_OR_RETURN(watch,
                     FleetWatch::Start(server.address(), server.reader()));
  }
  std::unique_ptr<FleetQuestions> questions;
  if (load.questions.has_value()) {
    ASSIGN_OR_RETURN(
        questions, FleetQuestions::Make(*load.questions, server,
                                        [&] { return agents->newest_tick(); }));
    questions->Start();
  }
  RETURN_IF_ERROR(MeasureSending(agents.get(), watch.get(), server, &cost));
  if (questions != nullptr) {
    Progress(absl::StrCat(name, ": asking"));
    ASSIGN_OR_RETURN(cost.asked_during, questions->Stop());
    ASSIGN_OR_RETURN(cost.asked_after, questions->Ask(kAskedAfter));
  }
  Progress(
      absl::StrFormat("%s: %.1f ns a sample, %.2f million samples a second",
                      name, CpuNanos(cost) / Samples(cost),
                      Samples(cost) / absl::ToDoubleSeconds(cost.wall) / 1e6));
  return cost;
}

void PrintFleet(const std::vector<FleetCost>& costs) {
  std::vector<std::string> names;
  for (const FleetCost& cost : costs) names.push_back(cost.server);
  Table table(absl::StrCat(costs[0].agents, " agents, ", costs[0].samples,
                           " samples in ", costs[0].messages, " messages"),
              names);
  const auto add = [&](const std::string& what, int decimals, auto value) {
    std::vector<double> values;
    for (const FleetCost& cost : costs) values.push_back(value(cost));
    table.Add(what, std::move(values), decimals);
  };
  add("samples a second, millions", 2, [](const FleetCost& cost) {
    return Samples(cost) / absl::ToDoubleSeconds(cost.wall) / 1e6;
  });
  add("CPU until acknowledged, ns a sample", 1,
      [](const FleetCost& cost) { return CpuNanos(cost) / Samples(cost); });
  add("CPU until acknowledged, us a message", 1, [](const FleetCost& cost) {
    return CpuNanos(cost) / 1e3 / static_cast<double>(cost.messages);
  });
  add("CPU until acknowledged, % of a processor", 1, [](const FleetCost& cost) {
    return 100 * absl::FDivDuration(cost.acknowledged, cost.wall);
  });
  add("CPU of the agents, ns a sample", 1, [](const FleetCost& cost) {
    return absl::ToDoubleNanoseconds(cost.load) / Samples(cost);
  });
  add("CPU to connect and define, us an agent", 0, [](const FleetCost& cost) {
    return absl::ToDoubleMicroseconds(cost.started) /
           static_cast<double>(cost.agents);
  });
  add("due until acknowledged, median, ms", 2,
      [](const FleetCost& cost) { return QuantileMs(cost.delays, 0.5); });
  add("due until acknowledged, p99, ms", 2,
      [](const FleetCost& cost) { return QuantileMs(cost.delays, 0.99); });
  add("due until acknowledged, max, ms", 2,
      [](const FleetCost& cost) { return QuantileMs(cost.delays, 1); });
  add("due until sent, max, ms", 2, [](const FleetCost& cost) {
    return absl::ToDoubleMilliseconds(cost.latest);
  });
  add("taken until subscriber has it, median, ms", 2,
      [](const FleetCost& cost) { return QuantileMs(cost.watched, 0.5); });
  add("taken until subscriber has it, p99, ms", 2,
      [](const FleetCost& cost) { return QuantileMs(cost.watched, 0.99); });
  add("values dropped for the slow subscriber", 0, [](const FleetCost& cost) {
    return cost.watched.empty() ? std::nan("")
                                : static_cast<double>(cost.lagged);
  });
  for (size_t i = 0; i < costs[0].asked_during.size(); ++i) {
    const std::string& question = costs[0].asked_during[i].name;
    add(absl::StrCat(question, ", while they send, median, ms"), 1,
        [i](const FleetCost& cost) {
          return cost.asked_during.empty()
                     ? std::nan("")
                     : QuantileMs(cost.asked_during[i].times, 0.5);
        });
    add(absl::StrCat(question, ", afterwards, median, ms"), 1,
        [i](const FleetCost& cost) {
          return cost.asked_after.empty()
                     ? std::nan("")
                     : QuantileMs(cost.asked_after[i].times, 0.5);
        });
    add(absl::StrCat(question, ", afterwards, CPU, ms"), 1,
        [i](const FleetCost& cost) {
          return cost.asked_after.empty()
                     ? std::nan("")
                     : absl::ToDoubleMilliseconds(cost.asked_after[i].cpu);
        });
  }
  add("memory before agents, MiB", 1, [](const FleetCost& cost) {
    return static_cast<double>(cost.memory_before) / kMiB;
  });
  add("more when connected, KiB an agent", 1, [](const FleetCost& cost) {
    return PerAgentKib(cost, cost.memory_connected);
  });
  add("more when they have defined, KiB an agent", 1,
      [](const FleetCost& cost) {
        return PerAgentKib(cost, cost.memory_defined);
      });
  add("more when all is acknowledged, KiB an agent", 1,
      [](const FleetCost& cost) {
        return PerAgentKib(cost, cost.memory_after);
      });
}

}  // namespace fleetperf::bench
