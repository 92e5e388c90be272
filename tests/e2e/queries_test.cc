// Tests of `fleetperf query` as users type it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Queries, AggregateFilterAndCalculate) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box", "labels: {role: test}\n");
  deployment.WaitForSamples("box");
  const auto ask = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"query", "--since", "1h"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return deployment.Json(arguments);
  };
  const auto by_role = ask(
      {"\\System\\Processes", "--agg", "p95", "--by", "label:role,counter"});
  ASSERT_THAT(by_role, SizeIs(1));
  EXPECT_EQ(by_role[0].at("labels").at("role"), "test");
  EXPECT_GT(by_role[0].at("value"), 0);

  const auto one = ask({"\\System\\Processes / \\System\\Processes"});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].at("value"), 1);
  EXPECT_EQ(one[0].at("path"), "\\System\\Processes / \\System\\Processes");

  // 1000 - p, with p from the same samples, and the average of p and p.
  const auto p = ask({"\\System\\Processes", "1000 - '\\System\\Processes'",
                      "(\\System\\Processes + \\System\\Processes) / 2"});
  ASSERT_THAT(p, SizeIs(3));
  EXPECT_EQ(p[0].at("path"), "(\\System\\Processes + \\System\\Processes) / 2");
  EXPECT_EQ(p[0].at("value"), p[2].at("value"));
  EXPECT_EQ(p[1].at("path"), "1000 - \\System\\Processes");
  EXPECT_DOUBLE_EQ(p[1].at("value").get<double>(),
                   1000 - p[2].at("value").get<double>());
  // Spaces inside parentheses, and what follows a counter that is known.
  const auto spaced =
      ask({"( \\System\\Threads - 1 ) * 2", "\\System\\Threads"});
  ASSERT_THAT(spaced, SizeIs(2));
  EXPECT_DOUBLE_EQ(spaced[0].at("value").get<double>(),
                   (spaced[1].at("value").get<double>() - 1) * 2);
  const auto no_operand =
      deployment.Fleetperf({"query", "\\System\\Threads - x"});
  EXPECT_EQ(no_operand.status, 1);
  EXPECT_THAT(no_operand.error,
              HasSubstr("ends there because \\System\\Threads is a counter"));
  const auto watched =
      deployment.Fleetperf({"watch", "\\System\\Processes / 2"});
  EXPECT_EQ(watched.status, 1);
  EXPECT_THAT(watched.error, HasSubstr("possible only in queries"));

  EXPECT_THAT(ask({"\\System\\Processes", "--where", ">0"}), SizeIs(1));
  EXPECT_EQ(
      deployment.Fleetperf({"query", "\\System\\Processes", "--where", "<= 0"})
          .status,
      2);

  // A wildcard of a check does not select _Total.
  const auto check = [&](const std::string& instance) {
    return deployment
        .Fleetperf({"check", "\\Processor Information(" + instance +
                                 ")\\% Processor Time"})
        .output;
  };
  EXPECT_THAT(check("*"),
              AllOf(HasSubstr("Information(0,0)"), Not(HasSubstr("_Total"))));
  EXPECT_THAT(check("_Total"), HasSubstr("Information(_Total)"));
  // Each counter has its own ranking.
  EXPECT_THAT(
      ask({"\\System\\Processes", "\\System\\Threads", "--bottom", "1"}),
      SizeIs(2));
}

