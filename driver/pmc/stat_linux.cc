#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/os/clock.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "driver/events/events.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/event_parser.h"
#include "driver/pmc/stat.h"

namespace fleetperf::pmc {
namespace {

using perf_event::Builder;
using perf_event::Counter;
using perf_event::Event;

// The destructor ends and reaps a child that has not executed the command.
class WaitingChild {
 public:
  // `command` is not empty. The process must have one thread.
  static absl::StatusOr<std::unique_ptr<WaitingChild>> Fork(
      const std::vector<std::string>& command);
  WaitingChild(const WaitingChild&) = delete;
  ~WaitingChild();

  pid_t pid() const { return pid_; }

  // Lets the child execute the command. Returns an errno value if that fails;
  // otherwise 0.
  int Execute();

  // Waits for the end, without reacting to interrupts from the terminal, which
  // the command gets, too. Returns the status of waitpid(2).
  int Wait(rusage* usage);

 private:
  WaitingChild() = default;
  [[noreturn]] void RunChild(const std::vector<std::string>& command);

  pid_t pid_ = -1;
  int go_[2] = {-1, -1};       // a byte lets the child go
  int failure_[2] = {-1, -1};  // an errno value, or the end of the file
};

void Close(int* descriptor) {
  if (*descriptor >= 0) close(std::exchange(*descriptor, -1));
}

template <typename Call>
ssize_t Retried(Call call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

absl::StatusOr<std::unique_ptr<WaitingChild>> WaitingChild::Fork(
    const std::vector<std::string>& command) {
  std::unique_ptr<WaitingChild> child(new WaitingChild);
  if (pipe2(child->go_, O_CLOEXEC) != 0 ||
      pipe2(child->failure_, O_CLOEXEC) != 0) {
    return StatusFromErrno(errno, "pipe2");
  }
  child->pid_ = fork();
  if (child->pid_ < 0) return StatusFromErrno(errno, "fork");
  if (child->pid_ == 0) child->RunChild(command);
  Close(&child->go_[0]);
  Close(&child->failure_[1]);
  return child;
}

void WaitingChild::RunChild(const std::vector<std::string>& command) {
  Close(&go_[1]);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  char byte;
  if (Retried([&] { return read(go_[0], &byte, 1); }) != 1) _exit(0);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  Retried([&] { return write(failure_[1], &error, sizeof(error)); });
  _exit(0);
}

WaitingChild::~WaitingChild() {
  for (int* descriptor : {&go_[0], &go_[1], &failure_[0], &failure_[1]}) {
    Close(descriptor);
  }
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

int WaitingChild::Execute() {
  if (Retried([&] { return write(go_[1], "g", 1); }) != 1) return errno;
  int error = 0;
  Retried([&] { return read(failure_[0], &error, sizeof(error)); });
  return error;
}

int WaitingChild::Wait(rusage* usage) {
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  Retried([&] { return wait4(pid_, &status, 0, usage); });
  pid_ = -1;
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  return status;
}

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
  const auto code = events::ParseCode(name);
  ASSIGN_OR_RETURN(
      const std::vector<Event> events,
      perf_event::ParseEvents(code ? events::RawName(*code) : name));
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
