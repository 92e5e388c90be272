#include "aggregator/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/collect.h"
#include "aggregator/cli/commands.h"
#include "base/daemon.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/version.h"

namespace fleetperf::cli {
namespace {

// What the arguments say. Members live as long as the parser that fills them.
struct Arguments {
  ConnectionFlags connection;
  Format format = Format::kTable;
  std::string machine;
  bool verbose = false;
  std::string counterset;
  QueryFlags query;
  ExplainFlags explain;
  WatchFlags watch;
  std::string output;
  std::vector<std::string> files;
  CalcFlags calc;
  std::string directory;
  PkiFlags pki;
  std::function<absl::Status()> run;  // of the command that was given
};

const std::map<std::string, Format> kFormats = {
    {"table", Format::kTable}, {"csv", Format::kCsv}, {"json", Format::kJson}};

// Runs `command` with a connection.
std::function<absl::Status()> Connected(
    Arguments& arguments,
    std::function<absl::Status(const Connection&)> command) {
  return [&arguments, command = std::move(command)]() -> absl::Status {
    const auto connection = Connection::Open(arguments.connection);
    if (!connection.ok()) return connection.status();
    return command(*connection);
  };
}

CLI::App* AddCommand(CLI::App& parent, Arguments& arguments,
                     const std::string& name, const std::string& purpose,
                     const std::string& examples,
                     std::function<absl::Status()> run) {
  CLI::App* command = parent.add_subcommand(name, purpose);
  command->footer("Examples:\n" + examples);
  command->final_callback(
      [&arguments, run = std::move(run)] { arguments.run = run; });
  return command;
}

void AddFormat(CLI::App* command, Arguments& arguments) {
  command
      ->add_option("--format", arguments.format,
                   "table for people; csv and json for programs")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("table|csv|json");
}

void AddQueryFormat(CLI::App* command, Arguments& arguments) {
  std::map<std::string, Format> formats = kFormats;
  formats["pdh-csv"] = Format::kPdhCsv;
  command
      ->add_option("--format", arguments.format,
                   "table for people; csv and json for programs; pdh-csv for "
                   "perfmon and relog")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("table|csv|json|pdh-csv");
}

void AddMachine(CLI::App* command, Arguments& arguments) {
  command
      ->add_option("--machine", arguments.machine,
                   "Only these machines; * and ? are wildcards")
      ->type_name("NAME");
}

void AddListCommands(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* machines = AddCommand(
      app, arguments, "machines", "List the machines of the fleet",
      "  fleetperf machines\n"
      "  fleetperf machines --machine 'web-*' --format json\n"
      "  fleetperf machines --machine web-1 --verbose\n",
      Connected(arguments, [a](const Connection& connection) {
        return ListMachines(connection, a->format, a->machine, a->verbose);
      }));
  AddMachine(machines, arguments);
  machines->add_flag("--verbose", arguments.verbose,
                     "With the plan of each agent, and what became of its "
                     "queries");
  AddFormat(machines, arguments);

  CLI::App* countersets =
      AddCommand(app, arguments, "countersets", "List what can be counted",
                 "  fleetperf countersets\n"
                 "  fleetperf countersets --machine web-1\n",
                 Connected(arguments, [a](const Connection& connection) {
                   return ListCountersets(connection, a->format, a->machine);
                 }));
  AddMachine(countersets, arguments);
  AddFormat(countersets, arguments);

  CLI::App* counters = AddCommand(
      app, arguments, "counters", "List the counters of a counterset",
      "  fleetperf counters 'Processor Information'\n",
      Connected(arguments, [a](const Connection& connection) {
        return ListCounters(connection, a->format, a->counterset);
      }));
  counters->add_option("COUNTERSET", arguments.counterset, "Its name or {GUID}")
      ->required();
  AddFormat(counters, arguments);

  CLI::App* instances = AddCommand(
      app, arguments, "instances",
      "List the instances of a counterset that exist now",
      "  fleetperf instances 'Network Interface'\n"
      "  fleetperf instances 'Process V2' --machine web-1\n",
      Connected(arguments, [a](const Connection& connection) {
        return ListInstances(connection, a->format, a->counterset, a->machine);
      }));
  instances
      ->add_option("COUNTERSET", arguments.counterset, "Its name or {GUID}")
      ->required();
  AddMachine(instances, arguments);
  AddFormat(instances, arguments);
}

void AddQueryOptions(CLI::App* query, QueryFlags& flags);

void AddQueryCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* query = AddCommand(
      app, arguments, "query", "Values of the past",
      "  fleetperf query '\\Processor Information(_Total)\\% Processor Time' "
      "--since 1h --step 1m\n"
      "  fleetperf query '\\\\web-*\\Memory\\Available Bytes' --since 10m "
      "--over min\n"
      "  fleetperf query '\\Process V2(*)\\% Processor Time' --since 30s "
      "--top 5\n"
      "  fleetperf query '\\PhysicalDisk(*)\\Disk Bytes/sec' --since 1h --step "
      "1m --agg sum --by machine\n"
      "  fleetperf query '\\Processor Information(_Total)\\% Processor Time' "
      "--since 1h --agg p95 --by label:role\n"
      "  fleetperf query '\\LogicalDisk(*)\\% Free Space' --over min --where "
      "'< 10' --bottom 20\n"
      "  fleetperf query '\\PhysicalDisk(*)\\Disk Bytes/sec / "
      "\\PhysicalDisk(*)\\Disk Transfers/sec'\n"
      "  fleetperf query '\\System\\*' --from 2026-11-20T09:00:00Z "
      "--to 2026-11-20T10:00:00Z --format csv\n"
      "  fleetperf query '\\System\\Context Switches/sec' --since 10s --raw\n"
      "With --step, the table has a row for each series: the last, average, "
      "smallest and largest of\n"
      "its values and, on a terminal, their trend, in which gaps are dots. "
      "GAPS "
      "counts what is\n"
      "missing, CAUSE says why. For each value with its time: --format csv or "
      "json.\n",
      Connected(arguments, [a](const Connection& connection) {
        return Query(connection, a->format, a->query);
      }));
  AddQueryOptions(query, arguments.query);
  query->add_flag("--raw", arguments.query.raw,
                  "Raw samples with their clocks");
  query
      ->add_option("--collect", arguments.query.collect,
                   "As an operator: first have agents collect what is not "
                   "collected, so long; then answer about that time")
      ->type_name("DURATION");
  AddQueryFormat(query, arguments);
}

// What a query can ask for, of any command that queries.
void AddQueryOptions(CLI::App* query, QueryFlags& flags) {
  query
      ->add_option(
          "PATH", flags.paths,
          "Counter paths: \\\\machine\\counterset(instance)\\counter, "
          "where \\\\machine and (instance) may be missing and * and ? "
          "are wildcards. Or two in one argument with an operator between "
          "them: 'PATH / PATH'; also + - *")
      ->required();
  query
      ->add_option("--since", flags.since,
                   "Start so long ago, by each machine's clock (5m)")
      ->type_name("DURATION");
  query->add_option("--from", flags.from, "Start then")->type_name("TIME");
  query->add_option("--to", flags.to, "End then and not now")
      ->type_name("TIME");
  query
      ->add_option("--step", flags.step,
                   "One value each DURATION; without it, one for all of the "
                   "time; with no more than the sampling interval, one for "
                   "each sample")
      ->type_name("DURATION");
  query
      ->add_option("--over", flags.over,
                   "How values are combined in a step; without it, by the "
                   "counter's formula, which is exact for rates")
      ->type_name("avg|min|max|last|sum");
  query
      ->add_option("--top", flags.top,
                   "Only the N series with the largest values over all of the "
                   "time, without _Total")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  query
      ->add_option("--bottom", flags.bottom,
                   "Only the N series with the smallest")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  query
      ->add_option(
          "--where", flags.where,
          "Only series whose value over all of the time is >, >=, <, "
          "<=, = or != a number; with --over max, those that ever were")
      ->type_name("'> N'");
  query
      ->add_option("--agg", flags.agg,
                   "Combine the series of each counter into one, without "
                   "_Total; auto: as suits the counter")
      ->type_name("auto|avg|sum|min|max|count|p50|p90|p95|p99");
  query
      ->add_option("--by", flags.by,
                   "With --agg: keep these apart. Counters are, unless "
                   "counterset is given: then those of one unit are combined. "
                   "label:NAME is a label of the machine's agent")
      ->delimiter(',')
      ->type_name("machine|instance|counter|counterset|label:NAME,...");
  query->add_flag("--scale", flags.scale,
                  "Multiply by the counter's default scale, as graphs do");
  query->add_flag("--cap100", flags.cap100,
                  "Show percentages above 100 as 100, as PDH does by default");
}

void AddPlotCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* plot = AddCommand(
      app, arguments, "plot", "A chart of values of the past",
      "  fleetperf plot '\\Processor Information(_Total)\\% Processor Time' "
      "--since 1h\n"
      "  fleetperf plot '\\PhysicalDisk(*)\\Disk Bytes/sec' --since 1d --over "
      "max --agg sum --by machine --output disks.svg\n"
      "  fleetperf plot '\\\\web-1\\Memory\\Available Bytes' "
      "'\\\\web-1\\System\\Processes' --since 7d --output web-1.png\n"
      "  fleetperf plot '\\Process V2(*)\\% Processor Time' --since 10m --top "
      "5\n"
      "Each unit has a panel with an axis of its own. Where a line ends and "
      "begins again, there\n"
      "is a gap: fleetperf query with the same flags tells why. A line of the "
      "largest values of\n"
      "each step, by --over max, shows peaks that averages hide. Times are "
      "UTC.\n",
      Connected(arguments, [a](const Connection& connection) {
        return Plot(connection, a->query, a->output);
      }));
  AddQueryOptions(plot, arguments.query);
  plot->get_option("--step")->description(
      "One value each DURATION; without it, as many as there is room for");
  plot->add_option("--output", arguments.output,
                   "Draw in this file, which ends in .svg or .png; without it, "
                   "in the terminal")
      ->type_name("FILE");
}

void AddExplainCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* explain = AddCommand(
      app, arguments, "explain", "How a value came about: samples and formula",
      "  fleetperf explain '\\Processor Information(_Total)\\% Processor "
      "Time'\n"
      "  fleetperf explain '\\\\web-1\\Memory\\Page Faults/sec' --at "
      "2026-11-20T09:30:00Z\n",
      Connected(arguments, [a](const Connection& connection) {
        return Explain(connection, a->format, a->explain);
      }));
  explain->add_option("PATH", arguments.explain.path, "A counter path")
      ->required();
  explain
      ->add_option("--at", arguments.explain.at, "The value then and not now")
      ->type_name("TIME");
  AddFormat(explain, arguments);
}

absl::Status CollectAndWatch(const Connection& connection,
                             const Arguments& arguments, StopSignal* stop) {
  const WatchFlags& flags = arguments.watch;
  std::unique_ptr<Collecting> collecting;
  if (!flags.collect.empty()) {
    auto begun = Collecting::Begin(connection,
                                   {.paths = flags.paths,
                                    .duration = flags.collect,
                                    .interval = flags.interval},
                                   stop);
    if (absl::IsCancelled(begun.status())) return absl::OkStatus();
    if (!begun.ok()) return begun.status();
    collecting = *std::move(begun);
  }
  return Watch(connection, arguments.format, flags, stop);
}

void AddWatchCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* watch = AddCommand(
      app, arguments, "watch", "Values as they come, until Ctrl-C",
      "  fleetperf watch '\\Processor Information(*)\\% Processor Time'\n"
      "  fleetperf watch '\\\\web-*\\Network Interface(eth0)\\Bytes Total/sec' "
      "--interval 10s\n"
      "  fleetperf watch '\\Process V2(*)\\% Processor Time' --top 10\n"
      "  fleetperf watch '\\LogicalDisk(*)\\% Free Space' --where '< 10'\n"
      "  fleetperf watch '\\Memory\\Available Bytes' --since 10m --format "
      "json | jq .value\n"
      "  fleetperf watch '\\\\web-1\\Process V2(*)\\Handle Count' --collect "
      "60s\n"
      "On a terminal: s sorts by path, largest or smallest value, space and b "
      "turn pages, q ends.\n",
      [a]() -> absl::Status {
        StopSignal stop;  // before gRPC starts threads for the connection
        return Connected(*a, [&](const Connection& connection) {
          return CollectAndWatch(connection, *a, &stop);
        })();
      });
  watch->add_option("PATH", arguments.watch.paths, "Counter paths; see query")
      ->required();
  watch
      ->add_option("--interval", arguments.watch.interval,
                   "At most one value a series in this time")
      ->type_name("DURATION");
  watch
      ->add_option("--since", arguments.watch.since,
                   "First what came in this time, and then what comes")
      ->type_name("DURATION");
  watch
      ->add_option("--where", arguments.watch.where,
                   "Only while their newest values are >, >=, <, <=, = or != "
                   "a number")
      ->type_name("'> N'");
  watch
      ->add_option("--top", arguments.watch.top,
                   "Only the N series with the largest newest values, without "
                   "_Total")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  watch
      ->add_option("--bottom", arguments.watch.bottom,
                   "Only the N series with the smallest")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  watch->add_flag("--raw", arguments.watch.raw,
                  "Raw samples with their clocks; in csv or json");
  watch
      ->add_option("--collect", arguments.watch.collect,
                   "As an operator: have agents collect what is not collected, "
                   "while this runs and at most so long")
      ->type_name("DURATION");
  AddFormat(watch, arguments);
}

void AddDecodeCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* decode = AddCommand(
      app, arguments, "decode",
      "Show what is in blocks of PerfQueryCounterData",
      "  fleetperf decode capture/*/*.block\n"
      "  fleetperf decode --format json 000000001.block | jq -c .value\n"
      "fleetperf-agent --capture DIR keeps the blocks that it reads.\n",
      [a] { return Decode(a->format, a->files); });
  decode->add_option("FILE", arguments.files, "Each file is one block")
      ->required();
  AddFormat(decode, arguments);
}

void AddCalcCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* calc = AddCommand(
      app, arguments, "calc",
      "Calculate values from raw samples on standard input",
      "  echo '{\"type\":\"PERF_COUNTER_COUNTER\",\"data_size\":4,"
      "\"raw0\":{\"data\":100,\"time\":10000000,\"freq\":10000000},"
      "\"raw1\":{\"data\":150,\"time\":30000000,\"freq\":10000000}}' "
      "| fleetperf calc\n"
      "A JSON object a line: type (a name or number), data_size (4 or 8), raw0 "
      "and raw1, the\n"
      "older and the newer sample: data, time (the clock or base that the type "
      "uses), freq,\n"
      "multi. What the type does not use may be left out. Optional: type0 (the "
      "older sample's\n"
      "type), base_size (with 4, a base wraps).\n"
      "docs/counters.md has the formulas.\n",
      [a] { return Calc(a->calc); });
  calc->add_flag(
      "--wrap32", arguments.calc.wrap32,
      "4-byte data that fell by less than half of its range wrapped");
}

std::string DefaultPkiDirectory() {
  const char* home = std::getenv("HOME");
  return absl::StrCat(home != nullptr ? home : ".", "/.config/fleetperf/pki");
}

void AddPkiOptions(CLI::App* command, PkiFlags& flags) {
  command
      ->add_option("--directory", flags.directory,
                   "Where the authority is (~/.config/fleetperf/pki)")
      ->type_name("DIR");
  command->add_option("--valid", flags.valid, "Until then it is valid")
      ->type_name("DURATION");
  command->add_flag("--force", flags.force, "Replace files that exist");
}

void AddBackupCommand(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* backup =
      AddCommand(app, arguments, "backup",
                 "Copy the aggregator's store while it runs, as an operator",
                 "  fleetperf backup /backup/monday --certificate "
                 "operator-alice.pem --key "
                 "operator-alice.key\n"
                 "Back again: fleetperf-aggregator restore --help\n",
                 Connected(arguments, [a](const Connection& connection) {
                   return Backup(connection, a->directory);
                 }));
  backup
      ->add_option("DIRECTORY", arguments.directory,
                   "An absolute path of the aggregator's machine, of what does "
                   "not exist yet")
      ->required();
}

void AddStatusCommands(CLI::App& app, Arguments& arguments) {
  Arguments* a = &arguments;
  CLI::App* status = AddCommand(
      app, arguments, "status", "Show the state of the aggregator itself",
      "  fleetperf status\n"
      "  fleetperf status --format json\n",
      Connected(arguments, [a](const Connection& connection) {
        return ShowStatus(connection, a->format);
      }));
  AddFormat(status, arguments);
  AddCommand(
      app, arguments, "confirm-clock",
      "Say that the aggregator's clock is right, as an operator: old "
      "samples, which it keeps since its clock jumped ahead, are removed "
      "again. fleetperf status shows the time",
      "  fleetperf confirm-clock --certificate operator-alice.pem --key "
      "operator-alice.key\n",
      Connected(arguments, [](const Connection& connection) {
        return ConfirmClock(connection);
      }));
}

