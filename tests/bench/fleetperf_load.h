// The agents of a workload, each with a connection and a stream of its own to
// an aggregator.
//
// What they send is encoded before it is sent, each machine's for itself and
// with nothing left out, so that sending costs little.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// How sending at the machines' own pace went.
struct Pace {
  // What the machines' clocks were behind ours: theirs stand still until this
  // begins.
  absl::Duration behind;
  // From the time that a message was due, its last tick's, until it was
  // acknowledged.
  std::vector<absl::Duration> delays;
  // From that time until it was given to gRPC, at most.
  absl::Duration latest;
};

// Thread-compatible.
class FleetperfLoad {
 public:
  // Connects agents to `server`, a hundred at a time, each with a certificate
  // of its own.
  static absl::StatusOr<std::unique_ptr<FleetperfLoad>> Connect(
      const Workload& workload, const FleetperfProcess& server);
  ~FleetperfLoad();

  // Encodes the next ticks of every machine.
  void Prepare(size_t ticks, int ticks_per_message);
  // Encodes a first message of every machine. Some have fewer ticks, so that
  // later ones of `ticks_per_message` are due at evenly spread times.
  void PrepareFirst(int ticks_per_message);

  // What was prepared so far, of all machines and of each.
  uint64_t samples() const;
  uint64_t samples(size_t machine) const;
  uint64_t messages() const;

  // Sends what was prepared as fast as it is taken, and waits until it is
  // acknowledged.
  absl::Status Send();
  // The same, a hundred machines after the other.
  absl::Status SendByTurns();
  // The same, but each message when its last tick has come.
  absl::StatusOr<Pace> SendPaced();

  // Sends ticks of the two hours after the last one: with them all but the last
  // of these is complete.
  absl::Status SendNextHours();

 private:
  struct Agent;

  FleetperfLoad() = default;

  absl::Status SendOf(size_t first, size_t end);

  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
