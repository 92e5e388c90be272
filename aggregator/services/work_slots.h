// Slots for calls that use the processor and much memory, shared fairly between
// callers.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_WORK_SLOTS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_WORK_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/query/cancellation.h"
#include "base/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// A free slot goes to the waiting caller that has the fewest slots, and among
// these to the one that has not got a slot for the longest time. Callers at
// their own limit do not count as waiting. Thread-safe.
class WorkSlots {
 public:
  struct Limits {
    // Each query may hold much memory until its answer is sent
    // (QueryLimits::held).
    int slots = 8;
    // Half, so that one caller whose calls stall leaves slots for others.
    int slots_of_caller = 4;
  };

  // `clock` must outlive the object.
  explicit WorkSlots(const Limits& limits, const Clock* clock = &Clock::Real())
      : limits_(limits), clock_(*clock) {}

  // A slot, released by its destructor.
  class Slot {
   public:
    Slot(WorkSlots* slots, std::string caller)
        : slots_(*slots), caller_(std::move(caller)) {}
    ~Slot() { slots_.Leave(caller_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    WorkSlots& slots_;
    const std::string caller_;
  };

  // Waits for a slot. Returns nullptr if the caller cancels before it gets one.
  std::unique_ptr<Slot> Enter(const std::string& caller,
                              const IsCancelled& is_cancelled);

  // The numbers of calls that have, and that wait for, a slot.
  size_t running() const;
  size_t waiting() const;

 private:
  struct Caller {
    int running = 0;
    int waiting = 0;
    uint64_t last_turn = 0;  // 0: no turn since it last was idle
  };
  struct Waiter {
    Waiter(const std::string& name, const Clock* clock)
        : caller(name), entered(clock) {}
    const std::string caller;
    Wakeup entered;
    bool has_slot = false;
  };

  void Leave(const std::string& caller);
  // Gives free slots to waiters.
  void Assign() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the waiter whose turn it is, or nullptr if none may run.
  Waiter* Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIfIdle(const std::string& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Callers that run or wait.
  absl::flat_hash_map<std::string, Caller> callers_ ABSL_GUARDED_BY(mutex_);
  std::list<Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_WORK_SLOTS_H_
