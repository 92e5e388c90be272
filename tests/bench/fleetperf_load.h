// The agents of a workload, each with its own connection and stream to an
// aggregator.
//
// Messages are encoded in advance, separately for each machine and completely,
// so that sending costs little.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

// The result of sending at the machines' pace. Durations are wall time.
struct Pace {
  // Offset of the machines' clocks behind the real clock. The machines' clocks
  // stand still until sending begins.
  absl::Duration behind;
  // From a message's due time, which is the time of its last tick, to its
  // acknowledgment.
  std::vector<absl::Duration> delays;
  // The largest delay from a message's due time to the call of gRPC.
  absl::Duration latest;
};

// Thread-compatible.
class FleetperfLoad {
 public:
  // Connects agents to `server`, a hundred at a time, each with its own
  // certificate.
  static absl::StatusOr<std::unique_ptr<FleetperfLoad>> Connect(
      const Workload& workload, const FleetperfProcess& server);
  ~FleetperfLoad();

  // Encodes the next ticks of every machine.
  void Prepare(size_t ticks, int ticks_per_message);
  // Encodes a first message of every machine. Its number of ticks differs by
  // machine, so that later messages of `ticks_per_message` ticks are due at
  // evenly spread times.
  void PrepareFirst(int ticks_per_message);

  // Totals of the messages prepared so far, of all machines or of one.
  uint64_t samples() const;
  uint64_t samples(size_t machine) const;
  uint64_t messages() const;

  // The time of the newest tick of all messages sent. Thread-safe.
  absl::Time newest_tick() const;

  // Sends the prepared messages as fast as the server accepts them, and waits
  // for the acknowledgments.
  absl::Status Send();
  // Same, for a hundred machines at a time, so that none waits long enough for
  // gRPC to consider its connection dead.
  absl::Status SendByTurns();
  // Same, but sends each message at the time of its last tick.
  absl::StatusOr<Pace> SendPaced();

  // Sends a tick in each of the two hours after the last tick. This way, all
  // hours but the second of these are complete.
  absl::Status SendNextHours();

 private:
  struct Agent;

  FleetperfLoad() = default;

  absl::Status SendOf(size_t first, size_t end);
  void NoteSent(absl::Time tick);

  std::vector<std::unique_ptr<Agent>> agents_;
  mutable absl::Mutex mutex_;
  absl::Time newest_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_LOAD_H_
