// A store whose older samples are in an engine, which got them from the export
// of raw samples.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_HISTORY_STORE_H_
#define FLEETPERF_AGGREGATOR_HISTORY_HISTORY_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/history/query_client.h"
#include "aggregator/query/query_context.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Samples before a time, the seam, come from the engine, and all others from
// the own store, in full resolution. The seam is as old as the own store
// allows. Machines, labels and countersets are those of the own store. An
// engine has no losses; the own store reports the losses that it knows.
// Thread-safe.
class HistoryStore : public ReadableStore {
 public:
  // `now_of` returns the time by a machine's clock, or by the own clock if that
  // is later. `kept`: the time since receipt for which the own store has
  // samples in full resolution.
  HistoryStore(Store* own, std::unique_ptr<SampleEngine> engine,
               MachineNow now_of, absl::Duration kept)
      : own_(*own),
        engine_(std::move(engine)),
        now_of_(std::move(now_of)),
        kept_(kept) {}

  void SetKept(absl::Duration kept) ABSL_LOCKS_EXCLUDED(mutex_);

  const Directory& directory() const override { return own_.directory(); }
  // Requests that begin at the seam or later, or without `selected`, are the
  // own store's alone. Frames of other ones are ordered by their pieces of
  // time, and in them by epoch and PerfTimeStamp, and none is folded.
  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override;
  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    return own_.GetCatalogue(hash);
  }
  std::vector<StoredMachine> GetMachines() const override {
    return own_.GetMachines();
  }

 private:
  // Reports the losses in the range that do not reach the seam, or all of a
  // range that does not.
  absl::Status ReportLosses(const ReadRequest& request, absl::Time seam,
                            absl::FunctionRef<void(const Loss&)> on_loss);
  absl::Time SeamOf(const std::string& machine) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  Store& own_;
  const std::unique_ptr<SampleEngine> engine_;
  const MachineNow now_of_;
  mutable absl::Mutex mutex_;
  absl::Duration kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_HISTORY_STORE_H_
