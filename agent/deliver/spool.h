// The agent's queue of collected samples: batches that no aggregator has
// acknowledged, ticks that are in no batch yet, and losses to report.
//
// Memory is authoritative. It holds everything except payloads that are saved,
// and new batches can be sent before they are saved. A thread writes the
// changes to files, so no caller waits for the disk. After a kill, the next
// process recovers the queue from the files. While the disk is full or fails,
// only the batches that memory cannot hold are lost.
//
//   Spool          locking, and the calls of delivery and of streams
//   SpoolState     the rules: send, acknowledge, drop, count
//     EpochLedger  the epochs of all processes with batches in the spool
//     BatchQueue   the sealed batches, in the order of sending
//     OpenBatches  the ticks and losses of batches that are not sealed
//   SpoolWriter    the thread that saves
//   SpoolFiles     the files, whose records RecoveredSpool applies at the start
//
// Invariants:
// - A batch enters the queue in the order of its sequence, and a sequence is
//   never used for different contents: see OpenBatches.
// - No lock that callers share is held while a batch is compressed or a file is
//   used. Functions that may wait for a file say so; callbacks must not call
//   them.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/spool/spool_files.h"
#include "agent/deliver/spool/spool_state.h"
#include "agent/deliver/spool/spool_writer.h"
#include "agent/deliver/spooled_batch.h"
#include "base/os/clock.h"
#include "base/os/os.h"
#include "base/wakeup.h"

namespace fleetperf::v1 {
class BatchContent;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Thread-safe.
class Spool {
 public:
  struct Options {
    uint64_t epoch = 0;
    // The directory of the files, created if needed. Empty: no files; the
    // bounds below then apply to memory.
    std::string directory;
    // The oldest batches beyond these bounds are dropped, but never the newest
    // batch.
    uint64_t max_bytes = uint64_t{256} << 20;
    absl::Duration max_age = absl::Hours(24);
    const Clock* clock = &Clock::Real();
    std::string boot_id = BootId();  // identifies the machine's start
    // Hooks for tests, called before a batch is compressed and before a file is
    // used.
    std::function<void()> before_seal = [] {};
    std::function<void()> before_file_use = [] {};
  };

  // Recovers the directory's contents. Damaged parts are copied aside and
  // counted as lost. Returns FailedPrecondition if another agent uses the
  // directory, and other errors if the directory cannot be used at all.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options);
  // Creates a spool without files.
  explicit Spool(const Options& options);
  // Saves the unsaved changes.
  ~Spool();

  Dictionary& dictionary() { return dictionary_; }
  const Dictionary& dictionary() const { return dictionary_; }

  // Calls of delivery.

  // Whether AddTick must be called for each tick.
  bool keeps_ticks() const { return !options_.directory.empty(); }
  // The sequence of the open batch, starting at 1.
  uint64_t open_sequence() const;
  // Adds a tick to the open batch.
  void AddTick(const v1::BatchContent& content, const TickRange& range);
  // Adds losses for the open batch to report.
  void AddLoss(const std::string& machine, LossCause cause,
               const TickRange& ticks);
  void AddLosses(const Losses& losses);
  // Closes the open batch: fixes its sequence, ticks and losses. Later ticks
  // and losses belong to the next batch.
  SpooledBatch Close(const TickRange& ticks);
  // Compresses `content` as the closed batch and adds the batch to the queue.
  // Must be called once for each result of Close, and soon: until then, neither
  // this batch nor later ones can be sent. Blocks until all batches closed
  // earlier are sealed.
  void Seal(SpooledBatch closed, v1::BatchContent content);
  // Calls Close and Seal.
  void Append(v1::BatchContent content, const TickRange& ticks);

  // Calls of a stream to an aggregator.

  struct HeldEpoch {
    SpoolEpoch epoch;
    uint64_t first_sequence;  // of held batches; if none, last_sequence + 1
  };
  // Returns the epochs, oldest first. The last one is this process's.
  std::vector<HeldEpoch> HeldEpochs() const;
  uint64_t epoch() const;
  // Returns all definitions that the batches of `epoch` may use. May wait for a
  // file; returns an error if the file cannot be read at the moment.
  absl::StatusOr<std::vector<v1::Definitions>> DefinitionsOf(uint32_t epoch);

