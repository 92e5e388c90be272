// Stops a thread at a point that a test chooses.

#ifndef FLEETPERF_TESTS_SUPPORT_GATE_H_
#define FLEETPERF_TESTS_SUPPORT_GATE_H_

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {

// Blocks threads while closed. Open at first. Thread-safe.
class Gate {
 public:
  ~Gate() { Open(); }

  // Blocks the calling thread while the gate is closed.
  void Pass() {
    absl::MutexLock lock(&mutex_);
    if (!closed_) return;
    ++stopped_;
    mutex_.Await(absl::Condition(
        +[](Gate* gate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate->mutex_) {
          return !gate->closed_;
        },
        this));
    --stopped_;
  }

  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  void Open() {
    absl::MutexLock lock(&mutex_);
    closed_ = false;
  }
  // Blocks until a thread has stopped at the gate. Returns false if none has
  // after kPatience.
  bool AwaitStopped() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(
        absl::Condition(
            +[](Gate* gate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate->mutex_) {
              return gate->stopped_ > 0;
            },
            this),
        kPatience);
  }

 private:
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int stopped_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A thread that stops at a gate. The gate is opened before the thread is
// joined.
class ThreadAtGate {
 public:
  ThreadAtGate(Gate* gate, std::function<void()> body) : gate_(*gate) {
    gate_.Close();
    thread_ = std::thread(std::move(body));
    has_stopped_ = gate_.AwaitStopped();
  }
  ~ThreadAtGate() { Finish(); }

  bool has_stopped() const { return has_stopped_; }

  // Returns whether `body` returns while the thread is stopped. If not, opens
  // the gate so that `body` can return.
  bool LetsRun(const std::function<void()>& body) {
    std::future<void> done = std::async(std::launch::async, body);
    const bool has_run = done.wait_for(absl::ToChronoMilliseconds(kPatience)) ==
                         std::future_status::ready;
    if (!has_run) Finish();
    return has_run;
  }

  // Opens the gate and joins the thread.
  void Finish() {
    gate_.Open();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Gate& gate_;
  std::thread thread_;
  bool has_stopped_ = false;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_GATE_H_
