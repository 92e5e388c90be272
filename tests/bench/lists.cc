// Measures the lists of a fleet: in the store, and of the commands from the
// start of their process to its end.
//
//   lists [--machines N]
//
// One of 20 machines has no samples. No agent is connected.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "aggregator/query/fleet.h"
#include "aggregator/store/store.h"
#include "base/daemon/command_parser.h"
#include "base/rpc/rpc_log.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/bench/comparison.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/store_feed.h"

namespace fleetperf::bench {
namespace {

using aggregator::Store;

constexpr int kAsked = 20;
constexpr int kSeries = 100;
constexpr size_t kTicks = 10;
constexpr size_t kMachinesPerSilent = 20;

void PrintTimes(const std::string& what, std::vector<absl::Duration> times,
                absl::Duration cpu) {
  std::sort(times.begin(), times.end());
  absl::PrintF("%-44s%9.1f ms, CPU of the server %.1f ms\n", what,
               absl::ToDoubleMilliseconds(Quantile(times, 0.5)),
               absl::ToDoubleMilliseconds(cpu));
}

// Runs `ask` once to warm up, then kAsked times.
absl::Status Ask(const std::string& what, pid_t server,
                 const std::function<absl::Status()>& ask) {
  RETURN_IF_ERROR(ask());
  std::vector<absl::Duration> times;
  const absl::Duration cpu = CpuTimeOf(server);
  for (int i = 0; i < kAsked; ++i) {
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(ask());
    times.push_back(absl::Now() - begin);
  }
  PrintTimes(what, std::move(times), (CpuTimeOf(server) - cpu) / kAsked);
  return absl::OkStatus();
}

v1::Machine MachineOf(size_t number) {
  v1::Machine machine;
  machine.set_name(absl::StrCat("host-", number));
  machine.set_agent(machine.name());
  machine.set_agent_version("0.3.0");
  machine.set_operating_system("Debian GNU/Linux 12 (bookworm)");
  (*machine.mutable_labels())["role"] = number % 2 == 0 ? "web" : "database";
  (*machine.mutable_labels())["rack"] = absl::StrCat("rack-", number / 40);
  (*machine.mutable_labels())["site"] = absl::StrCat("site-", number % 7);
  return machine;
}

// Fills the store of an aggregator that has not been started yet.
absl::Status Fill(size_t machines, const std::string& directory) {
  const FleetWorkload fleet(kSeries);
  const Workload workload =
      fleet.MakeWorkload(machines - machines / kMachinesPerSilent, kTicks,
                         absl::Now() - absl::Minutes(1));
  RETURN_IF_ERROR(FeedStore(workload, kTicks, directory).status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                   aggregator::OpenRocksDbStore(directory));
  v1::CatalogueContent catalogue;
  for (const auto& counterset : store->directory().Countersets("host-0")) {
    *catalogue.add_countersets() = ToProto(counterset->schema->registration);
  }
  const std::string content = catalogue.SerializeAsString();
  RETURN_IF_ERROR(store->PutCatalogue(Sha256(content), content));
  for (size_t i = 0; i < machines; ++i) {
    RETURN_IF_ERROR(store->PutMachine({MachineOf(i), Sha256(content)}));
  }
  aggregator::Fleet lists(store.get());
  const auto all = [](const std::string&) { return true; };
  RETURN_IF_ERROR(Ask("in process: the store's machines", getpid(), [&] {
    return store->GetMachines().size() == machines
               ? absl::OkStatus()
               : absl::InternalError("the store lacks machines");
  }));
  return Ask("in process: countersets", getpid(), [&] {
    return lists.Countersets(all).size() == fleet.countersets().size()
               ? absl::OkStatus()
               : absl::InternalError("the fleet lacks countersets");
  });
}

absl::Status Run(size_t machines) {
  ASSIGN_OR_RETURN(const auto process, FleetperfProcess::Make());
  RETURN_IF_ERROR(Fill(machines, process->store_directory()));
  RETURN_IF_ERROR(process->Start());
  AwaitQuiet(process->pid(), absl::Seconds(2), /*connections=*/0);
  const std::vector<std::vector<std::string>> commands = {
      {"machines", "--machine", "host-1", "--format", "json"},
      {"machines", "--format", "json"},
      {"machines", "--format", "csv"},
      {"machines"},
      {"machines", "--label", "role=web", "--format", "json"},
      {"countersets", "--format", "json"},
      {"counters", "Process", "--format", "json"},
      {"instances", "Process", "--machine", "host-1*", "--format", "json"},
  };
  for (const std::vector<std::string>& command : commands) {
    RETURN_IF_ERROR(Ask(absl::StrJoin(command, " "), process->pid(),
                        [&] { return process->RunFleetperf(command); }));
  }
  return process->Stop();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  size_t machines = 10'000;
  fleetperf::Command program("lists", "Measures the lists of a fleet.");
  program
      .AddNumber("--machines", &machines, "Number of machines", 20, 1'000'000)
      .ShowDefault();
  if (const auto status = program.Parse(argc, argv)) return *status;
  fleetperf::SendRpcLogs();
  const absl::Status status = fleetperf::bench::Run(machines);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "lists: %s\n", status.message());
  return 1;
}
