// Encodes a workload's machine for Prometheus's remote write. Each counter is a
// metric, with the machine, counterset and instance as labels.

#ifndef FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_
#define FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "aggregator/export/write_request.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Returns the metric name for a counter: User_Time for "User Time".
std::string MetricName(absl::string_view counter);

// Thread-compatible.
class RemoteWriter {
 public:
  explicit RemoteWriter(std::unique_ptr<MachineWorkload> machine);

  // Returns the compressed body of a request with the next ticks, in version 1
  // of the protocol. https://prometheus.io/docs/concepts/remote_write_spec/
  std::string NextRequest(int ticks);

  // The number of samples in the requests so far.
  uint64_t samples() const { return samples_; }

 private:
  struct Series {
    std::string labels;  // encoded
    bool is_real = false;
    std::vector<aggregator::ExportSample> samples;  // of the current request
  };

  std::unique_ptr<MachineWorkload> machine_;
  std::vector<Series> series_;  // by counterset, instance and counter
  aggregator::WriteRequestBuilder request_;
  uint64_t samples_ = 0;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_REMOTE_WRITE_H_
