// The processes that the chaos test disturbs: an aggregator and its agents,
// each behind a proxy of its own.
//
// An agent captures every block, so that its captures tell which ticks it took,
// whatever happens to the agent, its spool and the aggregator afterwards.
// Simulated faults:
// - A full disk is a small file system that holds the agent's state directory.
// - Clock steps and the record of synced files come from preload.cc.
// - A power cut kills the aggregator and truncates its files to their synced
//   sizes.

#ifndef FLEETPERF_TESTS_CHAOS_FLEET_H_
#define FLEETPERF_TESTS_CHAOS_FLEET_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tests/chaos/proxy.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/process.h"
#include "tests/e2e/ticks.h"
#include "tests/support/small_disk.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {

// An agent and the faults that it can suffer. A process that ends by itself, or
// with an error, fails the test. Thread-compatible.
class ChaosAgent {
 public:
  // `aggregator` is the aggregator's port. With `has_disk`, the state directory
  // is on a file system of its own. `more` is added to the configuration.
  ChaosAgent(Deployment* deployment, const std::string& name, int aggregator,
             bool has_disk, const std::string& more);
  ~ChaosAgent();

  const std::string& name() const { return name_; }
  Proxy& network() { return network_; }
  bool running() const { return process_ != nullptr; }

  void Start();
  // Sends SIGKILL. The tick in progress may be lost.
  void Kill();
  // Waits until the agent handles signals, sends SIGTERM and waits for the end
  // of the process.
  void Stop();

  bool has_disk() const { return disk_.has_value(); }
  void FillDisk();
  void FreeDisk();
  // Returns whether ticks may exist in memory only, because the disk is full or
  // the agent has not yet written its spool again.
  bool DependsOnMemory() const;

  SteppedClock& clock() { return clock_; }

  // Returns every tick that the agent took, according to its captures.
  Ticks Taken() const;
  // The ticks in progress when the agent was killed.
  const Ticks& interrupted() const { return interrupted_; }
  // Returns the logs of all processes of the agent.
  std::string Log() const;

 private:
  const std::string name_;
  const std::string directory_;  // of the captures
  const std::string config_;
  std::optional<SmallDisk> disk_;
  SteppedClock clock_;
  Proxy network_;
  std::unique_ptr<Process> process_;
  std::string log_;
  bool disk_is_full_ = false;
  Ticks interrupted_;
};

// The same for an aggregator. Thread-compatible.
class ChaosAggregator {
 public:
  explicit ChaosAggregator(Deployment* deployment);

  bool running() const { return process_ != nullptr; }
  void Start();
  void Kill();
  void Stop();
  // Kills the aggregator and discards everything that it had not synced.
  void CutPower();

  SteppedClock& clock() { return clock_; }
  int port() const;

 private:
  Deployment& deployment_;
  const std::string sync_log_;
  SteppedClock clock_;
  std::unique_ptr<Process> process_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_CHAOS_FLEET_H_
