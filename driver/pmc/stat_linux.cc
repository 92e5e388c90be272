#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/os_error.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/event_parser.h"
#include "driver/pmc/child_linux.h"
#include "driver/pmc/stat.h"

namespace fleetperf::pmc {
namespace {

using perf_event::Builder;
using perf_event::Counter;
using perf_event::Event;

constexpr const char* kDefaultEvents[] = {
    "task-clock",       "context-switches", "cpu-migrations", "page-faults",
    "instructions",     "cycles",           "branches",       "branch-misses",
    "cache-references", "cache-misses"};
constexpr double kNanosecondsInMillisecond = 1e6;
constexpr int kNotFoundStatus = 127;
constexpr int kNotExecutableStatus = 126;
constexpr int kSignalStatus = 128;

// An event by its name, which stands for one event of each core PMU on a hybrid
// CPU.
struct Counted {
  std::string name;
  std::vector<Counter> counters;
  absl::Status status;  // why the event does not count
};

absl::StatusOr<Counter> Open(const Event& event, pid_t process, bool user) {
  Builder builder(event);
  builder.ObserveProcess(process).AnyCpu().Inherit().EnableOnExec();
  if (user) builder.ExcludeKernel().ExcludeHypervisor();
  return builder.Build();
}

// Messages of perf_event begin with the event, which the report names, too.
absl::Status WithoutEvent(const absl::Status& status, const Event& event) {
  return absl::Status(
      status.code(),
      absl::StripPrefix(status.message(), absl::StrCat(event.name, ": ")));
}

// Fails only for a name that is no event of this machine.
absl::StatusOr<Counted> OpenAll(const std::string& name, pid_t process) {
  Counted counted{.name = name};
  ASSIGN_OR_RETURN(const std::vector<Event> events,
                   perf_event::ParseEvents(name));
  for (const Event& event : events) {
    auto counter = Open(event, process, /*user=*/false);
    if (absl::IsPermissionDenied(counter.status())) {
      counter = Open(event, process, /*user=*/true);
      if (counter.ok()) counted.name = absl::StrCat(name, ":u");
    }
    if (counter.ok()) {
      counted.counters.push_back(*std::move(counter));
    } else {
      counted.status = WithoutEvent(counter.status(), event);
    }
  }
  if (!counted.counters.empty()) counted.status = absl::OkStatus();
  return counted;
}

absl::Status Add(const Counter& counter, StatCount* count) {
  ASSIGN_OR_RETURN(const perf_event::CounterValue value, counter.ReadFull());
  const uint64_t enabled = value.time_enabled.value_or(0);
  const uint64_t running = value.time_running.value_or(0);
  // An event that was never enabled counted nothing.
  if (enabled == 0) {
    count->value = count->value.value_or(0);
    return absl::OkStatus();
  }
  const auto scaled = perf_event::Scaled(value.value, enabled, running);
  if (!scaled) {
    return absl::UnavailableError(
        "the event was never on the PMU, which others used");
  }
  count->value = count->value.value_or(0) + static_cast<double>(*scaled);
  count->counted = static_cast<double>(running) / static_cast<double>(enabled);
  return absl::OkStatus();
}

StatCount Read(const Counted& counted) {
  StatCount count{.event = counted.name, .status = counted.status};
  for (const Counter& counter : counted.counters) {
    count.status.Update(Add(counter, &count));
  }
  if (counted.name == "task-clock" || counted.name == "cpu-clock") {
    count.unit = "ms";
    if (count.value) *count.value /= kNanosecondsInMillisecond;
  }
  return count;
}

int ExitStatusOf(int status) {
  return WIFSIGNALED(status) ? kSignalStatus + WTERMSIG(status)
                             : WEXITSTATUS(status);
}

absl::Status CannotRun(const std::string& command, int error) {
  return StatusFromErrno(error, absl::StrCat("cannot run ", command));
}

}  // namespace

absl::StatusOr<StatResult> MeasureCommand(const Machine&,
                                          const StatOptions& options) {
  std::vector<std::string> names = options.events;
  if (names.empty()) {
    names.assign(std::begin(kDefaultEvents), std::end(kDefaultEvents));
  }
  ASSIGN_OR_RETURN(const auto child, WaitingChild::Fork(options.command));
  std::vector<Counted> events;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(Counted counted, OpenAll(name, child->pid()));
    events.push_back(std::move(counted));
  }
  StatResult result{.scope = "the command and its children"};
  const absl::Duration start = Clock::Real().Monotonic();
  if (const int error = child->Execute()) {
    result.exit_status =
        error == ENOENT ? kNotFoundStatus : kNotExecutableStatus;
    result.problem = CannotRun(options.command[0], error);
    return result;
  }
  rusage usage = {};
  result.exit_status = ExitStatusOf(child->Wait(&usage));
  result.elapsed = Clock::Real().Monotonic() - start;
  result.user = absl::DurationFromTimeval(usage.ru_utime);
  result.system = absl::DurationFromTimeval(usage.ru_stime);
  for (const Counted& event : events) result.counts.push_back(Read(event));
  return result;
}

}  // namespace fleetperf::pmc
