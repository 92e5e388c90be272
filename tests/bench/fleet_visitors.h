// Agents, instances, subscribers and plans of a fleet that come and go.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_VISITORS_H_
#define FLEETPERF_TESTS_BENCH_FLEET_VISITORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/tls/credentials.h"
#include "tests/bench/agent_stream.h"
#include "tests/bench/fleet_watch.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/fleetperf_process.h"

namespace fleetperf::bench {

// On a thread of its own, replaces ten agents every ten seconds by ten others,
// a subscriber to all machines by another one, and the fleet's plan by another
// one. An agent returns after 100 seconds with a new epoch, and no instance
// returns.
class FleetVisitors {
 public:
  // `server` must have samples, and outlive this object. Nothing else may
  // reload its configuration.
  FleetVisitors(int series, FleetperfProcess* server);
  ~FleetVisitors();

  // Returns the first error.
  absl::Status status() const;

 private:
  struct Visitor {
    std::string name;
    std::unique_ptr<AgentStream> stream;
  };

  void Run();
  absl::Status ReplaceAll();
  absl::Status ReplacePlan();
  absl::Status ReplaceAgents();
  void SendFirst(size_t number, Visitor* visitor);

  FleetperfProcess& server_;
  const FleetWorkload workload_;
  uint64_t round_ = 0;
  std::map<std::string, TlsFiles> certificates_;  // by agent
  std::vector<Visitor> visitors_;
  std::unique_ptr<FleetWatch> watch_;
  absl::Notification is_over_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_VISITORS_H_
