#include "aggregator/export/exporter.h"

#include <algorithm>
#include <cstddef>

namespace fleetperf::aggregator {

Exporter::Exporter(const ExportConfig& config, const ExportedMachines& machines,
                   Store* store, const Clock* clock) {
  const auto count = static_cast<size_t>(config.shards);
  for (size_t number = 0; number < count; ++number) {
    shards_.push_back(std::make_unique<ExportShard>(
        ExportShard::Options{.target = config.target,
                             .paths = config.paths,
                             .raw = config.raw,
                             .interval = config.interval,
                             .machines = machines,
                             .number = number,
                             .count = count},
        store, clock));
  }
}

Exporter::~Exporter() {
  // They stop at the same time.
  for (const auto& shard : shards_) shard->Stop();
}

ExportCounts Exporter::counts() const {
  ExportCounts sum;
  for (const auto& shard : shards_) {
    const ExportCounts counts = shard->counts();
    sum.samples += counts.samples;
    sum.requests += counts.requests;
    sum.failures += counts.failures;
    sum.refused += counts.refused;
    sum.lost += counts.lost;
    sum.lag = std::max(sum.lag, counts.lag);
  }
  return sum;
}

}  // namespace fleetperf::aggregator
