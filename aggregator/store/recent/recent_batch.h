// A committed batch in memory, in little more than its decompressed size: the
// columns stay as they were received, and a query decodes only a few of them.

#ifndef FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCH_H_
#define FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/commit.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// The instances and ticks of a frame. Batches whose frames have the same ones
// share them.
using SharedRuns = std::shared_ptr<const std::vector<Frame::Run>>;

// Immutable, so thread-safe.
class RecentBatch {
 public:
  // `last` is the epoch's batch before, or null.
  RecentBatch(const BatchToCommit& batch, const BatchTimes& times,
              const RecentBatch* last);

  uint64_t sequence() const { return sequence_; }
  uint32_t epoch_number() const { return epoch_number_; }
  const BatchTimes& times() const { return times_; }
  const std::vector<Loss>& losses() const { return losses_; }
  // The bytes in memory, about. Shared runs count for the first batch with
  // them.
  size_t size() const { return size_; }
  // The bytes of the runs that `last`, the epoch's batch before, has, too.
  size_t SizeSharedWith(const RecentBatch& last) const;

  // Calls `use` with each machine that the batch has samples of, at least once.
  void ForEachMachine(absl::FunctionRef<void(const std::string&)> use) const;

  // The part of a batch to read.
  struct Selection {
    std::function<bool(const CollectedQuery&)> queries;
    std::function<std::vector<bool>(const CollectedQuery&)> columns;
    std::function<bool(const CollectedQuery&, const Instance&)> instances;
  };
  // Finds the selected columns and runs once for all batches that share
  // queries and runs. Thread-compatible.
  class Selector;
  // Calls `use` with each selected frame, in order. Stops at its first error,
  // and returns it.
  absl::Status Read(Selector* selector,
                    absl::FunctionRef<absl::Status(Frame frame)> use) const;

 private:
  struct EncodedFrame {
    std::shared_ptr<const std::vector<perflib::Clocks>> clocks;
    SharedRuns runs;
    absl::string_view encoded;  // a serialized v1::QueryColumns
    std::vector<Frame::Failure> failures;
  };

  static SharedRuns ShareRuns(const Frame& frame, size_t number,
                              const RecentBatch* last);

  const uint32_t epoch_number_;
  const uint64_t sequence_;
  const BatchTimes times_;
  // The queries of `frames_`, in a list of their own: a reader of one query
  // skips the others without touching their frames.
  std::vector<std::shared_ptr<const CollectedQuery>> queries_;
  std::vector<EncodedFrame> frames_;
  std::vector<Loss> losses_;
  const std::shared_ptr<const std::string> content_;  // of all `encoded`
  size_t size_ = 0;
};

class RecentBatch::Selector {
 public:
  explicit Selector(Selection selection) : selection_(std::move(selection)) {}

  // Returns null if the query is not selected.
  const std::vector<bool>* ColumnsOf(
      const std::shared_ptr<const CollectedQuery>& query);
  const std::vector<uint32_t>& RunsOf(const CollectedQuery& query,
                                      const SharedRuns& runs);

 private:
  struct Columns {
    std::shared_ptr<const CollectedQuery> query;
    std::optional<std::vector<bool>> columns;  // if the query is selected
  };
  struct Runs {
    SharedRuns all;
    std::vector<uint32_t> selected;  // numbers
  };

  const Selection selection_;
  // A machine has few queries, so these are searched in turn.
  std::vector<Columns> columns_;
  std::vector<Runs> runs_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCH_H_
