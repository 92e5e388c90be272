// The counterset "fleetperf Collection": what the other countersets cost.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_COLLECTION_COSTS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_COLLECTION_COSTS_H_

#include <memory>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/provider.h"
#include "agent/source/provider_source.h"

namespace fleetperf::agent {

// Instances are the countersets that were collected since the agent started.
class CollectionCosts : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `costs` are those of the provider source that has this provider.
  explicit CollectionCosts(std::shared_ptr<const ProviderCosts> costs);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<const ProviderCosts> costs_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_COLLECTION_COSTS_H_
