#include "agent/source/linux/time_bound.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "agent/source/linux/units.h"
#include "base/os/clock.h"

namespace fleetperf::agent {
namespace {

// The longest tick of a Linux kernel, with CONFIG_HZ=100. It is the unit of
// times in /proc, too.
constexpr uint64_t kTick = k100NSecPerJiffy;

}  // namespace

void TimeBound::BeforeRead() { before_read_ = Clock::Real().Monotonic(); }

void TimeBound::AfterRead(const perflib::Clocks& clocks) {
  // Both are 0 or less after the first read.
  const int64_t by_block = elapsed_.Advance(clocks);
  const int64_t by_reads =
      (Clock::Real().Monotonic() - before_last_read_) / absl::Nanoseconds(100);
  longest_ = static_cast<uint64_t>(std::max({by_block, by_reads, int64_t{0}}));
  before_last_read_ = before_read_;
}

// Rounding both values down to ticks adds at most the rest of the last one. The
// kernel, which counts whole ticks itself, adds the other.
bool TimeBound::Allows(uint64_t last, uint64_t now, uint64_t units) const {
  if (now < last) return false;
  if (now - last <= longest_) return true;  // needs no division
  const absl::uint128 passed = absl::uint128(longest_) * units;
  return now - last <= (passed + kTick - 1) / kTick * kTick + kTick;
}

}  // namespace fleetperf::agent
