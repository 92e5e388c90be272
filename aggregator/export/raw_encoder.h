// Encodes one machine's samples as they are: see raw_names.h. All that belongs
// to a tick precedes the tick's epoch, so a tick is complete in an engine once
// its epoch is there. An instance that is absent from a tick after it was there
// ends with a staleness marker at the time of that tick.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_RAW_ENCODER_H_
#define FLEETPERF_AGGREGATOR_EXPORT_RAW_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/instance_lines.h"
#include "aggregator/export/raw_epochs.h"
#include "aggregator/export/write_request.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/labels.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class RawEncoder {
 public:
  // `paths` select counters; null: all. With paths, only the columns are
  // encoded that the selected counters need, of all instances with a selected
  // name. The pointers must outlive the encoder.
  RawEncoder(std::string machine, const PathSet* paths,
             ExportedSchemas* schemas, RawEpochs* epochs);

  // For an UnexportedRequest.
  std::vector<bool> WantedColumns(const CollectedQuery& query) const;

  // See UnexportedSink.
  void BeginFrame(const Frame& frame, uint32_t first_new);
  // Calls `add` with the values of each series in these ticks, in order.
  using Add = absl::FunctionRef<absl::Status(
      absl::string_view labels, absl::Span<const ExportSample> samples)>;
  absl::Status AddTicks(uint32_t begin, uint32_t end, Add add);
  // Ends all series that are present, just after the last tick of their query.
  // Must be called last.
  absl::Status End(Add add);

 private:
  struct Column {
    size_t number = 0;  // in the query
    const ExportedRawName* name = nullptr;
    // The selections with a counter that needs the column; empty: all counters
    // are selected. Valid until ExportedSchemas::Trim.
    std::vector<const Selection*> needed_by;
  };
  // A query and its equals in other epochs, whose series are the same.
  struct Query {
    const ExportedRawSchema* schema = nullptr;
    std::vector<Column> columns;  // empty: there are no raw series
    Labels labels;
    // Encoded, without the metric's name.
    std::string tick_labels;
    std::string epoch_labels;
    // After the last frame, if there was one.
    std::vector<InstanceLine> present;
    std::optional<int64_t> last_unix_millis;  // of the last tick
  };

  Query& QueryOf(const std::shared_ptr<const CollectedQuery>& query);
  void SetColumns(const CollectedQuery& query, Query* made) const;
  // Notes the selections that need each column.
  static void SetNeeded(const CollectedQuery& query,
                        const SelectedCounterset& selected,
                        std::vector<Column>* all);
  void KeepPresent();
  static bool Selects(const InstanceLine& line, const Column& column);
  absl::Status AddInstance(const std::vector<InstanceLine::Part>& parts,
                           InstanceLine* line, Add add);
  void AppendColumn(const InstanceLine::Part& part, const FrameColumn& column);
  absl::Status AddTickSeries(uint32_t begin, uint32_t end, Add add);
  absl::Status AddClock(const ExportedRawName& name,
                        int64_t perflib::Clocks::*clock, uint32_t begin,
                        uint32_t end, Add add);
  absl::Status EndQuery(Query* query, Add add);

  void ClearSamples();
  void Append(int64_t unix_millis, uint64_t value);
  // Adds the samples since ClearSamples. `labels` are encoded, without the
  // name.
  absl::Status AddSamples(const ExportedRawName& name, absl::string_view labels,
                          Add add);

  const std::string machine_;
  const PathSet* const paths_;
  const std::vector<size_t> path_numbers_;  // of the machine
  ExportedSchemas& schemas_;
  RawEpochs& epochs_;
  absl::flat_hash_map<std::string, std::unique_ptr<Query>>
      queries_;  // by epoch_labels
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>, Query*> known_;

  // Of the current frame.
  const Frame* frame_ = nullptr;
  Query* query_ = nullptr;
  InstanceLines lines_{LineKind::kIdentity};
  std::vector<int64_t> unix_millis_;  // of the ticks
  std::vector<ExportSample> low_;
  std::vector<ExportSample> high_;
  std::string labels_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_RAW_ENCODER_H_
