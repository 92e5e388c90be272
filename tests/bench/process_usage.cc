#include "tests/bench/process_usage.h"

#include <ctime>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetperf::bench {
namespace {

// Returns a field of /proc/PID/status, converted from KiB to bytes.
uint64_t StatusBytes(pid_t pid, const std::string& name) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; status >> word;) {
    if (word != name) continue;
    uint64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

}  // namespace

absl::Duration CpuTimeOf(pid_t pid) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) == 0) clock_gettime(clock, &time);
  return absl::DurationFromTimespec(time);
}

uint64_t MemoryOf(pid_t pid) { return StatusBytes(pid, "VmRSS:"); }

uint64_t PeakMemoryOf(pid_t pid) { return StatusBytes(pid, "VmHWM:"); }

void AwaitQuiet(pid_t pid, absl::Duration time, size_t connections) {
  constexpr absl::Duration kLook = absl::Seconds(1);
  // Parts of a processor. With 10,000 idle connections, an aggregator takes
  // 7 %; it answers and sends a ping for each every 20 s.
  constexpr double kQuietProcess = 0.02;
  constexpr double kQuietConnection = 1e-5;
  const double quiet_share =
      kQuietProcess + kQuietConnection * static_cast<double>(connections);
  absl::Duration quiet;
  while (quiet < time) {
    const absl::Duration before = CpuTimeOf(pid);
    absl::SleepFor(kLook);
    const bool is_quiet = CpuTimeOf(pid) - before < quiet_share * kLook;
    quiet = is_quiet ? quiet + kLook : absl::ZeroDuration();
  }
}

}  // namespace fleetperf::bench
