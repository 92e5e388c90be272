// Reads the samples of batches from memory and from the log.

#ifndef FLEETPERF_AGGREGATOR_STORE_BATCH_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_BATCH_READER_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/recent/recent_batch.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// Reads batches for one request. Thread-compatible.
class BatchReader {
 public:
  using OnFrame = absl::FunctionRef<absl::Status(const Frame&)>;
  using OnLoss = absl::FunctionRef<void(const Loss&)>;

  // The methods call `on_frame` and `on_loss` with what is in the range of
  // `request`, and return the first error of `on_frame`. Damaged batches are
  // logged and reported as losses. All arguments must outlive the reader.
  BatchReader(Log* log, const ReadableStore::ReadRequest* request,
              OnFrame on_frame, OnLoss on_loss);

  // Reads batches in memory, which are all of the range, and reports their
  // epochs to the request.
  absl::Status ReadRecent(const RecentBatches::Found& recent);
  // Reads a segment of the log: from memory the batches that `recent` has, and
  // the others from the log.
  absl::Status ReadSegment(const LogSegment& segment, const Snapshot& snapshot,
                           const RecentBatches::Found& recent);
  // Same, but everything from the log.
  absl::Status ReadLogged(const LogSegment& segment, const Snapshot& snapshot);

 private:
  absl::Status ReadBatch(const RecentBatch& batch);
  // Reports the losses that count for the machine.
  void ReportLosses(const std::vector<Loss>& losses);

  Log& log_;
  const ReadableStore::ReadRequest& request_;
  const OnFrame on_frame_;
  const OnLoss on_loss_;
  RecentBatch::Selector selector_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BATCH_READER_H_
