// What a command that takes long tells the person who waits for it.

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

// A line on standard error, redrawn from the moment that it has existed for two
// seconds until it is destroyed, which removes it. Nothing at all unless
// standard error is a terminal. Whoever prints to standard output meanwhile, if
// that is a terminal too, destroys it first; whoever writes to standard error
// does it by Print.
class Progress {
 public:
  // `what` goes on: "querying".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // How much is done: "12000 values", or a ProgressBar. Any thread.
  void Update(std::string done);

  // Writes `text`, which ends a line, to standard error in place of the line.
  void Print(absl::string_view text);

 private:
  void Run();
  void Draw(absl::Duration elapsed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string what_;
  absl::Mutex mutex_;
  std::string done_ ABSL_GUARDED_BY(mutex_);
  // Characters that are on the terminal.
  size_t drawn_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup ended_;
  std::thread thread_;
};

// "[#####...............]  25 %" for 0.25.
std::string ProgressBar(double part);

// "querying, 3 s: 12000 values"
std::string ProgressText(absl::string_view what, absl::Duration elapsed,
                         absl::string_view done);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_PROGRESS_H_
