#include "driver/pmc/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/parse_arguments.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "base/version.h"
#include "driver/pmc/experiments/experiment.h"
#include "driver/pmc/list.h"
#include "driver/pmc/pcm_row.h"
#include "driver/pmc/stat.h"
#include "driver/pmc/table.h"
#include "driver/pmc/top.h"

namespace fleetperf::pmc {
namespace {

constexpr int kFailedStatus = 1;

struct Arguments {
  bool json = false;
  StatOptions stat;
  TopOptions top;
  std::string interval = "1s";
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

void AddJson(CLI::App* command, Arguments& arguments) {
  command->add_flag("--json", arguments.json, "Print JSON instead of text");
}

void AddList(CLI::App& app, const Machine& machine, Arguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "list", "Show what this CPU and this system can count");
  AddJson(command, arguments);
  command->footer(
      "Examples:\n"
      "  fleetperf-pmc list\n"
      "  fleetperf-pmc list --json");
  command->callback([&] {
    arguments.run = [&]() -> absl::StatusOr<int> {
      RETURN_IF_ERROR(Print(DescribeMachine(machine, arguments.json)));
      return 0;
    };
  });
}

void AddStat(CLI::App& app, const Machine& machine, Arguments& arguments) {
  CLI::App* const command =
      app.add_subcommand("stat", "Count what a command does");
  AddJson(command, arguments);
  command
      ->add_option("-e,--event", arguments.stat.events,
                   "An event, as perf names it; repeat for several (Linux)")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", arguments.stat.output,
                   "Write the counts to a file instead of standard error")
      ->type_name("FILE");
  command
      ->add_option("COMMAND", arguments.stat.command,
                   "The command and its arguments, after --")
      ->required();
  command->footer(
      "On Linux, events of the command and its children are counted; without a "
      "PMU, those of\n"
      "the kernel. On Windows, events of all CPUs while the command runs.\n"
      "The exit status is that of the command.\n"
      "Examples:\n"
      "  fleetperf-pmc stat -- ls -l\n"
      "  fleetperf-pmc stat -e instructions:u -e page-faults -- make\n"
      "  fleetperf-pmc stat --json -o counts.json -- ./benchmark");
  command->callback([&] {
    arguments.run = [&] {
      arguments.stat.json = arguments.json;
      return RunStat(machine, arguments.stat);
    };
  });
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

void AddTop(CLI::App& app, const Machine& machine, Arguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "top", "Show a table of all CPUs, with the columns of Intel PCM");
  AddJson(command, arguments);
  command->add_option("--interval", arguments.interval, "The time of a table")
      ->type_name("DURATION")
      ->capture_default_str();
  AddCount(command, "--count", &arguments.top.count,
           "How many tables (default: until Ctrl-C)");
  command->footer(TopFooter());
  command->callback([&] {
    arguments.run = [&]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(arguments.top.interval,
                       ParseDuration(arguments.interval));
      if (arguments.top.interval < absl::Milliseconds(1)) {
        return absl::InvalidArgumentError("--interval must be at least 1ms");
      }
      arguments.top.json = arguments.json;
      RETURN_IF_ERROR(RunTop(machine, arguments.top));
      return 0;
    };
  });
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

void AddExperiments(CLI::App& app, const Machine& machine,
                    Arguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "experiments", "Show what counters mean, by small pieces of code");
  AddJson(command, arguments);
  command->fallthrough();
  command->add_flag("--quick", arguments.quick,
                    "Less work: milliseconds instead of seconds each");
  command->add_flag("--allow-rdpmc", arguments.allow_rdpmc,
                    "Let all programs of this machine read the counters "
                    "meanwhile, which back-to-back and factorial need "
                    "(Windows)");
  command->add_flag("--list", arguments.list_experiments,
                    "Print what each experiment measures and expects");
  for (const Experiment* experiment : Experiments()) {
    CLI::App* const one =
        command->add_subcommand(experiment->name, experiment->summary);
    one->footer(experiment->text);
    one->callback(
        [&arguments, experiment] { arguments.experiment = experiment; });
  }
  command->footer(
      "Without a name, all run in this order, which takes minutes. A part that "
      "needs a PMU\n"
      "says so on a machine without one.\n"
      "Examples:\n"
      "  fleetperf-pmc experiments --quick\n"
      "  fleetperf-pmc experiments strides\n"
      "  fleetperf-pmc experiments strides --help");
  command->callback([&] {
    arguments.run = [&] { return RunExperiments(machine, arguments); };
  });
}

int Fail(absl::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "fleetperf-pmc: %s\n", Printable(message).c_str());
  return kFailedStatus;
}

}  // namespace

int RunCommandLine(int argc, char** argv, const Machine& machine) {
  Arguments arguments;
  CLI::App app("Hardware counters of this machine.", "fleetperf-pmc");
  app.set_version_flag("--version", std::string("fleetperf-pmc ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fleetperf-pmc list\n"
      "  fleetperf-pmc stat -- ls -l\n"
      "  fleetperf-pmc top\n"
      "  fleetperf-pmc experiments factorial\n"
      "Run a command with --help to see its flags and examples.");
  AddList(app, machine, arguments);
  AddStat(app, machine, arguments);
  AddTop(app, machine, arguments);
  AddExperiments(app, machine, arguments);
  if (const auto status = ParseArguments(
          app, argc, argv,
          [](const std::string& error) { return Fail(error); })) {
    return *status;
  }
  const absl::StatusOr<int> status = arguments.run();
  return status.ok() ? *status : Fail(status.status().message());
}

}  // namespace fleetperf::pmc
