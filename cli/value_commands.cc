#include <memory>
#include <string>

#include "base/daemon/command_parser.h"
#include "base/daemon/daemon.h"
#include "cli/arguments.h"
#include "cli/collect.h"

namespace fleetperf::cli {
namespace {

constexpr char kTimes[] =
    "A TIME is 2026-11-20T21:49:00Z, 2026-11-20, 21:49 (the latest such time), "
    "-5m (five minutes\n"
    "ago), 1795211340 (seconds since 1970) or now; in UTC, or in the local "
    "zone "
    "with --local.\n";

// Adds the options of all commands that query values. `step` describes --step.
void AddQueryOptions(Command& query, QueryFlags& flags,
                     const std::string& step) {
  query
      .AddList("PATH", &flags.paths,
               "Counter paths: \\\\machine\\counterset(instance)\\counter, "
               "where \\\\machine and (instance) are optional and * and ? "
               "are wildcards. Or arithmetic in one argument: "
               "'PATH / PATH', '100 - PATH', '(PATH + PATH) / 2'")
      .Require();
  query
      .AddText("--since", &flags.since,
               "Start this long ago, by each machine's clock (5m)")
      .SetType("DURATION");
  query.AddText("--from", &flags.from, "Start at this time").SetType("TIME");
  query.AddText("--to", &flags.to, "End at this time instead of now")
      .SetType("TIME");
  query.AddText("--step", &flags.step, step).SetType("DURATION");
  query
      .AddText("--over", &flags.over,
               "How to combine the values in a step. Default: the "
               "counter's formula, which is exact for rates")
      .SetType("avg|min|max|last|sum");
  query.AddNumber("--top", &flags.top,
                  "Only the N series of each counter with the largest values "
                  "over the whole time, without _Total; SHARE is the value "
                  "times its presence");
  query.AddNumber("--bottom", &flags.bottom,
                  "Only the N series of each counter with the smallest "
                  "values");
  query
      .AddText("--where", &flags.where,
               "Only series whose value over the whole time is >, >=, <, "
               "<=, = or != a number, which may have a unit ('> 1.5 GiB', "
               "'< 10ms'); with --over max, their largest value")
      .SetType("'> N'");
  query
      .AddText("--agg", &flags.agg,
               "Combine the series of each counter into one, without "
               "_Total; auto: depends on the counter")
      .SetType("auto|avg|sum|min|max|count|p50|p90|p95|p99");
  query
      .AddList(
          "--by", &flags.by,
          "With --agg: group by these. Counters are separate, unless "
          "counterset is given: then counters with the same unit are combined. "
          "name is the instance's name without a process id. label:NAME is a "
          "label of the machine's agent")
      .SplitAt(',')
      .SetType("machine|instance|name|counter|counterset|label:NAME,...");
  query.AddFlag("--scale", &flags.scale,
                "Multiply by the counter's default scale, as in graphs");
  query.AddFlag("--cap100", &flags.cap100,
                "Show percentages above 100 as 100, as PDH does by default");
  AddMachines(query, flags.machines);
}

void AddQueryCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command query = AddCommand(
      app, arguments, "query", "Query stored values",
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
      "  fleetperf query '100 - \\LogicalDisk(*)\\% Free Space'\n"
      "  fleetperf query '\\System\\*' --from 2026-11-20T09:00:00Z "
      "--to 2026-11-20T10:00:00Z --format csv\n"
      "  fleetperf query '\\System\\Context Switches/sec' --since 10s --raw\n"
      "  fleetperf query '\\PhysicalDisk(*)\\Disk *' --since 10s --pivot\n"
      "With --step, the table has one row per series: the last, average, "
      "smallest and largest\n"
      "value and, on a terminal, the trend, in which gaps are blank. GAPS "
      "counts missing values,\n"
      "CAUSE is the reason. COVERED is the part of the asked time that a value "
      "covers, if that is not\n"
      "all of it. To print every value with its time: --format csv or json.\n" +
          std::string(kTimes),
      Connected(arguments, [a](const Aggregators& aggregators) {
        return Query(aggregators, a->format, a->query);
      }));
  AddQueryOptions(query, arguments.query,
                  "One value per DURATION. Default: one for the whole time. "
                  "At or below the sampling interval: one for each sample");
  query.AddFlag("--raw", &arguments.query.raw, "Raw samples with their clocks");
  query.AddFlag("--pivot", &arguments.query.pivot,
                "Counters as columns and instances as rows, as iostat -x has "
                "them; in table or csv");
  query
      .AddText("--collect", &arguments.query.collect,
               "First make agents collect the counters for this long, then "
               "query that time (operators only)")
      .SetType("DURATION");
  AddFormat(query, arguments, "table|csv|json|pdh-csv");
}

void AddPlotCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command plot = AddCommand(
      app, arguments, "plot", "Draw a chart of stored values",
      "  fleetperf plot '\\Processor Information(_Total)\\% Processor Time' "
      "--since 1h\n"
      "  fleetperf plot '\\PhysicalDisk(*)\\Disk Bytes/sec' --since 1d --over "
      "max --agg sum --by machine --output disks.svg\n"
      "  fleetperf plot '\\\\web-1\\Memory\\Available Bytes' "
      "'\\\\web-1\\System\\Processes' --since 7d --output web-1.png\n"
      "  fleetperf plot '\\Process V2(*)\\% Processor Time' --since 10m --top "
      "5\n"
      "Each unit has its own panel and axis. A break in a line is a gap; "
      "fleetperf query with\n"
      "the same flags shows its cause. A line of the largest values of each "
      "step (--over max)\n"
      "shows peaks that averages hide.\n" +
          std::string(kTimes),
      Connected(arguments, [a](const Aggregators& aggregators) {
        return Plot(aggregators, a->query, a->output);
      }));
  AddQueryOptions(
      plot, arguments.query,
      "One value per DURATION. Default: as many as the chart can show");
  plot.AddText("--output", &arguments.output,
               "Draw to this .svg or .png file. Default: "
               "the terminal")
      .SetType("FILE");
}

void AddExplainCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command explain = AddCommand(
      app, arguments, "explain", "Explain a value: its samples and formula",
      "  fleetperf explain '\\Processor Information(_Total)\\% Processor "
      "Time'\n"
      "  fleetperf explain '\\\\web-1\\Memory\\Page Faults/sec' --at "
      "2026-11-20T09:30:00Z\n" +
          std::string(kTimes),
      Connected(arguments, [a](const Aggregators& aggregators) {
        return Explain(aggregators, a->format, a->explain);
      }));
  explain.AddText("PATH", &arguments.explain.path, "A counter path").Require();
  explain
      .AddText("--at", &arguments.explain.at,
               "The value at this time instead of now")
      .SetType("TIME");
  AddMachines(explain, arguments.explain.machines);
  AddFormat(explain, arguments);
}

absl::Status CollectAndWatch(const Aggregators& aggregators,
                             const Arguments& arguments, StopSignal* stop) {
  const WatchFlags& flags = arguments.watch;
  std::unique_ptr<Collecting> collecting;
  if (!flags.collect.empty()) {
    auto begun = Collecting::Begin(aggregators,
                                   {.paths = flags.paths,
                                    .duration = flags.collect,
                                    .interval = flags.interval,
                                    .machines = flags.machines},
                                   stop);
    if (absl::IsCancelled(begun.status())) return absl::OkStatus();
    if (!begun.ok()) return begun.status();
    collecting = *std::move(begun);
  }
  return Watch(aggregators, arguments.format, flags, stop);
}

void AddWatchCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command watch = AddCommand(
      app, arguments, "watch", "Show values as they arrive, until Ctrl-C",
      "  fleetperf watch '\\Processor Information(*)\\% Processor Time'\n"
      "  fleetperf watch '\\\\web-*\\Network Interface(eth0)\\Bytes Total/sec' "
      "--interval 10s\n"
      "  fleetperf watch '\\Process V2(*)\\% Processor Time' --top 10\n"
      "  fleetperf watch '\\LogicalDisk(*)\\% Free Space' --where '< 10'\n"
      "  fleetperf watch '\\Memory\\Available Bytes' --since 10m --format "
      "json | jq .value\n"
      "  fleetperf watch '\\\\web-1\\Process V2(*)\\Handle Count' --collect "
      "60s\n"
      "  fleetperf watch '\\System\\Processes' --label role=web --count 3 "
      "--format json\n"
      "  fleetperf watch '\\Memory\\Available Bytes' --interval 10s --format "
      "pdh-csv > memory.csv\n"
      "If the connection is lost, watch connects again and goes on.\n"
      "On a terminal: s sorts by path, largest or smallest value, space and b "
      "turn pages, q quits.\n",
      [a]() -> absl::Status {
        StopSignal stop;  // before gRPC starts threads for the connection
        return Connected(*a, [&](const Aggregators& aggregators) {
          return CollectAndWatch(aggregators, *a, &stop);
        })();
      });
  watch.AddList("PATH", &arguments.watch.paths, "Counter paths; see query")
      .Require();
  watch
      .AddText("--interval", &arguments.watch.interval,
               "At most one value per series in this time")
      .SetType("DURATION");
  watch
      .AddText("--since", &arguments.watch.since,
               "Start with the values of this time, then show new ones")
      .SetType("DURATION");
  watch
      .AddText("--where", &arguments.watch.where,
               "Only series while their newest value is >, >=, <, <=, = or != "
               "a number, which may have a unit ('> 1.5 GiB', '< 10ms')")
      .SetType("'> N'");
  watch.AddNumber("--top", &arguments.watch.top,
                  "Only the N series of each counter with the largest newest "
                  "values, without _Total");
  watch.AddNumber("--bottom", &arguments.watch.bottom,
                  "Only the N series of each counter with the smallest newest "
                  "values");
  watch.AddNumber("--count", &arguments.watch.count,
                  "End after N samples of each series; of pdh-csv, after N "
                  "rows");
  watch.AddText("--for", &arguments.watch.duration, "End after this time")
      .SetType("DURATION");
  AddMachines(watch, arguments.watch.machines);
  watch.AddFlag("--raw", &arguments.watch.raw,
                "Raw samples with their clocks; in csv or json");
  watch.AddFlag("--pivot", &arguments.watch.pivot,
                "Counters as columns and instances as rows, in a table");
  watch
      .AddText("--collect", &arguments.watch.collect,
               "Make agents collect the counters while this runs, at most "
               "this long (operators only)")
      .SetType("DURATION");
  AddFormat(watch, arguments, "table|csv|json|pdh-csv");
}

}  // namespace

void AddValueCommands(Command& app, Arguments& arguments) {
  AddQueryCommand(app, arguments);
  AddPlotCommand(app, arguments);
  AddExplainCommand(app, arguments);
  AddWatchCommand(app, arguments);
}

Command AddCheckCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command check = AddCommand(
      app, arguments, "check",
      "Compare values with thresholds, for cron and monitoring systems",
      "  fleetperf check '\\\\web-1\\Processor Information(_Total)\\% "
      "Processor "
      "Time' --warn '> 80' --critical '> 95'\n"
      "  fleetperf check '\\Memory\\Available Bytes' --machine 'web-*' --warn "
      "'< 2GiB' --critical '< 512MiB' --over last\n"
      "  fleetperf check '\\Process V2(*)\\% Processor Time' --warn '> 90' "
      "--where '> 1' --top 5\n"
      "  fleetperf check --missing\n"
      "Prints one line with performance data. The worst series decides. Exit "
      "status: 0 OK, 1 WARNING,\n"
      "2 CRITICAL, 3 UNKNOWN: stale or missing data, or an error. See "
      "docs/tasks/alerting.md.\n",
      [a]() -> absl::Status {
        a->exit_status = a->check.missing
                             ? CheckMissing(a->connection, a->check)
                             : Check(a->connection, a->check);
        return absl::OkStatus();
      });
  CheckFlags& flags = arguments.check;
  const Option paths =
      check.AddList("PATH", &flags.paths, "Counter paths; see query");
  check
      .AddFlag("--missing", &flags.missing,
               "CRITICAL if an expected machine sends no samples; in place of "
               "paths")
      .Exclude(paths);
  check
      .AddText("--warn", &flags.warn,
               "WARNING if a value is >, >=, <, <=, = or != a number")
      .SetType("'> N'");
  check.AddText("--critical", &flags.critical, "Same for CRITICAL")
      .SetType("'> N'");
  check
      .AddText("--stale", &flags.stale,
               "UNKNOWN if the newest sample is older than this (1m)")
      .SetType("DURATION");
  check
      .AddText("--since", &flags.since,
               "The time over which a value is calculated (5m)")
      .SetType("DURATION");
  check
      .AddText("--where", &flags.where,
               "Only series whose value is >, >=, <, <=, = or != a number")
      .SetType("'> N'");
  check.AddNumber("--top", &flags.top,
                  "Only the N series with the largest values. Default: all, "
                  "with performance data of the worst ten");
  AddMachines(check, flags.machines);
  check.AddText("--over", &flags.over, "As in query")
      .SetType("avg|min|max|last|sum");
  check.AddText("--agg", &flags.agg, "As in query")
      .SetType("auto|avg|sum|min|max|count|p50|p90|p95|p99");
  check.AddList("--by", &flags.by, "As in query")
      .SplitAt(',')
      .SetType("machine|instance|name|counter|counterset|label:NAME,...");
  return check;
}

}  // namespace fleetperf::cli
