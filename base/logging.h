// Sets up the log, and logs lines that have fields. base/log.h logs plain
// lines.

#ifndef FLEETPERF_BASE_LOGGING_H_
#define FLEETPERF_BASE_LOGGING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/config/config.h"
#include "base/os/clock.h"

namespace fleetperf {

struct LogConfig {
  std::string level = "info";   // debug, info, warning, error
  std::string format = "text";  // text, json
  std::string file;             // empty: standard error
};

// Reads the section "log".
LogConfig ReadLogConfig(ConfigSection root);

// Starts logging. Every line has the time and `program`; on systemd's journal,
// which adds both itself, it has the journal's level instead. With the format
// "json", every line is an object with the members time, level, program and
// message, and those of LogWarningOf and LogOncePerCause.
absl::Status StartLogging(absl::string_view program, const LogConfig& config);

// Changes the level of a log that was started. Thread-safe.
void SetLogLevel(const LogConfig& config);

// Counts of lines since the start of the process.
struct LogCounts {
  uint64_t warnings = 0;
  uint64_t errors = 0;
  uint64_t suppressed = 0;  // repetitions that LogOncePerCause left out
};
// Thread-safe. Lines below the level are not counted.
LogCounts CountLogLines();

// Log `message` on one line; control characters are replaced. `machine` is the
// machine or agent that the line is about, in JSON a member of the line.
// Thread-safe.
void LogInfoOf(absl::string_view machine, absl::string_view message);
void LogWarningOf(absl::string_view machine, absl::string_view message);
void LogErrorOf(absl::string_view machine, absl::string_view message);

// Logs each cause at most once per interval, with the number of suppressed
// repetitions, so that external input cannot fill the disk. The number of
// remembered causes is bounded. Beyond the bound, new causes share one entry
// until others are older than the interval. Thread-safe.
class LogOncePerCause {
 public:
  explicit LogOncePerCause(absl::Duration interval = absl::Minutes(5),
                           const Clock& clock = Clock::Real())
      : interval_(interval), clock_(clock) {}

  // Log `message` on one line; control characters are replaced. A cause is one
  // of the machine or agent that the line is about, if any. In JSON, both are
  // members of the line, `cause` and `machine`, and so is the number of
  // suppressed repetitions, `repeated`.
  void Warn(absl::string_view cause, absl::string_view message,
            absl::string_view machine = "");
  void Info(absl::string_view cause, absl::string_view message,
            absl::string_view machine = "");
  void Debug(absl::string_view cause, absl::string_view message,
             absl::string_view machine = "");

  // Returns the number of remembered causes.
  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return causes_.size();
  }

 private:
  struct State {
    absl::Duration next;  // Clock::Monotonic()
    uint64_t suppressed = 0;
  };

  // Returns the number of suppressed repetitions if the cause may be logged
  // now; otherwise counts a repetition.
  std::optional<uint64_t> Admit(absl::string_view cause,
                                absl::string_view machine);

  // Forgets expired causes. Their suppressed repetitions are added to the entry
  // for other causes.
  void ForgetExpired(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration interval_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, State> causes_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_look_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_LOGGING_H_
