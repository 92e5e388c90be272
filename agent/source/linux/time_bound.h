// The bound of times that the kernel counts.
//
// A busy, idle or waiting time of one processor or disk grows by at most the
// time that passes. If it grows by more, the file shows something else since
// the last reading: another CPU after a container's cpuset changed, or another
// device with the same number. Neither the growth nor a part of it is true, so
// the value must not be clamped: the life of the instance ends, and what spans
// the change is a gap with the cause `new_life`.
//
// Times that are sums over requests, such as the time of a disk's reads, have
// no bound, and neither have counts of operations and bytes. Times that the
// kernel adds only when a state ends, such as those of idle states, can grow
// later than they passed; this bound is not for them.
//
// Example, for a file whose times are in jiffies:
//
//   bound_.BeforeRead();
//   ASSIGN_OR_RETURN(text, file_.Read(&buffer_));
//   bound_.AfterRead(clocks);
//   ...
//   if (!bound_.Allows(last * k100NSecPerJiffy, now * k100NSecPerJiffy)) {
//     life_start_ = LifeStart(clocks);  // of the row: kLifeStartCounter
//   }

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_TIME_BOUND_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_TIME_BOUND_H_

#include <cstdint>

#include "absl/time/time.h"
#include "agent/source/linux/not_busy_time.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// The bound for the times in one file. Thread-compatible.
class TimeBound {
 public:
  // Call these directly before the file is read, and after it was read. If the
  // read fails, AfterRead is not called; then the next bound is for the time
  // since the last read that succeeded. `clocks` are those of the block. The
  // time that passed is the longest by their clocks and by the machine's at the
  // reads themselves, because a block's clocks are read some time before the
  // files are.
  void BeforeRead();
  void AfterRead(const perflib::Clocks& clocks);

  // Returns whether a time can have grown from `last` to `now`, both in units
  // of 100 ns, between the last two reads: by at most the time that passed, in
  // whole ticks, and one tick more. `units` is the number of processors or
  // devices whose times it is the sum of. A fall is not allowed.
  bool Allows(uint64_t last, uint64_t now, uint64_t units = 1) const;

 private:
  ElapsedTime elapsed_;
  absl::Duration before_read_ = absl::InfiniteDuration();
  absl::Duration before_last_read_ = absl::InfiniteDuration();
  uint64_t longest_ = 0;  // in units of 100 ns
};

// Returns the value of kLifeStartCounter for a life that begins at this block.
// That of an instance's first life is 0.
inline uint64_t LifeStart(const perflib::Clocks& clocks) {
  return static_cast<uint64_t>(clocks.perf_time_stamp);
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_TIME_BOUND_H_
