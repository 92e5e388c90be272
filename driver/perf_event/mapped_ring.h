// Maps the ring of an event.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_MAPPED_RING_H_
#define FLEETPERF_DRIVER_PERF_EVENT_MAPPED_RING_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/mapped_memory.h"
#include "driver/perf_event/ring.h"

namespace fleetperf::perf_event {

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
