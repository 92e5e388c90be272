#include <windows.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"
#include "driver/pmc/command_line_text.h"
#include "driver/pmc/stat.h"
#include "driver/pmc/system_counts.h"

namespace fleetperf::pmc {
namespace {

constexpr int kNotFoundStatus = 127;
constexpr int kNotExecutableStatus = 126;

absl::Duration DurationOf(const FILETIME& time) {
  const uint64_t units =
      uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
  return absl::Nanoseconds(100) * static_cast<int64_t>(units);
}

// The console sends Ctrl-C to the command, too, which decides what follows.
void WaitFor(HANDLE process) {
  SetConsoleCtrlHandler(nullptr, TRUE);
  WaitForSingleObject(process, INFINITE);
  SetConsoleCtrlHandler(nullptr, FALSE);
}

}  // namespace

absl::StatusOr<StatResult> MeasureCommand(const Machine& machine,
                                          const StatOptions& options) {
  StatResult result{.scope = "all CPUs while the command ran"};
  std::wstring command = WideFromUtf8(CommandLineText(options.command));
  STARTUPINFOW startup = {};
  startup.cb = sizeof(startup);
  PROCESS_INFORMATION process = {};
  ASSIGN_OR_RETURN(SystemCounts counts,
                   SystemCounts::Start(machine, options.events));
  const absl::Duration start = Clock::Real().Monotonic();
  if (!CreateProcessW(nullptr, command.data(), nullptr, nullptr,
                      /*bInheritHandles=*/TRUE, 0, nullptr, nullptr, &startup,
                      &process)) {
    const DWORD error = GetLastError();
    result.exit_status =
        error == ERROR_FILE_NOT_FOUND ? kNotFoundStatus : kNotExecutableStatus;
    result.problem =
        StatusFromWin32(error, absl::StrCat("cannot run ", options.command[0]));
    return result;
  }
  WaitFor(process.hProcess);
  result.elapsed = Clock::Real().Monotonic() - start;
  result.counts = counts.Read();
  DWORD exit_status = 0;
  GetExitCodeProcess(process.hProcess, &exit_status);
  result.exit_status = static_cast<int>(exit_status);
  FILETIME created, ended, system, user;
  if (GetProcessTimes(process.hProcess, &created, &ended, &system, &user)) {
    result.user = DurationOf(user);
    result.system = DurationOf(system);
  }
  CloseHandle(process.hThread);
  CloseHandle(process.hProcess);
  return result;
}

}  // namespace fleetperf::pmc
