// The cost of TLS alone: a thread that writes the same bytes to all readers.

#ifndef FLEETPERF_TESTS_BENCH_TLS_FLOOR_H_
#define FLEETPERF_TESTS_BENCH_TLS_FLOOR_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/credentials.h"

namespace fleetperf::bench {

struct FloorLoad {
  size_t readers = 0;
  size_t rounds = 0;
  absl::Duration pause;    // between rounds
  size_t line_bytes = 0;   // to each reader, in each round
  size_t other_bytes = 0;  // to one of the readers, in each round
};

// Returns the CPU time of the thread that encrypts and writes, in user and
// kernel mode. `server` is the certificate of 127.0.0.1.
absl::StatusOr<absl::Duration> MeasureTlsFloor(const FloorLoad& load,
                                               const TlsFiles& server);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_TLS_FLOOR_H_
