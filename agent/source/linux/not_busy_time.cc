#include "agent/source/linux/not_busy_time.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace fleetperf::agent {
namespace {

// The difference of the two clocks' lengths from which on the aggregator sees a
// step: 50 ms and 1 % of the length.
bool HasStepped(int64_t time_of_day, int64_t monotonic) {
  return std::abs(time_of_day - monotonic) > 500'000 + monotonic / 100;
}

// The busy times are rounded down to 10 ms, each on its own. More than this is
// time that the kernel counted twice; it is not held against later idle time.
constexpr int64_t kMaxAhead = 1'000'000;  // 100 ms

}  // namespace

int64_t ElapsedTime::Advance(const perflib::Clocks& now) {
  const perflib::Clocks last = std::exchange(last_, now).value_or(now);
  const int64_t time_of_day = now.perf_time_100nsec - last.perf_time_100nsec;
  // The ticks of kLinuxPerfFreq are 100 ns long, too.
  const int64_t monotonic = now.perf_time_stamp - last.perf_time_stamp;
  return HasStepped(time_of_day, monotonic) ? monotonic : time_of_day;
}

void NotBusyTime::Start(uint64_t busy) {
  busy_ = busy;
  ahead_ = 0;
}

void NotBusyTime::Add(int64_t elapsed, uint64_t busy) {
  const int64_t idle = elapsed - static_cast<int64_t>(busy - busy_) - ahead_;
  busy_ = busy;
  ahead_ = std::clamp(-idle, int64_t{0}, kMaxAhead);
  if (idle > 0) value_ += static_cast<uint64_t>(idle);
}

}  // namespace fleetperf::agent
