// The interface that queries read from: the store, or the store and older
// samples in a time series database.

#ifndef FLEETPERF_AGGREGATOR_STORE_READABLE_STORE_H_
#define FLEETPERF_AGGREGATOR_STORE_READABLE_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/selection.h"
#include "aggregator/samples/stored_machine.h"

namespace fleetperf::aggregator {

// Thread-safe.
class ReadableStore {
 public:
  virtual ~ReadableStore() = default;

  virtual const Directory& directory() const = 0;

  // Reads the samples of one machine, ordered by epoch and sequence: all frames
  // that `filter` accepts and that have ticks between `from` and `to`. `filter`
  // does not depend on the machine of a query, which may be empty. A frame may
  // extend beyond the range. Stops at the first error of `on_frame`, and
  // returns it. Damaged data is skipped and logged.
  struct ReadRequest {
    std::string machine;
    absl::Time from;
    absl::Time to;
    QueryFilter filter;
    // The columns, by number, and the instances to read of the accepted
    // queries. Empty: all. Others may be returned, too, where skipping them
    // saves nothing.
    std::function<std::vector<bool>(const CollectedQuery&)> columns = nullptr;
    std::function<bool(const CollectedQuery&, const Instance&)> instances =
        nullptr;
    // If set, what `filter`, `columns` and `instances` select, for stores that
    // cannot call functions. Must outlive the read.
    const std::vector<SelectedCounterset>* selected = nullptr;
    // If set, returns whether frames of an accepted query may be folded (see
    // Frame::fold) whose ticks after the first one are from `second` to `last`,
    // in units of PerfTime100NSec.
    std::function<bool(const CollectedQuery&, int64_t second, int64_t last)>
        may_fold = nullptr;
    // If set, called before the first frame with each epoch that has such
    // frames. Samples of the epoch's batches up to `sequence` are read; samples
    // of later batches are not.
    std::function<void(uint32_t epoch_number, uint64_t sequence)> on_epoch =
        nullptr;
    // If set, called for each chunk that is listed, and before each one is
    // read, which may have no frame. An error ends the read, and is returned.
    std::function<absl::Status()> on_chunk = nullptr;
  };
  virtual absl::Status Read(
      const ReadRequest& request,
      absl::FunctionRef<absl::Status(const Frame&)> on_frame,
      absl::FunctionRef<void(const Loss&)> on_loss) = 0;

  // Returns a catalogue by the hash of its contents.
  virtual absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const = 0;

  virtual std::vector<StoredMachine> GetMachines() const = 0;  // by name
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_READABLE_STORE_H_
