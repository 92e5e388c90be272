// Calculates the values of one machine's samples, and encodes them with their
// labels: one value for each pair of neighbouring samples, as a query without
// windows has it. A sample without a value has none here. An instance that is
// absent from a tick after it was there ends with a staleness marker at the
// time of that tick.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_SERIES_ENCODER_H_
#define FLEETPERF_AGGREGATOR_EXPORT_SERIES_ENCODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/instance_lines.h"
#include "aggregator/export/write_request.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/labels.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/samples/walker.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class SeriesEncoder {
 public:
  // `labels` are those of all series. `paths` select counters; null: all. The
  // pointers must outlive the encoder.
  SeriesEncoder(std::string machine, Labels labels, const PathSet* paths,
                ExportedSchemas* schemas);

  // For an UnexportedRequest.
  bool Selects(const CollectedQuery& query);
  std::vector<bool> WantedColumns(const CollectedQuery& query);

  // See UnexportedSink.
  void BeginFrame(const Frame& frame, uint32_t first_new);
  // Calls `add` with the values of each series in these ticks, in order.
  using Add = absl::FunctionRef<absl::Status(
      absl::string_view labels, absl::Span<const ExportSample> samples)>;
  absl::Status AddTicks(uint32_t begin, uint32_t end, Add add);
  // Ends all series that are present, just after the last tick of their query:
  // later samples of it may still arrive. Must be called last.
  absl::Status End(Add add);

 private:
  // A selected counter of a query.
  struct Counter {
    size_t number = 0;  // in ExportedSchema::counters
    SeriesColumns columns;
  };
  struct Query {
    const ExportedSchema* schema = nullptr;
    const ExportedSelection* selection = nullptr;
    std::vector<Counter> counters;
  };
  Query& QueryOf(const std::shared_ptr<const CollectedQuery>& query);
  Query MakeQuery(const CollectedQuery& query);
  // Returns what is kept of an instance's counters, by
  // ExportedSchema::counters.
  std::vector<WalkedSeries>& KeptOf(const Frame::Run& run);
  void KeepPresent();
  // Keeps the series of the runs with one of these ticks as they are after
  // them.
  void KeepSeries(uint32_t begin, uint32_t end);
  // Returns a series before a run: after an earlier run or frame.
  WalkedSeries SeriesBefore(size_t run, const Counter& counter);
  // Returns a series after the first ticks of a run.
  WalkedSeries SeriesAfter(size_t run, uint32_t ticks, const Counter& counter);
  // Whether a path selects a series of query_.
  bool Selects(const InstanceLine& line, const ExportedCounter& counter) const;
  void AddValues(const InstanceLine::Part& part, const Counter& counter,
                 const ExportedCounter& of);
  absl::string_view LabelsOf(InstanceLine* line,
                             const ExportedCounter& counter);

  const std::string machine_;
  const Labels machine_labels_;
  const PathSet* const paths_;
  const std::vector<size_t> path_numbers_;  // of the machine
  ExportedSchemas& schemas_;
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>,
                      std::unique_ptr<Query>>
      queries_;
  WalkedInstances kept_;
  Walker walker_;
  // After the last frame of a query.
  struct Present {
    const Query* query = nullptr;
    std::vector<InstanceLine> lines;
    int64_t unix_millis = 0;  // of the last tick
  };
  absl::flat_hash_map<size_t, Present> present_;  // by Walker::query

  // Of the current frame.
  const Frame* frame_ = nullptr;
  const Query* query_ = nullptr;
  InstanceLines lines_{LineKind::kNumber};
  std::vector<int64_t> unix_millis_;  // of the ticks
  std::vector<ExportSample> samples_;
  std::string labels_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_SERIES_ENCODER_H_
