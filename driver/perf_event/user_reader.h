// Reads an event of the own thread without a system call, through RDPMC.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
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
        size_(other.size_),
        has_rdpmc_(other.has_rdpmc_) {}
  UserReader& operator=(UserReader&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    std::swap(has_rdpmc_, other.has_rdpmc_);
    return *this;
  }
  ~UserReader();

  // Whether the kernel permits RDPMC for this event now.
  bool can_read_count() const {
    return has_rdpmc_ && Has(page_->capabilities, capability::kUserRdpmc);
  }
  // Whether times advance between changes by the kernel.
  bool has_clock() const {
    return Has(page_->capabilities, capability::kUserTime);
  }

  // What RDPMC takes for the event's counter. Absent as UserValue::count is.
  std::optional<uint32_t> hardware_counter() const {
    const uint32_t index = page_->index;
    if (index == 0 || !can_read_count()) return std::nullopt;
    return index - 1;
  }
  // Of a hardware counter, in bits.
  unsigned counter_width() const { return page_->pmc_width; }

  // Unavailable: the page changed at each of 100 attempts, which it does if
  // another thread than the observed one reads it.
  absl::StatusOr<UserValue> Read() const {
    // Filled in place: copies of values that were just written wait for the
    // writes.
    absl::StatusOr<UserValue> result(absl::in_place);
    if (ABSL_PREDICT_FALSE(!TryRead(&*result))) result = ReadAgain();
    return result;
  }

 private:
  UserReader(System& system, volatile MmapPage* page, size_t size)
      : system_(&system),
        page_(page),
        size_(size),
        has_rdpmc_(system.has_rdpmc()) {}

  // Before kBit0IsDeprecated, kernels set the other bits at random.
  static bool Has(uint64_t capabilities, uint64_t bit) {
    const uint64_t needed = capability::kBit0IsDeprecated | bit;
    return (capabilities & needed) == needed;
  }
  // Returns whether the page did not change meanwhile.
  bool TryRead(UserValue* value) const;
  absl::StatusOr<UserValue> ReadAgain() const;
  // Extends a hardware counter of `width` bits by its sign. The kernel lets
  // counters start below 0, and adds the rest in MmapPage::offset.
  static int64_t SignExtended(uint64_t value, unsigned width) {
    if (width == 0 || width >= 64) return static_cast<int64_t>(value);
    const unsigned unused = 64 - width;
    return static_cast<int64_t>(value << unused) >> unused;
  }
  uint64_t ElapsedTime(uint64_t capabilities, uint64_t cycles) const;

  System* system_;
  volatile MmapPage* page_;
  size_t size_;
  bool has_rdpmc_;
};

// The ns from the page's times until `cycles` of the timestamp counter, by the
// formula in include/uapi/linux/perf_event.h.
inline uint64_t UserReader::ElapsedTime(uint64_t capabilities,
                                        uint64_t cycles) const {
  const volatile MmapPage& page = *page_;
  if ((capabilities & capability::kUserTimeShort) != 0) {
    cycles = page.time_cycles + ((cycles - page.time_cycles) & page.time_mask);
  }
  const unsigned shift = page.time_shift & 63u;
  const uint64_t quotient = cycles >> shift;
  const uint64_t remainder = cycles & ((uint64_t{1} << shift) - 1);
  const uint64_t multiplier = page.time_mult;
  return page.time_offset + quotient * multiplier +
         ((remainder * multiplier) >> shift);
}

// The kernel increments `lock` before and after it changes the page.
inline bool UserReader::TryRead(UserValue* value) const {
  const uint32_t before = page_->lock;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  uint64_t enabled = page_->time_enabled;
  uint64_t running = page_->time_running;
  const uint32_t index = page_->index;
  const uint64_t capabilities = page_->capabilities;
  if (Has(capabilities, capability::kUserTime)) {
    const uint64_t elapsed =
        ElapsedTime(capabilities, system_->ReadTimestampCounter());
    enabled += elapsed;
    if (index != 0) running += elapsed;
  }
  if (index != 0 && has_rdpmc_ && Has(capabilities, capability::kUserRdpmc)) {
    const int64_t hardware =
        SignExtended(system_->ReadPmc(index - 1), page_->pmc_width);
    value->count =
        static_cast<uint64_t>(page_->offset) + static_cast<uint64_t>(hardware);
  } else {
    value->count.reset();
  }
  value->time_enabled = enabled;
  value->time_running = running;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return page_->lock == before && before % 2 == 0;
}

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_USER_READER_H_
