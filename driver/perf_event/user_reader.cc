#include "driver/perf_event/user_reader.h"

#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {
namespace {

constexpr int kMaxAttempts = 100;

// Extends a hardware counter of `width` bits by its sign. The kernel lets
// counters start below 0, and adds the rest in MmapPage::offset.
int64_t SignExtended(uint64_t value, unsigned width) {
  if (width == 0 || width >= 64) return static_cast<int64_t>(value);
  const unsigned unused = 64 - width;
  return static_cast<int64_t>(value << unused) >> unused;
}

// The ns from the page's times until `cycles` of the timestamp counter, by the
// formula in include/uapi/linux/perf_event.h.
uint64_t ElapsedTime(const volatile MmapPage& page, uint64_t cycles) {
  if ((page.capabilities & capability::kUserTimeShort) != 0) {
    cycles = page.time_cycles + ((cycles - page.time_cycles) & page.time_mask);
  }
  const unsigned shift = page.time_shift & 63u;
  const uint64_t quotient = cycles >> shift;
  const uint64_t remainder = cycles & ((uint64_t{1} << shift) - 1);
  const uint64_t multiplier = page.time_mult;
  return page.time_offset + quotient * multiplier +
         ((remainder * multiplier) >> shift);
}

}  // namespace

absl::StatusOr<UserReader> UserReader::Create(const Counter& counter) {
  System& system = counter.system();
  void* address = nullptr;
  const size_t size = system.page_size();
  const int result = system.Map(counter.descriptor(), size, 0,
                                /*writable=*/false, &address);
  if (result < 0) {
    return absl::ErrnoToStatus(
        -result, absl::StrCat(counter.name(), ": cannot map its page"));
  }
  return UserReader(system, static_cast<volatile MmapPage*>(address), size);
}

UserReader::~UserReader() {
  if (page_ != nullptr) system_->Unmap(const_cast<MmapPage*>(page_), size_);
}

// Before kBit0IsDeprecated, kernels set the other bits at random.
bool UserReader::can_read_count() const {
  const uint64_t capabilities = page_->capabilities;
  return system_->has_rdpmc() &&
         (capabilities & capability::kBit0IsDeprecated) != 0 &&
         (capabilities & capability::kUserRdpmc) != 0;
}

bool UserReader::has_clock() const {
  const uint64_t capabilities = page_->capabilities;
  return (capabilities & capability::kBit0IsDeprecated) != 0 &&
         (capabilities & capability::kUserTime) != 0;
}

UserValue UserReader::ReadOnce() const {
  UserValue value = {.time_enabled = page_->time_enabled,
                     .time_running = page_->time_running};
  const uint32_t index = page_->index;
  if (has_clock()) {
    const uint64_t elapsed =
        ElapsedTime(*page_, system_->ReadTimestampCounter());
    value.time_enabled += elapsed;
    if (index != 0) value.time_running += elapsed;
  }
  if (index != 0 && can_read_count()) {
    const int64_t hardware =
        SignExtended(system_->ReadPmc(index - 1), page_->pmc_width);
    value.count =
        static_cast<uint64_t>(page_->offset) + static_cast<uint64_t>(hardware);
  }
  return value;
}

// The kernel increments `lock` before and after it changes the page.
absl::StatusOr<UserValue> UserReader::Read() const {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const uint32_t before = page_->lock;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const UserValue value = ReadOnce();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (page_->lock == before && before % 2 == 0) return value;
  }
  return absl::UnavailableError(
      "the event's page changed at each of 100 attempts; read the event on the "
      "thread that it observes, or with Counter::Read");
}

}  // namespace fleetperf::perf_event