  // Handles an aggregator's state of an epoch: batches up to `durable` are
  // stored there, later ones have not arrived. `fingerprint` is that of batch
  // `durable`, 0 if unknown. Returns false if the aggregator has batches of the
  // epoch that another process made; the caller then calls Fork.
  bool Resume(uint32_t epoch, uint64_t durable, uint64_t fingerprint);
  // Continues under a new epoch, because another process uses this one: the
  // machine was set back to a snapshot, or copied.
  void Fork();

  // Returns the first batch after `place`; std::nullopt if none exists. May
  // wait for a file; returns an error if the file cannot be read at the moment.
  absl::StatusOr<std::optional<SpooledBatch>> Next(BatchPlace place);
  // Like Next, for sending: marks the batch as possibly arrived.
  absl::StatusOr<std::optional<SpooledBatch>> Take(BatchPlace place);
  // Like Take, but uses memory only. If the next batch's payload is in a file,
  // returns std::nullopt and sets `must_read`.
  std::optional<SpooledBatch> TakeFromMemory(BatchPlace place, bool* must_read);
  // Whether the connected aggregator may have the batch. Always true for an
  // epoch of a former process before Resume.
  bool MayHaveArrived(BatchPlace place) const;
  // Whether a batch after `place` exists or is being compressed.
  bool MayHoldAfter(BatchPlace place) const;
  // Removes the batches of the epoch up to `place`.
  void Acknowledge(BatchPlace place);
  // Removes a batch that the aggregator rejected and counted as lost.
  void Reject(BatchPlace place);
  // Drops a batch that no aggregator would accept, and counts it as lost.
  void Refuse(const SpooledBatch& batch);

  struct Usage {
    uint64_t memory_bytes = 0;  // payloads of batches in memory
    uint64_t file_bytes = 0;    // of files that contain held batches
    uint64_t max_bytes = 0;
    uint64_t unsaved_bytes = 0;  // of those, to be written to files
    uint64_t batches = 0;        // held, without the remains of dropped ones
    absl::Duration backlog;      // the age of the oldest held batch
    uint64_t dropped_ticks = 0;  // since the start
    uint64_t failed_saves = 0;   // since the start
  };
  Usage usage() const;

  // Calls of a capture's replay.

  // The batches removed by Reject.
  struct Rejected {
    uint64_t batches = 0;
    uint64_t ticks = 0;
  };
  Rejected rejected() const;
  // The last batch of this process that the aggregator had at the first Resume.
  uint64_t known() const;
  // Waits until memory holds at most `bytes` of payloads. Returns false after
  // `timeout`.
  bool AwaitAtMost(uint64_t bytes, absl::Duration timeout) const;

  // For tests.

  // Waits until all changes are saved, or a write failed.
  absl::Status AwaitSaved();
  // Returns std::nullopt if no batches of the epoch are held.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const;

 private:
  absl::Status Recover();
  void ReportDamage(RecoveredSpool* recovered) const;
  absl::StatusOr<std::optional<SpooledBatch>> Find(BatchPlace place,
                                                   bool marks_sent);
  void LoseDamaged(const HeldBatch& batch, const absl::Status& damage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Requests a save.
  void MakeDirty();

  // Run on the writer's thread.
  absl::Status Save();
  absl::Status Write(SpoolState::Changes* changes);

  const Options options_;
  Dictionary dictionary_;
  // Set by Open; nullptr without files.
  std::unique_ptr<SpoolFiles> files_;

  mutable absl::Mutex mutex_;
  mutable Wakeup changed_{options_.clock};
  SpoolState state_ ABSL_GUARDED_BY(mutex_);
  Rejected rejected_ ABSL_GUARDED_BY(mutex_);
  uint64_t failed_saves_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<uint64_t> known_ ABSL_GUARDED_BY(mutex_);
  int read_errors_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  // Used by the writer's thread, and by the constructor and destructor while
  // the thread does not run.
  bool must_begin_segment_ = true;

  SpoolWriter writer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_H_
