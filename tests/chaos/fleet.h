// Agents, each behind a network of its own, and their aggregator: what the
// chaos test does things to, and what it knows about them.

#ifndef FLEETPERF_TESTS_CHAOS_FLEET_H_
#define FLEETPERF_TESTS_CHAOS_FLEET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tests/chaos/proxy.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/process.h"
#include "tests/e2e/ticks.h"
#include "tests/support/small_disk.h"

namespace fleetperf::testing {

class ChaosAgent {
 public:
  // Its state is on a disk of its own if `has_disk`.
  ChaosAgent(Deployment* deployment, const std::string& name, int aggregator,
             bool has_disk, const std::string& more);
  ~ChaosAgent();

  const std::string& name() const { return name_; }
  Proxy& network() { return network_; }
  bool running() const { return process_ != nullptr; }

  void Start();
  // SIGKILL. The tick that was being taken may be lost.
  void Kill();
  // SIGTERM.
  void Stop();

  bool has_disk() const { return disk_.has_value(); }
  void FillDisk();
  void FreeDisk();
  // Whether what it took may be in memory alone, because the disk is full or
  // was until just now.
  bool DependsOnMemory() const;

  void StepClock(absl::Duration step);

  // Every tick that it took: the capture knows them.
  Ticks Taken() const;
  // Those that were being taken when it was killed.
  const Ticks& interrupted() const { return interrupted_; }
  // What all of its processes have logged.
  std::string Log() const;

 private:
  const std::string name_;
  const std::string directory_;  // of its captures
  const std::string config_;
  std::optional<SmallDisk> disk_;
  std::string clock_file_;
  int64_t* clock_offset_ = nullptr;
  Proxy network_;
  std::unique_ptr<Process> process_;
  std::string log_;
  bool disk_is_full_ = false;
  Ticks interrupted_;
};

class ChaosAggregator {
 public:
  explicit ChaosAggregator(Deployment* deployment);

  bool running() const { return process_ != nullptr; }
  void Start();
  void Kill();
  void Stop();
  // Kills it, and what it had not synced is gone. False if nobody recorded
  // that.
  bool CutPower();

  int port() const;

 private:
  Deployment& deployment_;
  const std::string sync_log_;
  std::unique_ptr<Process> process_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_CHAOS_FLEET_H_
