// The progress display of long-running commands.

#ifndef FLEETPERF_BASE_PROGRESS_H_
#define FLEETPERF_BASE_PROGRESS_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf {

// Whether the environment says that the terminal cannot move its cursor
// (TERM=dumb).
bool TerminalIsDumb();

// A line on standard error, shown after two seconds, updated, and removed by
// the destructor. A no-op unless standard error is a terminal that can move its
// cursor. Destroy the
// object before writing to a standard output that is a terminal. Write to
// standard error only with Print().
class Progress {
 public:
  // `what` names the activity: "querying".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the amount done: "12000 values", or a ProgressBar. Thread-safe.
  void Update(std::string done);

  // Prints `text`, which ends with a newline, to standard error instead of the
  // progress line.
  void Print(absl::string_view text);

 private:
  void Run();
  void Draw(absl::Duration elapsed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string what_;
  absl::Mutex mutex_;
  std::string done_ ABSL_GUARDED_BY(mutex_);
  // The number of characters on the terminal.
  size_t drawn_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup ended_;
  std::thread thread_;
};

// Returns "[#####...............]  25 %" for 0.25.
std::string ProgressBar(double part);

// Returns "querying, 3 s: 12000 values".
std::string ProgressText(absl::string_view what, absl::Duration elapsed,
                         absl::string_view done);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PROGRESS_H_
