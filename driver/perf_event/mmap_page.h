// The first page of an event's mapping: positions of the ring, and what a
// thread needs to read its own event without a system call.
//
// Source of the layout: struct perf_event_mmap_page in
// include/uapi/linux/perf_event.h of Linux 6.18.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_MMAP_PAGE_H_
#define FLEETPERF_DRIVER_PERF_EVENT_MMAP_PAGE_H_

#include <cstddef>
#include <cstdint>

namespace fleetperf::perf_event {

// The kernel changes all fields except data_tail, aux_tail, aux_offset and
// aux_size at any time.
struct MmapPage {
  uint32_t version;
  uint32_t compat_version;
  uint32_t lock;   // odd or changed: read again
  uint32_t index;  // of the hardware counter, plus 1; 0: not on a counter
  int64_t offset;  // to add to the hardware counter
  uint64_t time_enabled;  // ns
  uint64_t time_running;  // ns
  uint64_t capabilities;  // bits of namespace capability
  uint16_t pmc_width;     // bits of the hardware counter
  uint16_t time_shift;
  uint32_t time_mult;
  uint64_t time_offset;
  uint64_t time_zero;
  uint32_t size;  // of the fields up to `reserved`
  uint32_t reserved_1;
  uint64_t time_cycles;
  uint64_t time_mask;
  uint8_t reserved[116 * 8];
  uint64_t data_head;  // bytes written since the start, modulo 2^64
  uint64_t data_tail;  // bytes that the reader has released
  // Of the ring from the start of the mapping. 0 before Linux 4.1, which puts
  // the ring into all pages but the first.
  uint64_t data_offset;
  uint64_t data_size;
  uint64_t aux_head;
  uint64_t aux_tail;
  uint64_t aux_offset;
  uint64_t aux_size;
};
static_assert(offsetof(MmapPage, capabilities) == 40);
static_assert(offsetof(MmapPage, time_cycles) == 80);
static_assert(offsetof(MmapPage, data_head) == 1024);
static_assert(sizeof(MmapPage) == 1088);

// MmapPage::capabilities.
namespace capability {
inline constexpr uint64_t kBit0IsDeprecated = 1 << 1;
inline constexpr uint64_t kUserRdpmc = 1 << 2;
inline constexpr uint64_t kUserTime = 1 << 3;
inline constexpr uint64_t kUserTimeZero = 1 << 4;
inline constexpr uint64_t kUserTimeShort = 1 << 5;
}  // namespace capability

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_MMAP_PAGE_H_
