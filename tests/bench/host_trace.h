// A recorded trace of one host's counters.
//
// The file, little-endian:
//   char[4] "RTR1"; u32 ticks; u32 series; i64 time_unix_ms[ticks]
// then for each series
//   u16 size; char name[size]; u32 first_tick; u32 n; i64 value[n]
// value[k] belongs to tick first_tick + k. A name is
// "counterset|instance|counter"; the instance may be empty.

#ifndef FLEETPERF_TESTS_BENCH_HOST_TRACE_H_
#define FLEETPERF_TESTS_BENCH_HOST_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

class HostTrace {
 public:
  // InvalidArgument if the file is not a valid trace.
  static absl::StatusOr<HostTrace> Read(const std::string& path);

  // Returns one machine "host" that replays the trace once, shifted to begin
  // just after `start`. The result refers to this object.
  Workload MakeWorkload(absl::Time start) const;

 private:
  friend class TraceMachine;
  struct Series {
    size_t place = 0;  // index in the values of a tick
    size_t first_tick = 0;
    std::vector<uint64_t> values;
  };

  // Builds `countersets_` from all names and assigns a place to each series.
  void Arrange(const std::vector<std::string>& names);

  std::vector<absl::Duration> ticks_;  // since the first
  std::vector<Series> series_;
  std::vector<WorkloadCounterset> countersets_;
  size_t places_ = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_HOST_TRACE_H_
