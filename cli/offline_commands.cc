#include "cli/arguments.h"

namespace fleetperf::cli {
namespace {

void AddDecodeCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command decode = AddCommand(
      app, arguments, "decode",
      "Show the contents of PerfQueryCounterData blocks",
      "  fleetperf decode capture/*/*.block\n"
      "  fleetperf decode --format json 000000001.block | jq -c .value\n"
      "fleetperf-agent --capture DIR writes such blocks.\n",
      [a] { return Decode(a->format, a->files); });
  decode.AddList("FILE", &arguments.files, "Each file is one block").Require();
  AddFormat(decode, arguments);
}

void AddCalcCommand(Command& app, Arguments& arguments) {
  Arguments* a = &arguments;
  Command calc = AddCommand(
      app, arguments, "calc",
      "Calculate values from raw samples on standard input",
      "  echo '{\"type\":\"PERF_COUNTER_COUNTER\",\"data_size\":4,"
      "\"raw0\":{\"data\":100,\"time\":10000000,\"freq\":10000000},"
      "\"raw1\":{\"data\":150,\"time\":30000000,\"freq\":10000000}}' "
      "| fleetperf calc\n"
      "One JSON object per line: type (a name or number), data_size (4 or 8), "
      "raw0 and raw1,\n"
      "the older and the newer sample, with data, time (the clock or base of "
      "the type), freq\n"
      "and multi. Members that the type does not use may be omitted. "
      "Optional: type0 (the older\n"
      "sample's type), base_size (4: the base wraps).\n"
      "Also reads the lines of explain, query --raw and decode in --format "
      "json; there, the older\n"
      "sample is the series' previous line:\n"
      "  fleetperf query '\\Memory\\Page Faults/sec' --raw --format json | "
      "fleetperf calc\n"
      "  fleetperf decode --format json capture/*/*.block | fleetperf calc"
      "\n"
      "docs/reference/counters.md has the formulas.\n",
      [a] { return Calc(a->calc); });
  calc.AddText("--type", &arguments.calc.type,
               "The type of lines that have none, such as decode's")
      .SetType("PERF_...");
  calc.AddFlag(
      "--wrap32", &arguments.calc.wrap32,
      "Treat 4-byte data that fell by more than half of its range as wrapped");
}

}  // namespace

void AddOfflineCommands(Command& app, Arguments& arguments) {
  AddDecodeCommand(app, arguments);
  AddCalcCommand(app, arguments);
}

}  // namespace fleetperf::cli
