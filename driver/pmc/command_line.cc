#include "driver/pmc/command_line.h"

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/daemon/command_parser.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "driver/pmc/commands.h"
#include "driver/pmc/experiments/experiment.h"
#include "driver/pmc/pcm_table.h"
#include "driver/pmc/stat.h"
#include "driver/pmc/table.h"

namespace fleetperf::pmc {
namespace {

constexpr int kFailedStatus = 1;

struct Arguments {
  bool json = false;
  StatOptions stat;
  TopOptions top;
  std::string interval = "1s";
  std::string rdpmc_time;
  bool quick = false;
  bool allow_rdpmc = false;
  bool list_experiments = false;
  const Experiment* experiment = nullptr;  // nullptr: all

  // Runs the given command and returns the exit status.
  std::function<absl::StatusOr<int>()> run;
};

absl::Status Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return absl::DataLossError("cannot write to standard output");
  }
  return absl::OkStatus();
}

void AddJson(Command& command, Arguments& arguments) {
  command.AddFlag("--json", &arguments.json, "Print JSON instead of text");
}

void AddList(Command& app, const Machine& machine, Arguments& arguments) {
  Command command = app.AddCommand(
      "list", "Show what this CPU and this system can count", [&] {
        arguments.run = [&]() -> absl::StatusOr<int> {
          RETURN_IF_ERROR(Print(DescribeMachine(machine, arguments.json)));
          return 0;
        };
      });
  AddJson(command, arguments);
  command.SetFooter(
      "Examples:\n"
      "  fleetperf-pmc list\n"
      "  fleetperf-pmc list --json");
}

void AddStat(Command& app, const Machine& machine, Arguments& arguments) {
  Command command = app.AddCommand("stat", "Count what a command does", [&] {
    arguments.run = [&] {
      arguments.stat.json = arguments.json;
      return RunStat(machine, arguments.stat);
    };
  });
  AddJson(command, arguments);
  command
      .AddList("-e,--event", &arguments.stat.events,
               "An event as perf names it (Linux), or CODE/UMASK in "
               "hexadecimal: D1/08; repeat for several")
      .SetType("EVENT");
  command
      .AddText("-o,--output", &arguments.stat.output,
               "Write the counts to a file instead of standard error")
      .SetType("FILE");
  command
      .AddList("COMMAND", &arguments.stat.command,
               "The command and its arguments, after --")
      .AcceptAnyBytes()
      .Require();
  command.SetFooter(
      "On Linux, events of the command and its children are counted; without a "
      "PMU, those of\n"
      "the kernel. On Windows, events of all CPUs while the command runs.\n"
      "The exit status is that of the command.\n"
      "Examples:\n"
      "  fleetperf-pmc stat -- ls -l\n"
      "  fleetperf-pmc stat -e instructions:u -e page-faults -- make\n"
      "  fleetperf-pmc stat -e D1/08 -e D1/10 -- ./benchmark\n"
      "  fleetperf-pmc stat --json -o counts.json -- ./benchmark");
}

std::string TopFooter() {
  std::string footer = "Columns, of one interval:\n";
  for (const PcmColumn& column : PcmColumns()) {
    absl::StrAppend(&footer, "  ", column.title,
                    std::string(8 - std::string(column.title).size(), ' '),
                    column.meaning, "\n");
  }
  return footer +
         "Columns that the machine does not count are left out.\n"
         "Examples:\n"
         "  fleetperf-pmc top\n"
         "  fleetperf-pmc top --interval 5s --count 12 > minute.txt\n"
         "  fleetperf-pmc top --count 1 --json";
}

void AddTop(Command& app, const Machine& machine, Arguments& arguments) {
  Command command = app.AddCommand(
      "top", "Show a table of all CPUs, with the columns of Intel PCM", [&] {
        arguments.run = [&]() -> absl::StatusOr<int> {
          ASSIGN_OR_RETURN(arguments.top.interval,
                           ParseDuration(arguments.interval));
          if (arguments.top.interval < absl::Milliseconds(1)) {
            return absl::InvalidArgumentError(
                "--interval must be at least 1ms");
          }
          arguments.top.json = arguments.json;
          RETURN_IF_ERROR(RunTop(machine, arguments.top));
          return 0;
        };
      });
  AddJson(command, arguments);
  command.AddText("--interval", &arguments.interval, "The time of a table")
      .SetType("DURATION")
      .ShowDefault();
  command.AddNumber("--count", &arguments.top.count,
                    "How many tables (default: until Ctrl-C)");
  command.SetFooter(TopFooter());
}

