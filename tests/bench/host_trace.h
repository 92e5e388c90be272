// A recorded trace of one host's counters.
//
// The file, little-endian:
//   char[4] "RTR1"; u32 ticks; u32 series; i64 time_unix_ms[ticks]
// then for each series
//   u16 size; char name[size]; u32 first_tick; u32 n; i64 value[n]
// value[k] is that of tick first_tick + k. A name is
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
  // InvalidArgument if the file is no trace.
  static absl::StatusOr<HostTrace> Read(const std::string& path);

  // The trace, once, of a machine called "host", as if it had begun just after
  // `start`. It refers to this.
  Workload MakeWorkload(absl::Time start) const;

 private:
  friend class TraceMachine;
  struct Series {
    size_t place = 0;  // among the values of a tick
    size_t first_tick = 0;
    std::vector<uint64_t> values;
  };

  // Says where a series belongs, once all are known.
  void Arrange(const std::vector<std::string>& names);

  std::vector<absl::Duration> ticks_;  // since the first
  std::vector<Series> series_;
  std::vector<WorkloadCounterset> countersets_;
  size_t places_ = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_HOST_TRACE_H_