TEST(Queries, EverydayWordsFindPaths) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box", "labels: {role: test}\n");
  deployment.WaitForSamples("box");
  const auto first = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"find"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const auto found = deployment.Json(arguments);
    if (found.empty()) return std::string();
    EXPECT_TRUE(found[0].at("collected").get<bool>()) << found[0];
    return found[0].at("path").get<std::string>();
  };
  EXPECT_EQ(first({"cpu", "usage"}),
            "\\Processor Information(*)\\% Processor Time");
  EXPECT_EQ(first({"iowait"}), "\\Processor Information(*)\\% IO Wait Time");
  EXPECT_EQ(first({"memory used"}), "\\Memory\\Used Bytes");
  EXPECT_EQ(first({"role=test"}), "\\\\box");
  const std::string agents = first({"fleetperf-agent"});
  EXPECT_THAT(agents, StartsWith("\\Process V2(fleetperf-agent:"));
  EXPECT_FALSE(deployment.Json({"query", agents, "--since", "1h"}).empty());
  const Result nothing = deployment.Fleetperf({"find", "xyzzy"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.error, HasSubstr("nothing matches 'xyzzy'"));
  // Errors know the same words.
  const Result wrong =
      deployment.Fleetperf({"query", "\\CPU(_Total)\\% Processor Time"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.error, HasSubstr("did you mean \"Processor Information\""));
  const Result words = deployment.Fleetperf({"query", "cpu usage"});
  EXPECT_EQ(words.status, 1);
  EXPECT_THAT(words.error, HasSubstr("fleetperf find 'cpu usage'"));
}

TEST(Queries, MissingPathsAreReportedAndTheRestIsAnswered) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const auto ask = [&](const std::string& format) {
    return deployment.Fleetperf(
        {"query", "\\System\\Processes", "\\\\bax\\System\\Processes",
         "\\Process V2(no such process)\\Thread Count",
         // An instance of Process V2, but not of this counterset.
         "\\Processor Information(kthreadd)\\% Processor Time", "--since", "1h",
         "--format", format});
  };
  const Result table = ask("table");
  EXPECT_EQ(table.status, 2);
  EXPECT_THAT(table.output, HasSubstr("Processes"));
  EXPECT_THAT(
      table.error,
      AllOf(
          HasSubstr("fleetperf: \\\\bax\\System\\Processes: there is no "
                    "machine \"bax\"; did you mean \"box\"?"),
          HasSubstr("there was no instance \"no such process\""),
          HasSubstr("Processor Information(kthreadd)\\% Processor Time: there "
                    "was no instance \"kthreadd\"")));
  const Result json = ask("json");
  EXPECT_EQ(json.status, 2);
  std::vector<std::string> missing;
  size_t values = 0;
  for (const absl::string_view text :
       absl::StrSplit(json.output, '\n', absl::SkipEmpty())) {
    const auto line = nlohmann::json::parse(text.begin(), text.end());
    if (line.at("status") == "missing") {
      missing.push_back(line.at("path"));
      EXPECT_NE(line.at("reason"), "");
      EXPECT_TRUE(line.at("value").is_null());
    } else {
      ++values;
    }
  }
  EXPECT_EQ(values, 1);
  EXPECT_THAT(missing,
              ElementsAre("\\\\bax\\System\\Processes",
                          "\\Process V2(no such process)\\Thread Count",
                          "\\Processor Information(kthreadd)\\% Processor "
                          "Time"));
}

TEST(Queries, EndedCollectionIsSaid) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const std::string query = "queries: [{counterset: System, counters: [";
  const std::string processes = "\\System\\Processes";
  {
    const auto agent =
        deployment.StartAgent("box", query + "Processes, Threads]}]\n");
    deployment.WaitForSamples("box");
    agent->Signal(SIGTERM);
    EXPECT_EQ(agent->Wait(), 0);
  }
  const auto agent = deployment.StartAgent("box", query + "Threads]}]\n");
  const auto collected = [&](const std::string& counter) {
    for (const auto& line : deployment.Json({"counters", "System"})) {
      // "yes" in versions whose JSON has no booleans.
      if (line.at("counter") == counter) {
        return line.at("collected") == "yes" || line.at("collected") == true;
      }
    }
    return false;
  };
  const auto watch = deployment.StartFleetperf({"watch", "\\System\\Threads"});
  while (collected("Processes")) {
    ASSERT_TRUE(watch->WaitForOutput("Threads"));
  }
  EXPECT_TRUE(collected("Threads"));
  Result ended;
  do {
    ended = deployment.Fleetperf({"query", processes, "--since", "3s"});
  } while (ended.status == 0);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.error,
              AllOf(HasSubstr(processes + ": this is no longer collected"),
                    HasSubstr("--collect 60s")));
}

TEST(Queries, MachinesAreSelectedByNameAndLabel) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto web = deployment.StartAgent("web-1", "labels: {role: web}\n");
  const auto db = deployment.StartAgent("db-1", "labels: {role: db}\n");
  deployment.WaitForSamples("web-1");
  deployment.WaitForSamples("db-1");
  const auto machines = [&](std::vector<std::string> arguments,
                            const std::vector<std::string>& flags) {
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::set<std::string> names;
    for (const auto& line : deployment.Json(arguments)) {
      names.insert(line.at("machine"));
    }
    return names;
  };
  const std::string path = "\\System\\Processes";
  const std::vector<std::vector<std::string>> kCommands = {
      {"machines"},
      {"instances", "Processor Information"},
      {"query", path, "--since", "1h"},
      {"query", path, "--since", "1h", "--raw"},
      {"explain", path},
      {"watch", path, "--count", "1"}};
  for (const std::vector<std::string>& command : kCommands) {
    SCOPED_TRACE(command[0]);
    EXPECT_THAT(machines(command, {"--label", "role=w*"}),
                ElementsAre("web-1"));
    EXPECT_THAT(machines(command, {"--machine", "db-*"}), ElementsAre("db-1"));
  }
  for (const auto& line :
       deployment.Json({"countersets", "--label", "role=db"})) {
    EXPECT_TRUE(line.at("machines") == 1) << line;
  }
  const auto plot = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"plot", path,     "--since",
                                          "1h",   "--step", "1s"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Result result = deployment.Fleetperf(arguments);
    EXPECT_EQ(result.status, 0) << result.error;
    return result.output;
  };
  // One line of a chart is named in its title, several in a legend.
  EXPECT_THAT(plot({"--label", "role=w*"}),
              AllOf(HasSubstr("web-1"), Not(HasSubstr("db-1"))));
  EXPECT_THAT(plot({"--machine", "db-*"}),
              AllOf(HasSubstr("db-1"), Not(HasSubstr("web-1"))));
  EXPECT_THAT(plot({}), AllOf(HasSubstr("web-1"), HasSubstr("db-1")));
  const Result none = deployment.Fleetperf(
      {"query", path, "--machine", "web-*", "--label", "role=db"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.error, HasSubstr("there is no machine \"web-*\" with label "
                                    "role=db; see: fleetperf machines"));
  EXPECT_THAT(deployment.Fleetperf({"query", path, "--label", "role"}).error,
              HasSubstr("--label: \"role\" is not NAME=VALUE"));
}

