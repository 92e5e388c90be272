// Makes the system refuse to start threads, as it does at a limit of processes.

#ifndef FLEETPERF_TESTS_SUPPORT_NO_NEW_THREADS_H_
#define FLEETPERF_TESTS_SUPPORT_NO_NEW_THREADS_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace fleetperf::testing {

// While the object exists, the process cannot start threads: their default
// stack exceeds the address space, so that pthread_create fails with EAGAIN.
// Unlike RLIMIT_NPROC, this also holds for root. Running threads continue.
// Linux only.
class NoNewThreads {
 public:
  NoNewThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    EXPECT_EQ(pthread_getattr_default_np(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoNewThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoNewThreads(const NoNewThreads&) = delete;
  NoNewThreads& operator=(const NoNewThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_NO_NEW_THREADS_H_
