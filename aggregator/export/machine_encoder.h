// Encodes one machine's samples for the export: their values and, if asked for,
// the raw series.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_MACHINE_ENCODER_H_
#define FLEETPERF_AGGREGATOR_EXPORT_MACHINE_ENCODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/raw_encoder.h"
#include "aggregator/export/raw_epochs.h"
#include "aggregator/export/series_encoder.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/labels.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class MachineEncoder {
 public:
  // `paths` select counters; null: all. `raw`, if not null, asks for raw
  // series. The pointers must outlive the encoder.
  MachineEncoder(const std::string& machine, const Labels& labels,
                 const PathSet* paths, ExportedSchemas* schemas,
                 RawEpochs* raw);

  // For an UnexportedRequest.
  bool Selects(const CollectedQuery& query) { return values_.Selects(query); }
  std::vector<bool> WantedColumns(const CollectedQuery& query);

  // See UnexportedSink and SeriesEncoder.
  void BeginFrame(const Frame& frame, uint32_t first_new);
  absl::Status AddTicks(uint32_t begin, uint32_t end, SeriesEncoder::Add add);
  absl::Status End(SeriesEncoder::Add add);

 private:
  SeriesEncoder values_;
  std::optional<RawEncoder> raw_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_MACHINE_ENCODER_H_
