// Makes things on several threads and uses them one by one, in their order.

#ifndef FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_
#define FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// The things are numbered from 0. The thread that runs it uses all of them, and
// makes some; the other threads are gone when Run returns.
template <typename Thing>
class OrderedWork {
 public:
  // Called on any of the threads, several at a time, if it is to make the thing
  // before its turn; it may then give nothing. In its turn it is called by the
  // thread that runs this, and must give it. Once one was not made before its
  // turn, no others are.
  using Make = std::function<std::optional<Thing>(size_t number, bool in_turn)>;
  // Its error ends the work.
  using Use = std::function<absl::Status(size_t number, Thing thing)>;

  // On `threads` threads, of which at least one, the caller's, is needed.
  OrderedWork(size_t count, size_t threads, Make make)
      : count_(count),
        threads_(threads),
        make_(std::move(make)),
        most_(threads > 1 ? Most(threads) : 0) {}

  absl::Status Run(const Use& use) {
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < threads_; ++i) {
      helpers.emplace_back([this] { Help(); });
    }
    absl::Status status;
    for (size_t number = 0; number < count_ && status.ok(); ++number) {
      status = use(number, Take(number));
    }
    {
      absl::MutexLock lock(&mutex_);
      begun_ = count_;
      may_begin_.Notify();
    }
    for (std::thread& helper : helpers) helper.join();
    return status;
  }

  // How many there are at a time, made or being made. Two of each thread, so
  // that none waits for another that takes a little longer.
  static constexpr size_t Most(size_t threads) { return 2 * threads; }

 private:
  void Help() {
    absl::MutexLock lock(&mutex_);
    const auto can_begin = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return begun_ == count_ || CanBegin();
    };
    for (;;) {
      may_begin_.Await(&mutex_, can_begin);
      if (begun_ == count_) return;
      MakeAhead();
    }
  }

  // The thing whose turn it is.
  Thing Take(size_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      turn_ = number;
      may_begin_.Notify();
      const auto is_made = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return made_.contains(number);
      };
      while (begun_ > number && !is_made()) {
        if (CanBegin()) {
          MakeAhead();
        } else {
          was_made_.Await(&mutex_, is_made);
        }
      }
      if (begun_ > number) {
        std::optional<Thing> thing = std::move(made_.extract(number).mapped());
        if (thing.has_value()) return *std::move(thing);
      } else {
        ++begun_;
      }
    }
    return *make_(number, /*in_turn=*/true);
  }

  bool CanBegin() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return begun_ < std::min(count_, turn_ + most_);
  }

  void MakeAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t number = begun_++;
    mutex_.Unlock();
    std::optional<Thing> thing = make_(number, /*in_turn=*/false);
    mutex_.Lock();
    if (!thing.has_value()) most_ = 0;
    made_.emplace(number, std::move(thing));
    was_made_.Notify();
  }

  const size_t count_;
  const size_t threads_;
  const Make make_;
  absl::Mutex mutex_;
  Wakeup may_begin_;
  Wakeup was_made_;
  size_t most_ ABSL_GUARDED_BY(mutex_);
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;  // those before it are
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;   // of which one it is
  std::map<size_t, std::optional<Thing>> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_
