// Makes items on several threads and uses them one at a time, in order.
//
// Invariants:
// - Items are numbered from 0. An item is begun only after all lower numbers.
// - At most MaxAhead(threads) items exist or are being made ahead of their
//   turn.
// - Once `make` returns std::nullopt for an item, no further item is begun
//   ahead of its turn.

#ifndef FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_
#define FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// The thread that calls Run uses all items and makes some of them: all, if the
// system starts no other thread. Run joins the other threads before it returns.
// Thread-compatible: Run must be called at most once.
template <typename Item>
class OrderedWork {
 public:
  // Makes an item. Without `in_turn`, it is called on any of the threads,
  // concurrently with itself and with Use, and may return std::nullopt; the
  // item is then made in its turn. With `in_turn`, it is called on the thread
  // that called Run, and must return the item. It must not wait for items of
  // higher numbers: the thread that would let them begin may be the one that
  // waits.
  using Make = std::function<std::optional<Item>(size_t number, bool in_turn)>;
  // Uses an item, on the thread that called Run. An error ends the work.
  using Use = std::function<absl::Status(size_t number, Item item)>;

  // `threads` includes the thread that calls Run; 0 is the same as 1. `make`
  // must be thread-safe.
  OrderedWork(size_t count, size_t threads, Make make)
      : count_(count),
        threads_(threads),
        make_(std::move(make)),
        max_ahead_(threads > 1 ? MaxAhead(threads) : 0) {}

  // Makes and uses all items. Returns the first error of `use`.
  absl::Status Run(const Use& use) {
    std::vector<std::thread> helpers = StartHelpers();
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

  // The maximum number of items that are made or being made at a time: two per
  // thread and a dozen more, so that threads seldom wait for each other. The
  // kernel may wake a waiting thread on a busy processor although another
  // processor is idle.
  static constexpr size_t MaxAhead(size_t threads) { return 2 * threads + 12; }

 private:
  // Starts fewer helpers if the system does not start all of them.
  std::vector<std::thread> StartHelpers() {
    std::vector<std::thread> helpers;
    try {
      while (helpers.size() + 1 < threads_) {
        helpers.emplace_back([this] { Help(); });
      }
    } catch (const std::system_error&) {
      // The calling thread makes what the missing helpers do not.
    }
    return helpers;
  }

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

  // Returns the item whose turn it is.
  Item Take(size_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
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
        std::optional<Item> item = std::move(made_.extract(number).mapped());
        if (item.has_value()) return *std::move(item);
      } else {
        ++begun_;
      }
    }
    return *make_(number, /*in_turn=*/true);
  }

  bool CanBegin() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return begun_ < std::min(count_, turn_ + max_ahead_);
  }

  void MakeAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t number = begun_++;
    mutex_.Unlock();
    std::optional<Item> item = make_(number, /*in_turn=*/false);
    mutex_.Lock();
    if (!item.has_value()) max_ahead_ = 0;
    made_.emplace(number, std::move(item));
    was_made_.Notify();
  }

  const size_t count_;
  const size_t threads_;
  const Make make_;
  absl::Mutex mutex_;
  Wakeup may_begin_;
  Wakeup was_made_;
  size_t max_ahead_ ABSL_GUARDED_BY(mutex_);
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;  // the next number to begin
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;   // the number whose turn it is
  std::map<size_t, std::optional<Item>> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_ORDERED_WORK_H_
