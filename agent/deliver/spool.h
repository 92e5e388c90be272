// What was collected and is not acknowledged yet: batches, ticks that are in no
// batch, and what was lost.
//
// Memory is the truth: everything but payloads is there, and what is new can be
// sent from there. A thread has files follow, so that nothing else waits for a
// disk. When a process is killed, the next one finds in the files what this one
// had. A disk that is full or fails costs only what memory cannot hold
// meanwhile.
//
// No lock that callers share is held while a batch is compressed or a file is
// used. Functions that may wait for a file say so; a callback must not call
// them.

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
#include "base/clock.h"
#include "base/os.h"
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
    // Where the files are; made if need be. Empty: there are none, and what is
    // in memory is bounded instead.
    std::string directory;
    // Beyond these the oldest batches go. The newest always stays.
    uint64_t max_bytes = uint64_t{256} << 20;
    absl::Duration max_age = absl::Hours(24);
    const Clock* clock = &Clock::Real();
    std::string boot_id = BootId();  // of the machine's start
    // For tests, which stop threads there: called before a batch is compressed,
    // and before files are used.
    std::function<void()> before_seal = [] {};
    std::function<void()> before_file_use = [] {};
  };

  // What is damaged is kept aside, and what it held is counted as lost. Errors:
  // FailedPrecondition if another agent uses the directory; or it cannot be
  // used at all.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options);
  // Without files.
  explicit Spool(const Options& options);
  // Saves what is not saved.
  ~Spool();

  Dictionary& dictionary() { return dictionary_; }
  const Dictionary& dictionary() const { return dictionary_; }

  // Called by delivery.

  // Whether ticks must be given to AddTick before they are in a batch.
  bool keeps_ticks() const { return !options_.directory.empty(); }
  // The sequence of the next batch, from 1.
  uint64_t open_sequence() const;
  // A tick of the next batch, as a v1::BatchContent.
  void AddTick(const v1::BatchContent& content, const TickRange& range);
  // Adds to what the next batch tells.
  void AddLoss(const std::string& machine, LossCause cause,
               const TickRange& ticks);
  // The same, of several.
  void AddLosses(const Losses& losses);
  // Closes the next batch, which replaces the ticks that were added since the
  // batch before: it has its number and tells of all that was lost so far. What
  // is added from now on belongs to the one after it.
  SpooledBatch Close(const TickRange& ticks);
  // Compresses what Close returned, with `content`, and adds it. To be called
  // once for each, as soon as can be: until then, neither this batch nor those
  // that are closed after it can be had. Waits for batches that were closed
  // before it.
  void Seal(SpooledBatch closed, v1::BatchContent content);
  // Both.
  void Append(v1::BatchContent content, const TickRange& ticks);

  // Called for a stream to an aggregator.

  struct HeldEpoch {
    SpoolEpoch epoch;
    uint64_t first_sequence;  // if none is held, one more than the last
  };
  // Oldest first; the last is this process's.
  std::vector<HeldEpoch> HeldEpochs() const;
  uint64_t epoch() const;
  // All that its batches may use. May wait for a file; an error if that cannot
  // be read now.
  absl::StatusOr<std::vector<v1::Definitions>> DefinitionsOf(uint32_t epoch);

  // An aggregator says how far it has this epoch; what is beyond has not
  // arrived there. False if it has batches of it that this process did not
  // make: see Fork.
  bool Resume(uint32_t epoch, uint64_t durable, uint64_t fingerprint);
  // Goes on under a new epoch: somebody else uses this one, since the machine
  // was set back or copied.
  void Fork();

  // The first batch after `place`. May wait for a file; an error if that cannot
  // be read now.
  absl::StatusOr<std::optional<SpooledBatch>> Next(BatchPlace place);
  // The same, for sending it: until an answer comes, nobody knows whether it
  // has arrived.
  absl::StatusOr<std::optional<SpooledBatch>> Take(BatchPlace place);
  // The same without files: nothing, and `must_read` is set, if the payload is
  // in one.
  std::optional<SpooledBatch> TakeFromMemory(BatchPlace place, bool* must_read);
  // Whether there are batches after `place`, or one is being compressed.
  bool MayHoldAfter(BatchPlace place) const;
  // Removes the batches of its epoch up to `place`.
  void Acknowledge(BatchPlace place);
  // Removes a batch that the aggregator refused for good, and counted as lost.
  void Reject(BatchPlace place);
  // Drops a batch that no aggregator would take, and counts it.
  void Refuse(const SpooledBatch& batch);

  // What it holds, and has dropped since the start.
  struct Usage {
    uint64_t memory_bytes = 0;  // payloads of batches in memory
    uint64_t file_bytes = 0;    // of files with batches that are held
    uint64_t max_bytes = 0;
    uint64_t dropped_ticks = 0;
  };
  Usage usage() const;

  // Called by who plays a capture.

  // What was removed by Reject.
  struct Rejected {
    uint64_t batches = 0;
    uint64_t ticks = 0;
  };
  Rejected rejected() const;
  // The aggregator had this process's batches up to this sequence when it was
  // first asked.
  uint64_t known() const;
  // Waits until memory holds at most `bytes` of payload. False if that takes
  // longer than `timeout`.
  bool AwaitAtMost(uint64_t bytes, absl::Duration timeout) const;

  // For tests.

  // Waits until the files have everything, or writing has failed.
  absl::Status AwaitSaved();
  // Nothing if the epoch is not held.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const;

 private:
  absl::Status Recover();
  void ReportDamage(RecoveredSpool* recovered) const;
  absl::StatusOr<std::optional<SpooledBatch>> Find(BatchPlace place,
                                                   bool marks_sent);
  void LoseDamaged(const HeldBatch& batch, const absl::Status& damage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The files must follow.
  void MakeDirty();

  // Called by the writer's thread.
  absl::Status Save();
  absl::Status Write(SpoolState::Changes* changes);

  const Options options_;
  Dictionary dictionary_;
  // Set by Open; null: there are none.
  std::unique_ptr<SpoolFiles> files_;

  mutable absl::Mutex mutex_;
  mutable Wakeup changed_{options_.clock};
  SpoolState state_ ABSL_GUARDED_BY(mutex_);
  Rejected rejected_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> known_ ABSL_GUARDED_BY(mutex_);
  int read_errors_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  // Used by the writer's thread, and before and after it.
  bool must_begin_segment_ = true;
  bool has_sqlite_spool_ = false;  // that must be removed

  SpoolWriter writer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_H_
