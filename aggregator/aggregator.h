// The aggregator: a store, an ingest, a hub of subscriptions, and the server
// that offers them.

#ifndef FLEETPERF_AGGREGATOR_AGGREGATOR_H_
#define FLEETPERF_AGGREGATOR_AGGREGATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "base/clock.h"

namespace fleetperf::aggregator {

// Serves from its start to its destruction.
class Aggregator {
 public:
  // `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Aggregator>> Start(
      const Config& config, const Clock* clock = &Clock::Real());
  virtual ~Aggregator() = default;

  // Where it listens, with the port that was chosen.
  virtual const std::string& address() const = 0;

  // Replaces what agents are to collect. Thread-safe.
  virtual void SetPlans(std::vector<PlanEntry> plans) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_AGGREGATOR_H_
