// Maps the ring of an event.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_MAPPED_RING_H_
#define FLEETPERF_DRIVER_PERF_EVENT_MAPPED_RING_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/ring.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

// Memory of a System that is unmapped with the object.
class MappedMemory {
 public:
  MappedMemory(System& system, void* address, size_t size)
      : system_(&system), address_(address), size_(size) {}
  MappedMemory(MappedMemory&& other) noexcept
      : system_(other.system_),
        address_(std::exchange(other.address_, nullptr)),
        size_(other.size_) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedMemory() {
    if (address_ != nullptr) system_->Unmap(address_, size_);
  }

  char* data() const { return static_cast<char*>(address_); }
  size_t size() const { return size_; }

 private:
  System* system_;
  void* address_;
  size_t size_;
};

struct MappedRing {
  MappedMemory mapping;
  RingMemory memory;
};

// Maps a ring of `pages` pages, rounded up to a power of two and at least 1,
// after the page of positions. The kernel overwrites its oldest records unless
// the ring is writable.
//
// Errors name the event:
//   PermissionDenied   more memory than the user may lock; see
//                      /proc/sys/kernel/perf_event_mlock_kb and RLIMIT_MEMLOCK
//   ResourceExhausted  no memory
//   InvalidArgument    too many pages; or an inherited event of a thread on any
//                      CPU, whose ring the kernel refuses: use an event per CPU
absl::StatusOr<MappedRing> MapRing(const Counter& counter, size_t pages,
                                   bool writable);

// Maps an AUX area of `pages` pages, rounded up in the same way, behind `ring`.
// Needs Linux 4.1. Unimplemented: the event's PMU has no AUX area.
absl::StatusOr<MappedMemory> MapAux(const Counter& counter,
                                    const MappedRing& ring, size_t pages);

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_MAPPED_RING_H_