void AddRdpmc(Command& app, const Machine& machine, Arguments& arguments) {
  Command command = app.AddCommand(
      "rdpmc", "Let all programs read the counters in user mode for a while",
      [&] {
        arguments.run = [&]() -> absl::StatusOr<int> {
          ASSIGN_OR_RETURN(const absl::Duration time,
                           ParseDuration(arguments.rdpmc_time));
          RETURN_IF_ERROR(RunRdpmc(machine, time));
          return 0;
        };
      });
  command
      .AddText("--for", &arguments.rdpmc_time,
               "How long, from 1s to 24h; Ctrl-C ends it sooner")
      .SetType("DURATION")
      .Require();
  command.SetFooter(
      "On Windows. Programs the counters as the agent does, prints which RDPMC "
      "index counts\n"
      "what, and keeps RDPMC open to user mode. The driver closes it and "
      "restores all registers\n"
      "when the command ends, also if it is killed.\n"
      "Warning: in this time EVERY program on the machine, in containers and "
      "sandboxes too, can\n"
      "read the counters, and no log shows it. Counts reveal what other "
      "programs compute,\n"
      "cryptographic keys among it. Use it for an experiment, where all "
      "programs are trusted.\n"
      "Linux needs no such command: programs read their own events (see "
      "perf_event_open(2)).\n"
      "Example:\n"
      "  fleetperf-pmc rdpmc --for 10m");
}

absl::Status RunExperiment(const Experiment& experiment, Lab& lab, bool json) {
  ASSIGN_OR_RETURN(const Report report, experiment.run(lab));
  if (json) return Print(report.ToJson(experiment.name));
  return Print(absl::StrCat(experiment.name, ": ", experiment.summary, "\n\n",
                            report.ToText(), "\n"));
}

absl::StatusOr<int> RunExperiments(const Machine& machine,
                                   const Arguments& arguments) {
  if (arguments.list_experiments) {
    std::string text;
    for (const Experiment* experiment : Experiments()) {
      absl::StrAppend(&text, experiment->name, ": ", experiment->summary, "\n",
                      experiment->text, "\n\n");
    }
    RETURN_IF_ERROR(Print(text));
    return 0;
  }
  Lab lab(
      machine, arguments.quick,
      arguments.allow_rdpmc ? RdpmcAccess::kAllPrograms : RdpmcAccess::kAsItIs);
  for (const Experiment* experiment : Experiments()) {
    if (arguments.experiment != nullptr && arguments.experiment != experiment) {
      continue;
    }
    RETURN_IF_ERROR(RunExperiment(*experiment, lab, arguments.json));
  }
  return 0;
}

void AddExperiments(Command& app, const Machine& machine,
                    Arguments& arguments) {
  const auto run_all = [&] {
    arguments.run = [&] { return RunExperiments(machine, arguments); };
  };
  Command command = app.AddCommand(
      "experiments", "Show what counters mean, by small pieces of code",
      run_all);
  AddJson(command, arguments);
  command.AcceptParentOptions();
  command.AddFlag("--quick", &arguments.quick,
                  "Less work: milliseconds instead of seconds each");
  command.AddFlag("--allow-rdpmc", &arguments.allow_rdpmc,
                  "Let all programs of this machine read the counters "
                  "meanwhile, which back-to-back and factorial need "
                  "(Windows)");
  command.AddFlag("--list", &arguments.list_experiments,
                  "Print what each experiment measures and expects");
  for (const Experiment* experiment : Experiments()) {
    Command one = command.AddCommand(experiment->name, experiment->summary,
                                     [&arguments, experiment, run_all] {
                                       arguments.experiment = experiment;
                                       run_all();
                                     });
    one.SetFooter(experiment->text);
  }
  command.SetFooter(
      "Without a name, all run in this order, which takes minutes. A part that "
      "needs a PMU\n"
      "says so on a machine without one.\n"
      "Examples:\n"
      "  fleetperf-pmc experiments --quick\n"
      "  fleetperf-pmc experiments strides\n"
      "  fleetperf-pmc experiments strides --help");
}

int Fail(absl::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "fleetperf-pmc: %s\n", Printable(message).c_str());
  return kFailedStatus;
}

}  // namespace

int RunCommandLine(int argc, char** argv, const Machine& machine) {
  Arguments arguments;
  Command app("fleetperf-pmc", "Hardware counters of this machine.");
  app.SetFooter(
      "Examples:\n"
      "  fleetperf-pmc list\n"
      "  fleetperf-pmc stat -- ls -l\n"
      "  fleetperf-pmc top\n"
      "  fleetperf-pmc experiments factorial\n"
      "Run a command with --help to see its flags and examples.");
  AddList(app, machine, arguments);
  AddStat(app, machine, arguments);
  AddTop(app, machine, arguments);
  AddRdpmc(app, machine, arguments);
  AddExperiments(app, machine, arguments);
  if (const auto status = app.Parse(
          argc, argv, [](const std::string& error) { return Fail(error); })) {
    return *status;
  }
  const absl::StatusOr<int> status = arguments.run();
  return status.ok() ? *status : Fail(status.status().message());
}

}  // namespace fleetperf::pmc
