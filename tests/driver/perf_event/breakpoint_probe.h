// Whether this machine's hardware breakpoints work. Some virtual machines
// accept them and never trap.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_BREAKPOINT_PROBE_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_BREAKPOINT_PROBE_H_

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace fleetperf::perf_event {

// Asks ptrace, which sets debug registers without perf_event. Returns true on
// processors whose debug registers ptrace sets in another way.
inline bool BreakpointsTrap() {
#ifdef __x86_64__
  static volatile int word;
  const pid_t child = fork();
  if (child == 0) {
    // Some containers do not permit it.
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(0);
    raise(SIGSTOP);
    word = 1;
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return true;
  const auto set = [&](size_t index, uint64_t value) {
    const size_t offset =
        offsetof(struct user, u_debugreg) + index * sizeof(value);
    return ptrace(PTRACE_POKEUSER, child, offset, value) == 0;
  };
  // Breakpoint 0 is enabled for writes of four bytes.
  const bool is_set =
      set(0, reinterpret_cast<uintptr_t>(&word)) && set(7, 0xD0001);
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  const bool traps = waitpid(child, &status, 0) == child &&
                     WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return traps || !is_set;
#else
  return true;
#endif
}

}  // namespace fleetperf::perf_event

#define SKIP_UNLESS_BREAKPOINTS_TRAP()                    \
  static const bool breakpoints_trap = BreakpointsTrap(); \
  if (!breakpoints_trap)                                  \
  GTEST_SKIP() << "This machine's hardware "              \
                  "breakpoints never trap, nor do "       \
                  "they with ptrace"

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_BREAKPOINT_PROBE_H_
