// Reads the AUX area: bytes of a hardware trace, such as Intel PT's.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_AUX_RING_H_
#define FLEETPERF_DRIVER_PERF_EVENT_AUX_RING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "driver/perf_event/mmap_page.h"

namespace fleetperf::perf_event {

// Bytes in their order. The second part is what continues at the start of the
// area.
struct AuxBytes {
  absl::string_view first;
  absl::string_view second;

  uint64_t size() const { return first.size() + second.size(); }
};

// Works on any memory. Not thread-safe; the kernel writes concurrently, and
// stops while there is no room.
class AuxRing {
 public:
  // `data` has a power of two bytes.
  AuxRing(MmapPage* page, absl::Span<const char> data)
      : page_(page), data_(data) {}

  // Returns what was written and not released. DataLoss: positions that cannot
  // be; all of it is released.
  absl::StatusOr<AuxBytes> Read();
  // Gives the first `bytes` of what Read returned, or all of it if that is
  // less, back to the kernel.
  void Release(uint64_t bytes);

  // Returns the bytes that a kAux record of the ring announces, as far as the
  // area still holds them.
  AuxBytes At(uint64_t offset, uint64_t size) const;

  size_t size() const { return data_.size(); }

 private:
  MmapPage* page_;
  absl::Span<const char> data_;
  uint64_t read_ = 0;  // size of what Read returned
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_AUX_RING_H_
