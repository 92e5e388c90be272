// The spool's contents in memory, and the rules by which batches are sent,
// acknowledged, dropped and counted as lost. The writer takes the changes for
// the files from here.
//
// Invariants:
// - The oldest batches beyond the bounds of size, age and unsaved bytes are
//   dropped, but never this process's newest batch.
// - A dropped batch that may have arrived leaves its remains until the
//   aggregator's answer decides whether its ticks are lost.
// - Acknowledgments and removals are lazy changes: they are written with the
//   next batch. After a kill in between, the next process sends the batches
//   again, and the aggregator recognizes them.
// - An acknowledgment is written before the segment of the acknowledged batch
//   is deleted.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_STATE_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/spool/batch_queue.h"
#include "agent/deliver/spool/epoch_ledger.h"
#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spool/open_batches.h"
#include "agent/deliver/spool/recovered_spool.h"
#include "agent/deliver/spooled_batch.h"
#include "base/os/clock.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Thread-compatible. Uses no files.
class SpoolState {
 public:
  struct Options {
    uint64_t epoch = 0;
    // Whether the spool has files. Without files, batches do not expire, and
    // `max_bytes` bounds the payloads in memory.
    bool has_files = false;
    uint64_t max_bytes = 0;
    absl::Duration max_age;
    const Clock* clock = nullptr;
    std::string boot_id;
  };
  // `options.clock` and `dictionary` must outlive the object.
  SpoolState(const Options& options, Dictionary* dictionary);

  // Takes over the recovered contents of the files. `definition_bytes` are the
  // sizes of the files with definitions by epoch.
  void TakeOver(RecoveredSpool recovered,
                const std::map<uint32_t, uint64_t>& definition_bytes);

  const EpochLedger& epochs() const { return epochs_; }
  const BatchQueue& queue() const { return queue_; }
  const OpenBatches& open() const { return open_; }
  uint64_t dropped_ticks() const { return dropped_ticks_; }
  // Returns the age of the oldest batch that was not dropped; 0 if there is
  // none.
  absl::Duration Backlog() const;
  // This process's number in the files.
  uint32_t process() const { return process_; }
  // Returns the definitions of a former epoch that no file has yet; nullptr if
  // none exist.
  const std::vector<v1::Definitions>* UnsavedDefinitions(uint32_t epoch) const;

  void AddTick(const TickRange& range, std::string content);
  void AddLosses(const Losses& losses) { open_.AddLosses(losses); }
  // Closes the open batch. The result has no contents yet.
  SpooledBatch Close(const TickRange& ticks);
  // Adds the oldest closed batch to the queue and drops batches beyond the
  // bounds.
  void Seal(HeldBatch batch);

  // Returns false if another process uses the epoch: see EpochLedger.
  bool Resume(BatchPlace last_arrived, uint64_t fingerprint);
  void Fork(uint64_t id);
  void MarkSent(BatchPlace place) { epochs_.MarkSent(place); }
  // Returns false if the acknowledgment was known.
  bool Acknowledge(BatchPlace place);
  // Removes a batch without counting it.
  void Remove(BatchPlace place);
  // Removes a batch and counts it as lost.
  void Lose(HeldBatch batch, LossCause cause);

  struct Changes {
    uint32_t process = 0;
    std::vector<HeldBatch> batches;  // the unsaved ones
    // The whole state except `batches`, for a new segment. Empty: the current
    // segment continues.
    std::vector<v1::SpoolRecord> state;
    std::optional<v1::SpoolRecord> change;  // for the log, with `batches`
    std::optional<v1::SpoolRecord> ticks;   // of open batches
    bool rewinds_ticks = false;             // before `ticks` is written
    // The counts of what is held once all of the above is written.
    v1::SpoolRecord counts;
    // The definitions of the former epoch with the number `former`.
    std::optional<std::vector<v1::Definitions>> former_definitions;
    uint32_t former = 0;
    // The segments and epochs that the log refers to once this is written.
    std::set<uint32_t> segments, epochs;
  };
  // Whether lazy changes are unsaved.
  bool has_lazy_changes() const {
    return !changed_epochs_.empty() || !removed_.empty();
  }
  // Returns the changes since the last call, or, if `all`, the whole state for
  // a new segment.
  Changes TakeChanges(bool all);
  // Must be called when the changes are written, or when writing failed and the
  // next changes must be the whole state.
  void SetSaved(const Changes& changes,
                const std::map<uint32_t, uint64_t>& definition_bytes);
  void SetFailed();
  // Returns the record of an orderly exit.
  v1::SpoolRecord MakeEnd() const;

 private:
  v1::SpoolRecord NewRecord() const;
  std::vector<v1::SpoolRecord> MakeState();
  v1::SpoolRecord MakeChange();
  // Adds the counts of held batches, and this save's number, to a record.
  void AddCountsTo(v1::SpoolRecord* record);
  v1::SpoolRecord MakeCounts();

  // The time that agents have run with these files.
  absl::Duration Age() const;
  void DropBeyondBounds();
  void DropBeyondMemory();
  // Counts a batch as lost, or keeps its remains if it may have arrived.
  void Drop(HeldBatch batch, LossCause cause);
  // Forgets epochs and definitions that only removed batches used.
  void Settle(uint32_t epoch);
  bool IsNewest(BatchPlace place) const;

  const Options options_;
  Dictionary& dictionary_;
  EpochLedger epochs_;
  BatchQueue queue_;
  OpenBatches open_;
  absl::Time last_tick_ = absl::InfinitePast();
  uint64_t dropped_ticks_ = 0;
  uint32_t process_ = 1;
  // Batches do not age while no agent runs: the length of that time is unknown
  // if the clock was set meanwhile.
  absl::Duration age_at_start_;
  const absl::Duration started_;  // Clock::Monotonic()

  // Lazy changes.
  std::vector<BatchPlace> removed_;
  std::map<uint32_t, SpoolEpoch> changed_epochs_;  // by number
  // This process's batches up to this sequence are being written; 0: none.
  uint64_t writing_ = 0;
  uint64_t saves_ = 0;  // calls of TakeChanges
  // The previous process's definitions, until a file has them.
  std::optional<std::vector<v1::Definitions>> former_definitions_;
  std::map<uint32_t, uint64_t> definition_bytes_;  // file sizes by former epoch
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_STATE_H_
