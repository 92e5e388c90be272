// Wakes the thread that serves the connections.

#ifndef FLEETPERF_AGGREGATOR_WEB_WAKER_H_
#define FLEETPERF_AGGREGATOR_WEB_WAKER_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/server/listening_socket.h"

namespace fleetperf::aggregator::web {

// Thread-safe. Threads that make answers may keep it beyond the server's end.
class Waker {
 public:
  // Makes the descriptor readable. Remembers the number of a connection.
  void Wake(uint64_t number) {
    {
      absl::MutexLock lock(&mutex_);
      numbers_.push_back(number);
      if (numbers_.size() > 1) return;  // it is readable
    }
    const uint64_t one = 1;
    if (write(fd_.get(), &one, sizeof one) < 0) return;  // it is readable
  }

  // Returns the numbers since the last call.
  std::vector<uint64_t> Take() {
    uint64_t count;
    // Before the numbers are taken: later ones make it readable again.
    if (read(fd_.get(), &count, sizeof count) < 0) count = 0;
    absl::MutexLock lock(&mutex_);
    return std::exchange(numbers_, {});
  }

  int fd() const { return fd_.get(); }

 private:
  const OwnedFd fd_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  absl::Mutex mutex_;
  std::vector<uint64_t> numbers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_WAKER_H_
