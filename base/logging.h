// Logging goes through spdlog's default logger; .cc files call spdlog::info and
// its kin directly. This sets it up.

#ifndef FLEETPERF_BASE_LOGGING_H_
#define FLEETPERF_BASE_LOGGING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/config.h"

namespace fleetperf {

struct LogConfig {
  std::string level = "info";  // debug, info, warning, error
  std::string file;            // empty: standard error
};

// Reads the section "log".
LogConfig ReadLogConfig(ConfigSection root);

// `program` begins each line.
absl::Status StartLogging(absl::string_view program, const LogConfig& config);

// Logs a cause once and then at most once an interval, with the number of times
// it was left out: what comes from outside cannot fill a disk. Remembers a
// bounded number of causes; beyond it, new ones share one until others
// are older than the interval. Thread-safe.
class LogOncePerCause {
 public:
  explicit LogOncePerCause(absl::Duration interval = absl::Minutes(5),
                           const Clock& clock = Clock::Real())
      : interval_(interval), clock_(clock) {}

  // Control characters in the message are replaced: it stays one line.
  void Warn(absl::string_view cause, absl::string_view message);

  // How many causes it remembers.
  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return causes_.size();
  }

 private:
  struct State {
    absl::Duration next;  // Clock::Monotonic()
    uint64_t left_out = 0;
  };

  // Those that would be logged at once. What was left out of them counts for
  // the other causes.
  void ForgetOld(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration interval_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, State> causes_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_look_ ABSL_GUARDED_BY(mutex_);  // Clock::Monotonic()
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_LOGGING_H_
