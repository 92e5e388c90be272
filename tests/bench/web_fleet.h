// A fleet for the page: machines with few counters, whose processor time is
// known for every time.

#ifndef FLEETPERF_TESTS_BENCH_WEB_FLEET_H_
#define FLEETPERF_TESTS_BENCH_WEB_FLEET_H_

#include <cstddef>
#include <optional>

#include "absl/time/time.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Thread-compatible.
class WebFleet {
 public:
  // The counter that the page shows first.
  static constexpr char kPath[] =
      R"(\Processor Information(_Total)\% Processor Time)";
  // The time between two values of a machine on the page.
  static constexpr absl::Duration kWindow = absl::Seconds(10);
  static constexpr size_t kCounters = 11;  // of a machine

  // Returns machines "host-0", "host-1" and so on, which tick each second from
  // `start` on, each at its own part of the second. Must be called once.
  Workload Make(size_t machines, absl::Time start);

  // Returns the percentage for the window of a machine that ends at `end`.
  // std::nullopt if the window begins before the machine's samples.
  std::optional<double> ProcessorTime(size_t machine, absl::Time end) const;

 private:
  absl::Time start_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_WEB_FLEET_H_
