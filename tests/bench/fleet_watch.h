// A subscriber that watches a series of every machine and records when each
// sample arrives.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_WATCH_H_
#define FLEETPERF_TESTS_BENCH_FLEET_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/credentials.h"

namespace fleetperf::bench {

// Thread-compatible.
class FleetWatch {
 public:
  struct Sample {
    absl::Time taken;  // by the machine's clock
    absl::Time received;
  };

  // Subscribes to a timer of each machine of a FleetWorkload that has samples,
  // and waits for the newest of them. `tls` is a reader's.
  static absl::StatusOr<std::unique_ptr<FleetWatch>> Start(
      const std::string& address, const TlsFiles& tls);
  ~FleetWatch();

  // The samples that arrived since Start().
  struct Watched {
    std::vector<Sample> samples;
    uint64_t lagged = 0;  // values dropped because this read too slowly
  };
  // Ends the subscription. Must be the last call.
  Watched Stop();

 private:
  struct Stream;

  explicit FleetWatch(std::unique_ptr<Stream> stream);

  const std::unique_ptr<Stream> stream_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_WATCH_H_
