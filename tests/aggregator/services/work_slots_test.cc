#include "aggregator/services/work_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;

const IsCancelled kNever;

// Threads that enter, note their caller, and leave.
class Callers {
 public:
  explicit Callers(WorkSlots* slots) : slots_(*slots) {}
  ~Callers() { Join(); }

  // Starts a call and waits until it waits for a slot.
  void AddWaiting(const std::string& caller) {
    const size_t waiting = slots_.waiting();
    threads_.emplace_back([this, caller] {
      const auto slot = slots_.Enter(caller, kNever);
      absl::MutexLock lock(&mutex_);
      entered_.push_back(caller);
    });
    while (slots_.waiting() == waiting) std::this_thread::yield();
  }

  // Returns the callers in the order in which they got a slot.
  std::vector<std::string> Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    absl::MutexLock lock(&mutex_);
    return entered_;
  }

 private:
  WorkSlots& slots_;
  std::vector<std::thread> threads_;
  absl::Mutex mutex_;
  std::vector<std::string> entered_ ABSL_GUARDED_BY(mutex_);
};

TEST(WorkSlots, CallersTakeTurns) {
  WorkSlots slots({.slots = 1, .slots_of_caller = 1});
  auto first = slots.Enter("a", kNever);
  Callers callers(&slots);
  for (const char* caller : {"a", "a", "a", "b", "b", "c"}) {
    callers.AddWaiting(caller);
  }
  first = nullptr;
  EXPECT_THAT(callers.Join(), ElementsAre("b", "c", "a", "b", "a", "a"));
}

TEST(WorkSlots, PrefersTheCallerWithTheFewestSlots) {
  WorkSlots slots({.slots = 3, .slots_of_caller = 3});
  std::vector<std::unique_ptr<WorkSlots::Slot>> of_a;
  for (int i = 0; i < 2; ++i) of_a.push_back(slots.Enter("a", kNever));
  auto of_b = slots.Enter("b", kNever);
  Callers callers(&slots);
  callers.AddWaiting("a");
  callers.AddWaiting("b");
  of_b = nullptr;
  EXPECT_THAT(callers.Join(), ElementsAre("b", "a"));
}

TEST(WorkSlots, LimitsTheSlotsOfACaller) {
  WorkSlots slots({.slots = 3, .slots_of_caller = 2});
  auto one = slots.Enter("a", kNever);
  const auto two = slots.Enter("a", kNever);
  Callers callers(&slots);
  callers.AddWaiting("a");
  // The waiting call of "a" may not run, so it does not keep others waiting.
  EXPECT_NE(slots.Enter("b", kNever), nullptr);
  EXPECT_EQ(slots.waiting(), 1u);
  one = nullptr;
  EXPECT_THAT(callers.Join(), ElementsAre("a"));
}

TEST(WorkSlots, ACallerThatIsGoneLeavesTheQueue) {
  WorkSlots slots({.slots = 1, .slots_of_caller = 1});
  auto first = slots.Enter("a", kNever);
  EXPECT_EQ(slots.Enter("b", [] { return true; }), nullptr);
  EXPECT_EQ(slots.waiting(), 0u);
  first = nullptr;
  EXPECT_NE(slots.Enter("c", kNever), nullptr);
}

}  // namespace
}  // namespace fleetperf::aggregator
