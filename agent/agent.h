// The agent: a source, a collection, a delivery and an uplink.

#ifndef FLEETPERF_AGENT_AGENT_H_
#define FLEETPERF_AGENT_AGENT_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Collects and sends samples, on threads of its own, from Start() until
// destruction. docs/design/threads.md lists the threads and the order of
// shutdown.
class Agent {
 public:
  // Waits for the sources' countersets, up to a deadline, but not for an
  // aggregator. Returns an error if the certificates, the spool, the capture or
  // the local source cannot be opened, or if a thread cannot be started. Calls
  // `on_stuck`, on any thread, if only a new process can connect to an
  // aggregator.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(
      const Config& config, std::function<void()> on_stuck);
  virtual ~Agent() = default;

  // Applies the settings that ConfigKeys() lists with WhenChanged::kReload,
  // except those of the log. Ignores the others. If any has changed, ends the
  // stream and begins a new one, while the collection continues. Starts no
  // thread for it, because the system may refuse one.
  virtual void Reload(const Config& config) = 0;

  // Takes and releases the locks of the parts that the agent's own counters
  // read, for a watchdog. Thread-safe.
  virtual void Probe() const = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_AGENT_H_
