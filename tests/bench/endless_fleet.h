// A fleet that sends at the pace of its machines for as long as one likes.
//
// Several agents, twins, play the same machine under different names, so that
// encoding the messages costs less than the server's work on them.

#ifndef FLEETPERF_TESTS_BENCH_ENDLESS_FLEET_H_
#define FLEETPERF_TESTS_BENCH_ENDLESS_FLEET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/machine_workload.h"

namespace fleetperf::bench {

struct FleetSize {
  size_t agents = 0;
  size_t twins = 0;  // agents that play the same machine; divides `agents`
  int series = 0;    // approximate, per agent
  std::string names = "host-";  // followed by a number
};

// Each agent has a TLS connection and a certificate of its own, ticks once a
// second, and sends ten ticks in a message. Thread-safe: one thread sends while
// others take delays.
class EndlessFleet {
 public:
  // Connects agents, "host-0", "host-1" and so on by default, and sends the
  // first message of each, with its definitions. `server` must outlive the
  // result.
  static absl::StatusOr<std::unique_ptr<EndlessFleet>> Connect(
      const FleetSize& size, const FleetperfProcess& server);
  // Same, of machines of another kind than FleetWorkload's. `make` is called
  // once all agents are connected; their clocks begin at `start`.
  using MakeWorkload =
      std::function<Workload(size_t machines, absl::Time start)>;
  static absl::StatusOr<std::unique_ptr<EndlessFleet>> Connect(
      const FleetSize& size, MakeWorkload make, const FleetperfProcess& server);
  ~EndlessFleet();

  // Sends the messages that are due until `end`. Does not wait for their
  // acknowledgments.
  void SendUntil(absl::Time end);
  // Waits until all messages are acknowledged. Returns an error if the server
  // rejected a message or ended a stream.
  absl::Status AwaitAcknowledged();

  // Returns an error that names an agent whose stream has failed, if any has.
  absl::Status CheckStreams() const;

  // The number of times so far that the server has asked an agent to reconnect.
  uint64_t reconnects() const;

  // The time of the newest samples that are due. Thread-safe.
  absl::Time now() const { return absl::Now() - behind_; }

  // The number of samples sent so far.
  uint64_t samples() const { return samples_; }

  // Returns the wall times from messages' due times to their acknowledgments
  // since the previous call, sorted.
  std::vector<absl::Duration> TakeDelays();

 private:
  struct Agent;
  struct Machine;

  EndlessFleet(const FleetSize& size, MakeWorkload make);

  absl::Status ConnectAgents(const FleetperfProcess& server);
  absl::Status SendFirst();
  void OnAcknowledged(const Machine& machine, uint64_t sequence, Agent* agent);

  const FleetSize size_;
  const MakeWorkload make_;
  size_t next_ = 0;
  uint64_t samples_ = 0;
  // Offset of the machines' clocks behind the real one.
  absl::Duration behind_;

  absl::Mutex mutex_;
  // Whether delays count. Machines' clocks stand still while first messages are
  // sent.
  bool is_paced_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<absl::Duration> delays_ ABSL_GUARDED_BY(mutex_);

  // In the order of sending. Last: their streams use the other members.
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_ENDLESS_FLEET_H_