TEST(Queries, TimesMayBeRelativeAndLocal) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const auto ask = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"query", "\\System\\Processes",
                                          "--step", "1s"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return deployment.Json(arguments);
  };
  const auto relative = ask({"--from", "-5m"});
  ASSERT_FALSE(relative.empty());
  const absl::Time first = TimeOf(relative[0]);
  // The same second, in other forms.
  const int64_t start = absl::ToUnixSeconds(first - absl::Seconds(2));
  EXPECT_EQ(TimeOf(ask({"--from", absl::StrCat(start)})[0]), first);
  EXPECT_EQ(TimeOf(ask({"--from", absl::FormatTime("%H:%M:%S",
                                                   absl::FromUnixSeconds(start),
                                                   absl::UTCTimeZone())})[0]),
            first);
  const Result local = RunCommand(
      {Deployment::Executable("fleetperf"), "query", "\\System\\Processes",
       "--from", "-5m", "--step", "1s", "--format", "json", "--local"},
      {{"FLEETPERF_CONFIG", deployment.File("config.yaml")},
       {"TZ", "Asia/Kathmandu"}});
  EXPECT_EQ(local.status, 0) << local.error;
  EXPECT_THAT(local.output, HasSubstr("+05:45\""));
}

TEST(Queries, ConditionsMayHaveUnits) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const auto ask = [&](const std::string& where) {
    return deployment.Fleetperf({"query", "\\Memory\\Available Bytes",
                                 "--since", "1h", "--format", "json", "--where",
                                 where});
  };
  EXPECT_THAT(ask("> 1 KiB").output, HasSubstr("Available Bytes"));
  EXPECT_EQ(ask("< 1KiB").output, "");
  EXPECT_EQ(ask("< 1KiB").status, 2);
  EXPECT_THAT(ask("> 5 %").error,
              HasSubstr("5 % cannot be compared with the values of \\Memory"
                        "\\Available Bytes, which are in B"));
  EXPECT_THAT(ask("> 5 furlongs").error,
              HasSubstr("--where: \"furlongs\" is not a unit"));
  const Result watch = deployment.Fleetperf(
      {"watch", "\\Memory\\Available Bytes", "--where", "> 5ms"});
  EXPECT_EQ(watch.status, 1);
  EXPECT_THAT(watch.error, HasSubstr("5 ms cannot be compared with"));
}

TEST(Queries, InvalidFlagsAreNamed) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto message = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"query", "\\System\\Processes"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Result result = deployment.Fleetperf(arguments);
    EXPECT_EQ(result.status, 1);
    return result.error;
  };
  EXPECT_THAT(message({"--where", "90"}),
              HasSubstr("--where: \"90\" is not >, >=, <, <=, = or != and a "
                        "number"));
  EXPECT_THAT(message({"--where", "> much"}), HasSubstr("--where: \"> much\""));
  EXPECT_THAT(message({"--where", "> nan"}), HasSubstr("--where: \"> nan\""));
  EXPECT_THAT(message({"--agg", "p42"}), HasSubstr("--agg: \"p42\" is not"));
  EXPECT_THAT(message({"--agg", "sum", "--by", "label:"}),
              HasSubstr("--by: \"label:\" is not machine, instance, name, "
                        "counter, counterset or label:NAME"));
  EXPECT_THAT(message({"--top", "1", "--bottom", "1"}),
              HasSubstr("--top and --bottom exclude each other"));
  EXPECT_THAT(message({"--raw", "--where", "> 1"}),
              HasSubstr("--raw returns unprocessed samples"));
}

}  // namespace
}  // namespace fleetperf::testing
