#include "tests/windows/wine_machine.h"

#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/os/files.h"

namespace fleetperf::testing {
namespace {

constexpr char kWine[] = "/usr/lib/wine/wine64";
constexpr char kWineServer[] = "/usr/lib/wine/wineserver64";

std::map<std::string, std::string> Environment(const std::string& prefix) {
  return {{"WINEPREFIX", prefix},
          {"WINEDEBUG", "-all"},
          {"WINEDLLOVERRIDES", "winedbg.exe=d"},
          {"LC_ALL", "C.UTF-8"},
          {"DISPLAY", ""}};
}

// Redirects output to a file: services inherit standard output, so that a pipe
// would never close.
std::vector<std::string> WithOutputTo(const std::string& path,
                                      const std::vector<std::string>& command) {
  std::vector<std::string> shell = {
      "/bin/sh", "-c", "exec \"$@\" >\"$0\" 2>&1 </dev/null", path, kWine};
  shell.insert(shell.end(), command.begin(), command.end());
  return shell;
}

}  // namespace

WineMachine::WineMachine() : prefix_(FLEETPERF_WINE_PREFIX) {
  std::filesystem::create_directories(prefix_);
  RunCommand({kWineServer, "-k"}, Environment(prefix_));
  RunCommand({kWineServer, "-w"}, Environment(prefix_));
}

WineMachine::~WineMachine() {
  RunCommand({kWineServer, "-k"}, Environment(prefix_));
  RunCommand({kWineServer, "-w"}, Environment(prefix_));
}

WineMachine::Output WineMachine::Run(const std::vector<std::string>& command) {
  const std::string path = absl::StrCat(prefix_, "/output-", ++runs_, ".txt");
  Process process(WithOutputTo(path, command), Environment(prefix_));
  const int status = process.Wait();
  return {status, ReadFile(path).value_or("")};
}

std::unique_ptr<Process> WineMachine::Start(
    const std::vector<std::string>& command, const std::string& output_path) {
  return std::make_unique<Process>(WithOutputTo(output_path, command),
                                   Environment(prefix_));
}

std::string WineMachine::DriveC(const std::string& path) const {
  return absl::StrCat(prefix_, "/drive_c/", path);
}

std::string WineMachine::ServiceState() {
  const Output output = Run({"sc", "query", "fleetperf-agent"});
  for (const absl::string_view line : absl::StrSplit(output.text, '\n')) {
    if (!absl::StrContains(line, "STATE")) continue;
    for (const char* state : {"RUNNING", "STOPPED", "STOP_PENDING"}) {
      if (absl::StrContains(line, state)) return state;
    }
    return std::string(line);
  }
  return "";
}

bool WineMachine::WaitForServiceState(const std::string& state) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    if (ServiceState() == state) return true;
  }
  return false;
}

}  // namespace fleetperf::testing
