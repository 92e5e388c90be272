// Errors in arguments: each names the argument, its value and the next step.

#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fleetperf::cli {
namespace {

// Runs fleetperf, which must fail, and returns the message.
std::string ErrorOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fleetperf");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunCommandLine(static_cast<int>(argv.size()), argv.data()), 1);
  return ::testing::internal::GetCapturedStderr();
}

TEST(CommandLine, NamesTheInvalidArgument) {
  const std::string path = "\\System\\Processes";
  const struct {
    std::vector<std::string> arguments;
    const char* error;
  } kCases[] = {
      {{"query", path, "--top", "0"},
       "--top: \"0\" is not a whole number from 1 to 4294967295; see "
       "fleetperf query --help"},
      {{"query", path, "--bottom", "many"},
       "--bottom: \"many\" is not a whole number from 1 to 4294967295; see "
       "fleetperf query --help"},
      {{"machines", "--format", "xml"},
       "--format: \"xml\" is not table, csv or json; see fleetperf machines "
       "--help"},
      {{"query", path, "--format", "jsno"},
       "--format: \"jsno\" is not table, csv, json or pdh-csv; did you mean "
       "\"json\"? See fleetperf query --help"},
      {{"query", path, "--since", "5m", "--since", "10m"},
       "--since is given 2 times (5m, 10m); give it once; see fleetperf query "
       "--help"},
      {{"query", path, "--since"},
       "--since needs a value: --since DURATION; see fleetperf query --help"},
      {{"query"}, "PATH is missing; see fleetperf query --help"},
      {{"instances", "Network", "Interface"},
       "unknown argument \"Interface\"; quote a name that contains spaces; see "
       "fleetperf instances --help"},
      {{"query", path, "--cap10", "5m"},
       "unknown flag \"--cap10\"; did you mean \"--cap100\"? See fleetperf "
       "query --help"},
      {{"qurey"},
       "unknown command \"qurey\"; did you mean \"query\"? See fleetperf "
       "--help"},
      {{"machines", "--machine", "web-*", "forget", "web-1"},
       "machines forget takes the names of machines, without --machine, "
       "--label, --verbose and --format"},
      {{"machines", "--verbose", "forget", "web-1"},
       "machines forget takes the names of machines, without --machine, "
       "--label, --verbose and --format"},
      {{"pki"},
       "a command is missing: init, issue, revoke, token or serve; see "
       "fleetperf pki --help"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(ErrorOf(test.arguments),
              std::string("fleetperf: ") + test.error + "\n");
  }
}

// The aggregator's address is the first setting that a command checks.
TEST(CommandLine, TakesFlagsBeforeAndAfterTheCommand) {
  const std::vector<std::string> connection = {
      "--aggregator",  "host:99999", "--authority", "a",
      "--certificate", "c",          "--key",       "k"};
  const std::vector<std::string> query = {
      "query",  "--by",    "machine",  "\\a\\b", "--agg",  "sum",
      "\\c\\d", "--label", "role=web", "\\e\\f", "--from", "-5m"};
  const auto joined = [](std::vector<std::string> first,
                         const std::vector<std::string>& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  };
  const std::string expected =
      "fleetperf: the aggregator's address \"host:99999\" ends in \"99999\", "
      "which is not a port (1 to 65535); write it as in localhost:7443\n";
  EXPECT_EQ(ErrorOf(joined(connection, query)), expected);
  EXPECT_EQ(ErrorOf(joined(query, connection)), expected);
  EXPECT_EQ(ErrorOf(joined({"--format", "json", "--top", "5"},
                           joined(query, connection))),
            expected);
}

}  // namespace
}  // namespace fleetperf::cli
