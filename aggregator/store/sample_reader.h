// Reads samples from memory, from the log and from chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/chunk_reader.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/sample_sources.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// Thread-safe.
class SampleReader {
 public:
  // The objects that `sources` points to must outlive the reader.
  explicit SampleReader(const SampleSources& sources)
      : sources_(sources), chunks_(sources.database, sources.numbers) {}

  // See ReadableStore::Read.
  absl::Status Read(const ReadableStore::ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss);

 private:
  // Calls `request.on_epoch` for each epoch to be read.
  absl::Status ReportEpochs(const ReadableStore::ReadRequest& request,
                            const std::vector<LogSegment>& segments,
                            const ChunkReader::Chunks& chunks,
                            const Snapshot& snapshot) const;
  // Returns the sequence of the last batch of an epoch whose samples are in
  // chunks. 0 if unknown.
  absl::StatusOr<uint64_t> LastInChunks(uint32_t epoch_number,
                                        const Snapshot& snapshot) const;

  const SampleSources sources_;
  ChunkReader chunks_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
