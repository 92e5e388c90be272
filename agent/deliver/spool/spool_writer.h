// The thread that writes the spool's changes to files, so that no other thread
// waits for the disk.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

// Thread-safe. No lock is held while `save` runs. Callers may hold a lock of
// their own.
class SpoolWriter {
 public:
  // `save` writes all changes. After an error it is called again one second
  // later. `clock` must outlive the writer.
  SpoolWriter(const Clock* clock, std::function<absl::Status()> save);
  // Calls Stop.
  ~SpoolWriter();

  void Start();
  // Saves a last time, also if nothing was requested, and joins the thread.
  void Stop();

  // Requests a save.
  void Request();
  // Waits until all requests made so far are saved, or a save that began later
  // failed.
  absl::Status AwaitSaved();

 private:
  void Run();
  void Report(const absl::Status& status);

  const Clock* const clock_;
  const std::function<absl::Status()> save_;

  absl::Mutex mutex_;
  Wakeup work_{clock_};  // wakes the thread
  Wakeup done_{clock_};  // wakes callers of AwaitSaved
  uint64_t requested_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t saved_ ABSL_GUARDED_BY(mutex_) = 0;    // requests that are saved
  uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of save_
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;   // the last call that failed
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // the error of that call
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  bool is_failing_ = false;  // used only by the thread
  std::thread thread_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_WRITER_H_
