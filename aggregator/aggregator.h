// The aggregator process: a store, an ingest, a subscription hub, and the RPC
// server that exposes them.

#ifndef FLEETPERF_AGGREGATOR_AGGREGATOR_H_
#define FLEETPERF_AGGREGATOR_AGGREGATOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Serves RPCs from Start until destruction.
class Aggregator {
 public:
  // `clock` must outlive the aggregator. Returns an error if the certificates
  // cannot be loaded, the store cannot be opened or the address cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<Aggregator>> Start(
      const Config& config, const Clock* clock = &Clock::Real());
  virtual ~Aggregator() = default;

  // The address that the server listens on, with the port that was chosen.
  virtual const std::string& address() const = 0;

  // Applies the settings that ConfigKeys() lists with WhenChanged::kReload,
  // except those of the log. Ignores the others. Thread-safe.
  virtual void Reload(const Config& config) = 0;

  // Takes and releases the locks of the parts that the aggregator's own
  // counters read, for a watchdog. Thread-safe.
  virtual void Probe() const = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_AGGREGATOR_H_
