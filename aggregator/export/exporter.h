// Exports all samples that the aggregator stores, by Prometheus remote write.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_EXPORTER_H_
#define FLEETPERF_AGGREGATOR_EXPORT_EXPORTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/engine/engine_target.h"
#include "aggregator/export/export_shard.h"
#include "aggregator/export/machine_series.h"
#include "aggregator/store/store.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

struct ExportConfig {
  EngineTarget target;
  std::vector<std::string> paths;  // empty: all counters
  // The labels of machines that all their series have.
  std::vector<std::string> labels;
  bool raw = false;    // whether raw series are sent, too
  int64_t shards = 4;  // each sends one request at a time
  absl::Duration interval =
      absl::Seconds(10);  // between two looks at the store
};

// Exports from construction to destruction. Thread-safe.
class Exporter {
 public:
  // The store must keep cursors. The pointers must outlive the exporter.
  Exporter(const ExportConfig& config, const ExportedMachines& machines,
           Store* store, const Clock* clock);
  ~Exporter();

  // The counts of all shards, and the longest lag.
  ExportCounts counts() const;

 private:
  std::vector<std::unique_ptr<ExportShard>> shards_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_EXPORTER_H_
