#include <windows.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/os_error.h"
#include "base/status_macros.h"
#include "base/wide_windows.h"
#include "driver/pmc/command_line_text.h"
#include "driver/pmc/pcm_row.h"
#include "driver/pmc/stat.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReader;
using hardware::HardwareReading;

constexpr int kNotFoundStatus = 127;
constexpr int kNotExecutableStatus = 126;

struct Counted {
  HardwareCount count;
  const char* event;  // as perf names it
};
constexpr Counted kCounts[] = {
    {HardwareCount::kInstructions, "instructions"},
    {HardwareCount::kCycles, "cycles"},
    {HardwareCount::kReferenceCycles, "ref-cycles"},
    {HardwareCount::kBranches, "branches"},
    {HardwareCount::kBranchMisses, "branch-misses"},
    {HardwareCount::kL3References, "cache-references"},
    {HardwareCount::kL3Misses, "cache-misses"}};

// The counts of all CPUs from its creation on.
class SystemCounts {
 public:
  explicit SystemCounts(const Machine& machine) {
    auto reader = machine.open_reader();
    status_ = reader.ok() ? (*reader)->Update() : reader.status();
    if (!status_.ok()) return;
    reader_ = *std::move(reader);
    for (const int cpu : reader_->cpus()) {
      before_[cpu] = reader_->ReadingOf(cpu);
    }
  }

  std::vector<StatCount> Read() {
    HardwareReading total;
    if (status_.ok()) status_ = reader_->Update();
    if (status_.ok()) {
      for (const auto& [cpu, before] : before_) {
        AddToTotal(GrowthOf(before, reader_->ReadingOf(cpu)), &total);
      }
    }
    std::vector<StatCount> counts;
    for (const Counted& counted : kCounts) {
      StatCount count{.event = counted.event, .status = status_};
      if (status_.ok() && total[counted.count]) {
        count.value = static_cast<double>(*total[counted.count]);
      } else if (status_.ok()) {
        count.status = absl::NotFoundError("this CPU does not count the event");
      }
      counts.push_back(std::move(count));
    }
    return counts;
  }

 private:
  absl::Status status_;
  std::unique_ptr<HardwareReader> reader_;
  std::map<int, HardwareReading> before_;
};

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
  if (!options.events.empty()) {
    return absl::InvalidArgumentError(
        "--event is not supported on Windows; leave it out");
  }
  StatResult result{.scope = "all CPUs while the command ran"};
  std::wstring command = WideFromUtf8(CommandLineText(options.command));
  STARTUPINFOW startup = {};
  startup.cb = sizeof(startup);
  PROCESS_INFORMATION process = {};
  SystemCounts counts(machine);
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
