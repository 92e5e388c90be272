
#include "base/status_macros.h"
#include "cli/arguments.h"

namespace fleetperf::cli {
namespace {

// Returns an error if flags of `fleetperf machines` are given, which take
// effect on its list only.
absl::Status CheckForget(const Arguments& arguments) {
  if (arguments.machines.machine.empty() && arguments.machines.labels.empty() &&
      !arguments.verbose && arguments.format == Format::kTable) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "machines forget takes the names of machines, without --machine, "
      "--label, --verbose and --format");
}

void AddForget(Command& machines, Arguments& arguments) {
  Arguments* a = &arguments;
  const auto run = Connected(arguments, [a](const Aggregators& aggregators) {
    return ForgetMachines(aggregators, a->names, a->dry_run);
  });
  Command forget = AddCommand(
      machines, arguments, "forget",
      "Remove machines that are gone for good from all lists (operators only). "
      "Their samples are hidden until the retention removes them. A machine "
      "that connects again is back, with its samples",
      "  fleetperf machines forget web-7 web-9 --dry-run\n"
      "  fleetperf machines forget web-7 web-9 --certificate "
      "operator-alice.pem --key operator-alice.key\n",
      [a, run]() -> absl::Status {
        RETURN_IF_ERROR(CheckForget(*a));
        return run();
      });
  forget.AddList("NAME", &arguments.names, "Machines, without wildcards")
      .Require();
  forget.AddFlag("--dry-run", &arguments.dry_run,
                 "Say what would be forgotten, and change nothing");
}

void AddFind(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command find = AddCommand(
      app, arguments, "find",
      "Find counters, instances and machines by everyday words",
      "  fleetperf find cpu usage\n"
      "  fleetperf find iowait\n"
      "  fleetperf find nginx --machine 'web-*'\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return Find(aggregators, a->format, a->words, a->machines, a->results);
      }));
  find.AddList("WORDS", &arguments.words,
               "Words that must all occur, as they are or in the words of the "
               "names: \"cpu\" finds \"Processor\"")
      .Require();
  find.AddNumber("--top", &arguments.results, "Show at most this many", 1, 1000)
      .ShowDefault();
  AddMachines(find, arguments.machines);
  AddFormat(find, arguments);
}

}  // namespace

void AddListCommands(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command machines = AddCommand(
      app, arguments, "machines", "List the machines of the fleet",
      "  fleetperf machines\n"
      "  fleetperf machines --machine 'web-*' --format json\n"
      "  fleetperf machines --machine web-1 --verbose\n"
      "  fleetperf machines --label role=web --label site=berlin\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return ListMachines(aggregators, a->format, a->machines, a->verbose);
      }));
  AddMachines(machines, arguments.machines);
  machines.AddFlag("--verbose", &arguments.verbose,
                   "Show the plan of each agent and the state of its "
                   "queries");
  AddFormat(machines, arguments);
  AddForget(machines, arguments);

  Command countersets = AddCommand(
      app, arguments, "countersets", "List the countersets of the fleet",
      "  fleetperf countersets\n"
      "  fleetperf countersets --machine web-1\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return ListCountersets(aggregators, a->format, a->machines);
      }));
  AddMachines(countersets, arguments.machines);
  AddFormat(countersets, arguments);

  Command counters = AddCommand(
      app, arguments, "counters", "List the counters of a counterset",
      "  fleetperf counters 'Processor Information'\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return ListCounters(aggregators, a->format, a->counterset, a->machines);
      }));
  counters.AddText("COUNTERSET", &arguments.counterset, "Its name or {GUID}")
      .Require();
  AddMachines(counters, arguments.machines);
  AddFormat(counters, arguments);

  Command instances = AddCommand(
      app, arguments, "instances", "List the current instances of a counterset",
      "  fleetperf instances 'Network Interface'\n"
      "  fleetperf instances 'Process V2' --machine web-1\n",
      Connected(arguments, [a](const Aggregators& aggregators) {
        return ListInstances(aggregators, a->format, a->counterset,
                             a->machines);
      }));
  instances.AddText("COUNTERSET", &arguments.counterset, "Its name or {GUID}")
      .Require();
  AddMachines(instances, arguments.machines);
  AddFormat(instances, arguments);

  AddFind(app, arguments);
}

}  // namespace fleetperf::cli
