#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/daemon/daemon.h"
#include "base/log.h"
#include "base/os/detached_thread.h"
#include "base/wakeup.h"

namespace fleetperf {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

sigset_t ReloadSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// What a process has received. A thread of its own receives it, which ends the
// process if it does not end in time. Thread-safe.
class Signals {
 public:
  static Signals& OfProcess() {
    static Signals* const signals = new Signals;
    return *signals;
  }

  void SetDeadline(absl::Duration deadline) {
    absl::MutexLock lock(&mutex_);
    deadline_ = deadline;
    changed_.Notify();
  }

  void AwaitStop() {
    absl::MutexLock lock(&mutex_);
    changed_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return must_stop_;
    });
  }

  StopSignal::Request AwaitAny(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    changed_.Await(&mutex_, timeout,
                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                     return must_stop_ || must_reload_;
                   });
    if (must_stop_) return StopSignal::Request::kStop;
    return std::exchange(must_reload_, false) ? StopSignal::Request::kReload
                                              : StopSignal::Request::kNone;
  }

 private:
  Signals() {
    // The thread inherits the mask, so that SIGHUP never ends a process that
    // accepts it.
    const sigset_t reload = ReloadSignals();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &reload, &before);
    const absl::Status started = RunDetached([this] { Receive(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started.ok()) return;
    // Before the log is started.
    std::fprintf(stderr, "%s\n", std::string(started.message()).c_str());
    std::_Exit(1);
  }

  void Receive() {
    sigset_t signals = StopSignals();
    sigaddset(&signals, SIGHUP);
    for (;;) {
      int received = 0;
      if (sigwait(&signals, &received) != 0) continue;
      absl::MutexLock lock(&mutex_);
      (received == SIGHUP ? must_reload_ : must_stop_) = true;
      changed_.Notify();
      if (must_stop_) return EndInTime();
    }
  }

  // Returns never.
  void EndInTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    changed_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return deadline_ < absl::InfiniteDuration();
    });
    changed_.Await(&mutex_, deadline_, [] { return false; });
    LogError("the process has not stopped within ",
             absl::FormatDuration(deadline_), "; ending it now");
    std::_Exit(1);
  }

  absl::Mutex mutex_;
  Wakeup changed_;
  bool must_stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool must_reload_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration deadline_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
};

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A write to a closed connection returns an error instead of ending the
  // process.
  signal(SIGPIPE, SIG_IGN);
  Signals::OfProcess();
}

absl::Status StopSignal::EndWithin(absl::Duration deadline) {
  Signals::OfProcess().SetDeadline(deadline);
  return absl::OkStatus();
}

void StopSignal::AcceptReload() {
  const sigset_t signals = ReloadSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void StopSignal::Wait() { Signals::OfProcess().AwaitStop(); }

bool StopSignal::WaitForReload() {
  return WaitFor(absl::InfiniteDuration()) == Request::kReload;
}

StopSignal::Request StopSignal::WaitFor(absl::Duration timeout) {
  return Signals::OfProcess().AwaitAny(timeout);
}

void StopSignal::Raise() { kill(getpid(), SIGTERM); }

}  // namespace fleetperf