void AddPkiCommands(CLI::App& app, Arguments& arguments) {
  PkiFlags& flags = arguments.pki;
  flags.directory = DefaultPkiDirectory();
  flags.name = "fleetperf authority";
  CLI::App* pki =
      app.add_subcommand("pki", "Make the certificates of mutual TLS");
  pki->require_subcommand(1);
  CLI::App* init =
      AddCommand(*pki, arguments, "init", "Make a certificate authority",
                 "  fleetperf pki init --directory pki\n",
                 [&flags] { return PkiInit(flags); });
  init->add_option("--name", flags.name, "The authority's name")
      ->type_name("NAME");
  AddPkiOptions(init, flags);

  CLI::App* issue = AddCommand(
      *pki, arguments, "issue", "Issue a certificate",
      "  fleetperf pki issue aggregator aggregator.example localhost "
      "127.0.0.1\n"
      "  fleetperf pki issue agent web-1\n"
      "  fleetperf pki issue reader alice --valid 90d\n",
      [&flags] { return PkiIssue(flags); });
  issue
      ->add_option("ROLE", flags.role, "agent, aggregator, reader, or operator")
      ->required();
  issue
      ->add_option("NAME", flags.names,
                   "An agent's machine, the host names and addresses of an "
                   "aggregator, a person")
      ->required();
  issue
      ->add_option("--output", flags.output,
                   "Write FILE.pem and FILE.key (ROLE-NAME in the directory)")
      ->type_name("FILE");
  AddPkiOptions(issue, flags);
}

void AddConnectionOptions(CLI::App& app, ConnectionFlags& flags) {
  app.add_option("--config", flags.config,
                 "Where to find the aggregator (FLEETPERF_CONFIG, "
                 "~/.config/fleetperf/config.yaml)")
      ->type_name("FILE");
  app.add_option("--aggregator", flags.aggregator, "Its address")
      ->type_name("HOST:PORT");
  app.add_option("--authority", flags.tls.authority,
                 "The authority's certificate")
      ->type_name("FILE");
  app.add_option("--certificate", flags.tls.certificate, "Your certificate")
      ->type_name("FILE");
  app.add_option("--key", flags.tls.key, "Its key")->type_name("FILE");
}

// What is wrong with the arguments, and what would have been right.
std::string Explain(CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> remaining = app.remaining(true);
  if (remaining.empty()) {
    return absl::StrCat(error.what(), "; see fleetperf --help");
  }
  std::vector<std::string> names;
  const auto add_names = [&](const CLI::App* command) {
    for (const CLI::Option* option : command->get_options()) {
      names.push_back(option->get_name(false, true));
    }
  };
  add_names(&app);
  const std::vector<CLI::App*> given = app.get_subcommands();
  for (const CLI::App* command : given) add_names(command);
  if (given.empty()) {
    for (const CLI::App* command :
         app.get_subcommands([](CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
  }
  const std::string& wrong = remaining.front();
  const std::string flag = wrong.substr(0, wrong.find('='));
  const std::string nearest = DidYouMean(flag, names);
  return absl::StrCat("unknown flag, command or argument \"", wrong, "\"",
                      nearest, nearest.empty() ? "; see" : " See",
                      " fleetperf --help");
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Performance counters of a fleet.", "fleetperf");
  app.set_version_flag("--version", std::string("fleetperf ") + kVersion);
  app.fallthrough();  // connection flags may follow the command
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fleetperf machines\n"
      "  fleetperf query '\\Processor Information(_Total)\\% Processor Time' "
      "--since 5m --step 10s\n"
      "  fleetperf watch '\\Process V2(*)\\% Processor Time'\n"
      "Each command has --help with examples.");
  AddConnectionOptions(app, arguments.connection);
  AddListCommands(app, arguments);
  AddQueryCommand(app, arguments);
  AddPlotCommand(app, arguments);
  AddExplainCommand(app, arguments);
  AddWatchCommand(app, arguments);
  AddDecodeCommand(app, arguments);
  AddCalcCommand(app, arguments);
  AddBackupCommand(app, arguments);
  AddStatusCommands(app, arguments);
  AddPkiCommands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "fleetperf: %s\n", Explain(app, error).c_str());
    return 2;
  }
  const absl::Status status = arguments.run();
  if (status.ok()) return 0;
  std::fflush(stdout);
  if (!status.message().empty()) {
    std::fprintf(stderr, "fleetperf: %s\n",
                 Printable(status.message()).c_str());
  }
  return 1;
}

}  // namespace fleetperf::cli
