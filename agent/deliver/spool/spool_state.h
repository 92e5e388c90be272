// All that the spool holds, and the rules by which it is sent, acknowledged,
// dropped and counted. What the files have to be told is taken from here.

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
#include "base/clock.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Not thread-safe, and uses no files.
class SpoolState {
 public:
  struct Options {
    uint64_t epoch = 0;
    // Whether there are files: without, nothing ages, and `max_bytes` bounds
    // what is in memory.
    bool has_files = false;
    uint64_t max_bytes = 0;
    absl::Duration max_age;
    const Clock* clock = nullptr;
    std::string boot_id;
  };
  // What pointers point to outlives this.
  SpoolState(const Options& options, Dictionary* dictionary);

  // What the files held at the start, and the sizes of files with definitions.
  void TakeOver(RecoveredSpool recovered,
                const std::map<uint32_t, uint64_t>& definition_bytes);

  const EpochLedger& epochs() const { return epochs_; }
  const BatchQueue& queue() const { return queue_; }
  const OpenBatches& open() const { return open_; }
  uint64_t dropped_ticks() const { return dropped_ticks_; }
  // This process's number in the files.
  uint32_t process() const { return process_; }
  // Those of a former epoch that no file has yet; null if there are none.
  const std::vector<v1::Definitions>* UnsavedDefinitions(uint32_t epoch) const;

  void AddTick(const TickRange& range, std::string content);
  void AddLosses(const Losses& losses) { open_.AddLosses(losses); }
  // Closes the open batch: all but its contents.
  SpooledBatch Close(const TickRange& ticks);
  // The batch that was closed first. What bounds do not allow goes.
  void Seal(HeldBatch batch);

  // False if the epoch is another's: see EpochLedger.
  bool Resume(BatchPlace last_arrived, uint64_t fingerprint);
  void Fork(uint64_t id);
  void MarkSent(BatchPlace place) { epochs_.MarkSent(place); }
  // False if that was known.
  bool Acknowledge(BatchPlace place);
  // Without counting it.
  void Remove(BatchPlace place);
  // Removes a batch, and counts it as lost.
  void Lose(HeldBatch batch, LossCause cause);

  struct Changes {
    uint32_t process = 0;
    std::vector<HeldBatch> batches;  // that the log does not have
    // All of the state but these, for a new segment; empty: none begins.
    std::vector<v1::SpoolRecord> state;
    std::optional<v1::SpoolRecord> change;  // for the log, with `batches`
    std::optional<v1::SpoolRecord> ticks;   // of open batches
    bool rewinds_ticks = false;             // before these are written
    // Of the former epoch with this number.
    std::optional<std::vector<v1::Definitions>> former_definitions;
    uint32_t former = 0;
    std::set<uint32_t> segments, epochs;  // that the log refers to then
  };
  // Whether there are changes that the files need not follow at once: what
  // comes again is recognised.
  bool has_lazy_changes() const {
    return !changed_epochs_.empty() || !removed_.empty();
  }
  // Since the last call, or `all` for a new segment.
  Changes TakeChanges(bool all);
  // They were written; or not, so that all has to be.
  void SetSaved(const Changes& changes,
                const std::map<uint32_t, uint64_t>& definition_bytes);
  void SetFailed();
  // Says that the process ends in order.
  v1::SpoolRecord MakeEnd() const;

 private:
  v1::SpoolRecord NewRecord() const;
  std::vector<v1::SpoolRecord> MakeState();
  v1::SpoolRecord MakeChange();

  // How long agents have run with these files.
  absl::Duration Age() const;
  void DropBeyondBounds();
  void DropBeyondMemory();
  // Counts a batch as lost, or leaves its remains if it may have arrived.
  void Drop(HeldBatch batch, LossCause cause);
  // Forgets what only batches that are gone needed.
  void Settle(uint32_t epoch);
  // The newest batch stays.
  bool IsNewest(BatchPlace place) const;

  const Options options_;
  Dictionary& dictionary_;
  EpochLedger epochs_;
  BatchQueue queue_;
  OpenBatches open_;
  absl::Time last_tick_ = absl::InfinitePast();
  uint64_t dropped_ticks_ = 0;
  uint32_t process_ = 1;
  // What is in files does not age while no agent runs: that time is not known
  // if the clock was set meanwhile.
  absl::Duration age_at_start_;
  const absl::Duration started_;  // Clock::Monotonic()

  // What the log has to be told beside unsaved batches.
  std::vector<BatchPlace> removed_;
  std::map<uint32_t, SpoolEpoch> changed_epochs_;  // by number
  // The batches up to this sequence are being written.
  uint64_t writing_ = 0;
  // Of the process before this one, until they are in a file.
  std::optional<std::vector<v1::Definitions>> former_definitions_;
  std::map<uint32_t, uint64_t> definition_bytes_;  // of files, by former epoch
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_STATE_H_
