// Reads an event of the own thread without a system call, through RDPMC.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/mmap_page.h"

namespace fleetperf::perf_event {

struct UserValue {
  // Absent if the event is not on a hardware counter at this moment, as
  // software events never are, or if the page does not permit RDPMC:
  // Counter::Read has the count.
  std::optional<uint64_t> count;
  // ns. Current if the page has a clock (has_clock()); otherwise those of the
  // last change of the event by the kernel.
  uint64_t time_enabled = 0;
  uint64_t time_running = 0;
};

// Maps the first page of an event that observes the thread which reads it.
// Needs Linux 3.12, x86, and /sys/bus/event_source/devices/cpu/rdpmc other than
// 0. The counter must outlive the reader. Movable; thread-compatible.
class UserReader {
 public:
  static absl::StatusOr<UserReader> Create(const Counter& counter);
  UserReader(UserReader&& other) noexcept
      : system_(other.system_),
        page_(std::exchange(other.page_, nullptr)),
        size_(other.size_) {}
  UserReader& operator=(UserReader&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~UserReader();

  // Whether the kernel permits RDPMC for this event now.
  bool can_read_count() const;
  // Whether times advance between changes by the kernel.
  bool has_clock() const;

  // Unavailable: the page changed at each of 100 attempts, which it does if
  // another thread than the observed one reads it.
  absl::StatusOr<UserValue> Read() const;

 private:
  UserReader(System& system, volatile MmapPage* page, size_t size)
      : system_(&system), page_(page), size_(size) {}

  UserValue ReadOnce() const;

  System* system_;
  volatile MmapPage* page_;
  size_t size_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_
