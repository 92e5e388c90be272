#include "tests/e2e/deployment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/os/files.h"

namespace fleetperf::testing {

Deployment::Deployment() {
  const Result made = RunCommand({Executable("fleetperf"), "pki", "init",
                                  "--directory", directory_.path()});
  EXPECT_EQ(made.status, 0) << made.error;
  const TlsFiles reader = Issue("reader", {"tester"});
  Issue("aggregator", {"localhost", "127.0.0.1"});
  Write(File("aggregator.yaml"), "");
}

TlsFiles Deployment::Issue(const std::string& role,
                           const std::vector<std::string>& names) {
  std::vector<std::string> command = {Executable("fleetperf"), "pki", "issue",
                                      role};
  command.insert(command.end(), names.begin(), names.end());
  command.insert(command.end(), {"--directory", directory_.path(), "--force"});
  const Result issued = RunCommand(command);
  EXPECT_EQ(issued.status, 0) << issued.error;
  const std::string stem = File(absl::StrCat(role, "-", names.front()));
  return {.authority = File("authority.pem"),
          .certificate = stem + ".pem",
          .key = stem + ".key"};
}

std::string Deployment::TlsSection(const TlsFiles& files) {
  return absl::StrCat("tls:\n  authority: ", files.authority,
                      "\n  certificate: ", files.certificate,
                      "\n  key: ", files.key, "\n");
}

void Deployment::WriteAggregatorConfig(const std::string& more) {
  const TlsFiles tls = {.authority = File("authority.pem"),
                        .certificate = File("aggregator-localhost.pem"),
                        .key = File("aggregator-localhost.key")};
  Write(File("aggregator.yaml"),
        absl::StrCat("listen: ", address_, "\naddress_file: address\n",
                     "store: {directory: store, recent_memory: 128MiB}\n",
                     TlsSection(tls), more));
}

std::unique_ptr<Process> Deployment::StartAggregator(
    const std::string& more,
    const std::map<std::string, std::string>& environment) {
  WriteAggregatorConfig(more);
  auto aggregator = std::make_unique<Process>(
      std::vector<std::string>{Executable("fleetperf-aggregator"), "--config",
                               File("aggregator.yaml")},
      environment);
  EXPECT_TRUE(aggregator->WaitForError("listening on ")) << aggregator->error();
  address_ = std::string(absl::StripSuffix(*ReadFile(File("address")), "\n"));
  const TlsFiles reader = {.authority = File("authority.pem"),
                           .certificate = File("reader-tester.pem"),
                           .key = File("reader-tester.key")};
  Write(File("config.yaml"),
        absl::StrCat("aggregators: ", address_, "\n", TlsSection(reader)));
  return aggregator;
}

std::string Deployment::WriteAgentConfig(const std::string& name,
                                         const std::vector<std::string>& others,
                                         const std::string& more) {
  std::vector<std::string> names = {name};
  names.insert(names.end(), others.begin(), others.end());
  const std::string path = File(name + ".yaml");
  Write(path, absl::StrCat("name: ", name, "\naggregators: ['", address_,
                           "']\nstate_directory: state-", name, "\n",
                           TlsSection(Issue("agent", names)), more));
  return path;
}

std::unique_ptr<Process> Deployment::StartAgent(const std::string& name,
                                                const std::string& more) {
  return std::make_unique<Process>(
      std::vector<std::string>{Executable("fleetperf-agent"), "--config",
                               WriteAgentConfig(name, {}, more)});
}

Result Deployment::Fleetperf(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), Executable("fleetperf"));
  return RunCommand(arguments, {{"FLEETPERF_CONFIG", File("config.yaml")}});
}

std::unique_ptr<Process> Deployment::StartFleetperf(
    std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), Executable("fleetperf"));
  return std::make_unique<Process>(
      arguments, std::map<std::string, std::string>{
                     {"FLEETPERF_CONFIG", File("config.yaml")}});
}

Result Deployment::Shell(const std::string& arguments,
                         std::map<std::string, std::string> environment) const {
  environment["FLEETPERF_CONFIG"] = File("config.yaml");
  return RunCommand(
      {"sh", "-c", absl::StrCat(Executable("fleetperf"), " ", arguments)},
      environment);
}

Result Deployment::InTerminal(
    const std::string& arguments, int columns,
    std::map<std::string, std::string> environment) const {
  environment["FLEETPERF_CONFIG"] = File("config.yaml");
  environment.try_emplace("TERM", "xterm");
  return RunCommand(
      TerminalCommand(absl::StrCat(Executable("fleetperf"), " ", arguments),
                      columns),
      environment);
}

std::vector<nlohmann::json> Deployment::Json(
    std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Result result = Fleetperf(arguments);
  EXPECT_EQ(result.status, 0) << result.error;
  std::vector<nlohmann::json> lines;
  for (const absl::string_view line :
       absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(line.begin(), line.end()));
  }
  return lines;
}

bool Deployment::WaitForAnswer(const std::string& path) const {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    const Result result =
        Fleetperf({"query", path, "--since", "1h", "--format", "json"});
    if (absl::StrContains(result.output, R"("status":"ok")")) return true;
  }
  return false;
}

void Deployment::WaitForSamples(const std::string& machine) const {
  EXPECT_TRUE(
      WaitForAnswer(absl::StrCat("\\\\", machine, "\\System\\Processes")))
      << "no samples of " << machine;
}

std::string Deployment::Executable(const std::string& name) {
  const char* others = std::getenv("FLEETPERF_BIN");
  return absl::StrCat(others != nullptr ? others : FLEETPERF_BIN, "/", name);
}

void Deployment::Write(const std::string& path, const std::string& text) {
  ASSERT_TRUE(WriteFile(path, text).ok()) << path;
}

std::vector<std::string> TerminalCommand(const std::string& command,
                                         int columns, int rows) {
  return {"script",
          "--quiet",
          "--return",
          "--command",
          absl::StrCat("stty cols ", columns, " rows ", rows, "; ", command),
          "/dev/null"};
}

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty());
}

int WidthOf(const std::string& text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

absl::Time TimeOf(const nlohmann::json& line) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              line["time"].get<std::string>(), &time, &error))
      << line;
  return time;
}

}  // namespace fleetperf::testing
