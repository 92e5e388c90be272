// The thread that has the spool's files follow its memory, so that nothing else
// waits for a disk.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

// Thread-safe. Its lock is never held while `save` runs, and callers may hold
// their own.
class SpoolWriter {
 public:
  // `save` writes all that has changed. After an error it is called again a
  // second later. `clock` outlives this.
  SpoolWriter(const Clock* clock, std::function<absl::Status()> save);
  // Stops.
  ~SpoolWriter();

  void Start();
  // Saves what was requested, at least once, and ends the thread.
  void Stop();

  // There is something to save.
  void Request();
  // Waits until what was requested is saved, or could not be.
  absl::Status AwaitSaved();

 private:
  void Run();
  void Report(const absl::Status& status);

  const Clock* const clock_;
  const std::function<absl::Status()> save_;

  absl::Mutex mutex_;
  Wakeup work_{clock_};  // for the thread
  Wakeup done_{clock_};  // for those that wait for it
  uint64_t requested_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t saved_ ABSL_GUARDED_BY(mutex_) = 0;    // of the requests
  uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of save_
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;   // the last that failed
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // its
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  bool is_failing_ = false;  // used by the thread
  std::thread thread_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_
