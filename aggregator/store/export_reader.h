// Reads the samples that an export has not taken, from memory, from the log and
// from chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_EXPORT_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_EXPORT_READER_H_

#include "absl/status/status.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/sample_sources.h"
#include "aggregator/store/tables/export_table.h"
#include "aggregator/store/tables/lost_commits.h"

namespace fleetperf::aggregator {

// Thread-safe.
class ExportReader {
 public:
  struct Parts {
    SampleSources sources;
    ExportTable* exports;
    LostDefinitions* lost_definitions;
  };
  // The objects that `parts` points to must outlive the reader.
  explicit ExportReader(const Parts& parts) : parts_(parts) {}

  // See Store::ReadUnexported.
  absl::Status Read(const UnexportedRequest& request, UnexportedSink* sink);

 private:
  const Parts parts_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_EXPORT_READER_H_
