#include "driver/perf_event/scaled_total.h"

namespace fleetperf::perf_event {

void ScaledTotal::Add(uint64_t count, uint64_t time_enabled,
                      uint64_t time_running) {
  if (count < start_count_ || time_enabled < last_enabled_ ||
      time_running < last_running_) {
    start_count_ = start_enabled_ = start_running_ = 0;
    last_enabled_ = last_running_ = 0;
  }
  total_enabled_ += time_enabled - last_enabled_;
  total_running_ += time_running - last_running_;
  last_enabled_ = time_enabled;
  last_running_ = time_running;

  const uint64_t running = time_running - start_running_;
  is_known_ = is_known_ || running > 0 || total_enabled_ == 0;
  if (running == 0) return;
  const unsigned __int128 product =
      static_cast<unsigned __int128>(count - start_count_) *
      (time_enabled - start_enabled_);
  const auto remainder = static_cast<uint64_t>(product % running);
  const auto fraction = static_cast<uint64_t>(
      (static_cast<unsigned __int128>(remainder) << 64) / running);
  fraction_ += fraction;
  const bool carry = fraction_ < fraction;
  total_ += static_cast<uint64_t>(product / running) + carry;
  start_count_ = count;
  start_enabled_ = time_enabled;
  start_running_ = time_running;
}

}  // namespace fleetperf::perf_event
