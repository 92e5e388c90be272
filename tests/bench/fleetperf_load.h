// The agents of a workload, each with a stream of its own to an aggregator.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/credentials.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// Thread-compatible.
class FleetperfLoad {
 public:
  // `tls` has the names of all machines.
  static absl::StatusOr<std::unique_ptr<FleetperfLoad>> Connect(
      const Workload& workload, const std::string& address,
      const TlsFiles& tls);
  ~FleetperfLoad();

  // Encodes the next ticks of every machine.
  void Prepare(size_t ticks, int ticks_per_message);
  // How many samples were prepared so far, of all machines and of each.
  uint64_t samples() const;
  uint64_t samples(size_t machine) const;

  // Sends what was prepared as fast as it is taken, and waits until it is
  // acknowledged.
  absl::Status Send();

  // Sends ticks of the two hours after the last one: with them all but the last
  // of these is complete.
  absl::Status SendNextHours();

 private:
  struct Agent;

  FleetperfLoad() = default;

  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
