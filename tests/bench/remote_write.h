// What somebody who uses Prometheus would send of a workload's machine: each
// counter is a metric, with the machine, counterset and instance as labels.

#ifndef FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_
#define FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// A metric's name for a counter's: "User Time" is User_Time.
std::string MetricName(absl::string_view counter);

// Thread-compatible.
class RemoteWriter {
 public:
  explicit RemoteWriter(std::unique_ptr<MachineWorkload> machine);

  // The body of a request with the next ticks: version 1 of the protocol,
  // compressed. https://prometheus.io/docs/concepts/remote_write_spec/
  std::string NextRequest(int ticks);

  // Samples in the requests so far.
  uint64_t samples() const { return samples_; }

 private:
  struct Series {
    std::string labels;  // of a TimeSeries, serialized
    bool is_real = false;
    std::string samples;  // of the request, likewise
  };

  std::unique_ptr<MachineWorkload> machine_;
  std::vector<Series> series_;  // by counterset, instance and counter
  uint64_t samples_ = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_
