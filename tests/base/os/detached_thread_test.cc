#include "base/os/detached_thread.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

TEST(DetachedThreadTest, EveryThreadRunsThoughItEndsAtOnce) {
  constexpr int kThreads = 2000;
  absl::Mutex mutex;
  Wakeup changed;
  int ended = 0;
  for (int i = 1; i <= kThreads; ++i) {
    ASSERT_OK(RunDetached([&] {
      absl::MutexLock lock(&mutex);
      ++ended;
      changed.Notify();
    }));
    if (i % 2 == 0) continue;  // two threads end at a time
    absl::MutexLock lock(&mutex);
    ASSERT_TRUE(changed.Await(&mutex, absl::Minutes(1), [&] {
      mutex.AssertHeld();
      return ended >= i - 1;
    }));
  }
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(changed.Await(&mutex, absl::Minutes(1), [&] {
    mutex.AssertHeld();
    return ended == kThreads;
  }));
}

}  // namespace
}  // namespace fleetperf
