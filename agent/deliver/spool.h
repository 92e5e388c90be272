// What was collected and is not acknowledged yet: batches, ticks that are in no
// batch, and what was lost.
//
// All that is new is in memory, and can be sent from there; a thread has a file
// follow, so that nobody waits for a disk. When a process is killed, the next
// one finds in the file what this one had. A disk that is full or fails costs
// only what memory cannot hold meanwhile.
//
// No lock that callers share is held while a batch is compressed or the file is
// used. Functions that may wait for the file say so; a callback must not call
// them.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/spool_file.h"
#include "base/clock.h"
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
    // Where the file is; made if need be. Empty: there is none, and what is in
    // memory is bounded instead.
    std::string directory;
    // Beyond these the oldest batches go. The newest always stays.
    uint64_t max_bytes = uint64_t{256} << 20;
    absl::Duration max_age = absl::Hours(24);
    const Clock* clock = &Clock::Real();
    // For tests, which stop threads there. Called before a batch is compressed,
    // and each time before the file is used, with the file's lock held.
    std::function<void()> before_seal = [] {};
    std::function<void()> before_file_use = [] {};
  };

  // A file that is damaged is set aside, and what it held is counted as lost.
  // Errors: FailedPrecondition if another agent uses the directory; or it
  // cannot be used at all.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options);
  // Without a file.
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
  // that are closed after it can be had, and the file does not follow. Waits
  // for batches that were closed before it.
  void Seal(SpooledBatch closed, v1::BatchContent content);
  // Both.
  void Append(v1::BatchContent content, const TickRange& ticks);

  // Called for a stream to an aggregator.

  struct HeldEpoch {
    SpoolEpoch epoch;
    uint64_t first_sequence;  // if none is held, one more than the last
  };
  // Oldest first; the last is this process's. May wait for the file.
  std::vector<HeldEpoch> HeldEpochs();
  uint64_t epoch() const;
  // All that its batches may use. May wait for the file; an error if that
  // cannot be read now.
  absl::StatusOr<std::vector<v1::Definitions>> DefinitionsOf(
      uint32_t epoch) const;

  // An aggregator says how far it has this epoch; what is beyond has not
  // arrived there. False if it has batches of it that this process did not
  // make: see Fork. May wait for the file; an error if that cannot be read now.
  absl::StatusOr<bool> Resume(uint32_t epoch, uint64_t durable,
                              uint64_t fingerprint);
  // Goes on under a new epoch: somebody else uses this one, since the machine
  // was set back or copied.
  void Fork();

  // The first batch after `place`. May wait for the file; an error if that
  // cannot be read now.
  absl::StatusOr<std::optional<SpooledBatch>> Next(BatchPlace place);
  // The same, for sending it: until an answer comes, nobody knows whether it
  // has arrived.
  absl::StatusOr<std::optional<SpooledBatch>> Take(BatchPlace place);
  // The same without the file: nothing, and `must_read` is set, if only that
  // tells.
  std::optional<SpooledBatch> TakeFromMemory(BatchPlace place, bool* must_read);
  // Whether there are batches after `place`, or perhaps some in the file.
  bool MayHoldAfter(BatchPlace place) const;
  // Removes the batches of its epoch up to `place`.
  void Acknowledge(BatchPlace place);
  // Removes a batch that the aggregator refused for good, and counted as lost.
  void Reject(BatchPlace place);
  // Drops a batch that no aggregator would take, and counts it.
  void Refuse(const SpooledBatch& batch);

  // What it holds, and has dropped since the start. The file's room is that of
  // the last look.
  struct Usage {
    uint64_t memory_bytes = 0;  // payloads of batches in memory
    uint64_t file_bytes = 0;
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

  // Waits until the file has everything, or writing has failed.
  absl::Status AwaitSaved();
  // Nothing if the epoch is not held.
  std::optional<uint32_t> NumberOf(uint64_t epoch) const;

 private:
  struct Entry {
    SpooledBatch batch;
    bool saved = false;
  };

  // What the file has to be told of batches that it has.
  struct Removals {
    std::map<uint32_t, uint64_t> acknowledged;  // by epoch
    std::vector<BatchPlace> removed;
    std::vector<SpooledBatch> dropped;

    bool Contains(BatchPlace place) const;  // as removed or dropped
    void Add(const Removals& others);
  };

  absl::Status OpenFile();
  absl::Status SetAside(const absl::Status& damage);
  absl::StatusOr<std::optional<SpooledBatch>> Find(BatchPlace place,
                                                   bool marks_sent);
  void MarkSent(BatchPlace place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The writer's thread.
  void Run();
  absl::Status Save();
  absl::Status DropBeyondBounds(SpoolFile& file);
  SpoolFile::Changes AwaitChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SpoolFile::Changes TakeChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutBack(const SpoolFile::Changes& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetSaved(const SpoolFile::Changes& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(const absl::Status& status);

  // The file must follow; in more than ticks, if they are not all.
  void MakeDirty(bool has_new_state = true)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a batch is closed and not sealed.
  bool IsSealing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::deque<Entry>::iterator FindEntry(uint64_t sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::deque<Entry>::iterator Erase(std::deque<Entry>::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Leaves only what says that it is gone.
  void Empty(Entry& entry, LossCause cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets what can be read from the file.
  void ShrinkMemory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SpoolEpoch* FindEpoch(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const SpoolEpoch* FindEpoch(uint32_t number) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a batch is only in the file because that has not followed yet.
  bool IsGone(BatchPlace place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayHaveArrived(BatchPlace place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountAsLost(const SpooledBatch& batch, LossCause cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepMemoryBounded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<SpooledBatch> NextInMemory(BatchPlace place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ResolveDropped(BatchPlace last_arrived);

  const Options options_;
  const std::string path_;
  Dictionary dictionary_;

  // Held while the file is written, or replaced.
  absl::Mutex saving_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  mutable Wakeup changed_{options_.clock};
  SpoolEpoch epoch_ ABSL_GUARDED_BY(mutex_);  // up to the last sealed batch
  uint64_t last_closed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<SpoolEpoch> former_ ABSL_GUARDED_BY(mutex_);  // oldest first
  // This process's newest batches. What is saved comes before what is not.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of payload in entries_
  uint64_t unsaved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t file_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // when last looked
  uint64_t dropped_ticks_ ABSL_GUARDED_BY(mutex_) = 0;
  // Batches up to here are in the file, and perhaps not in entries_.
  BatchPlace in_file_ ABSL_GUARDED_BY(mutex_);
  // Of this process's batches, by sequence, from the last acknowledged one.
  std::map<uint64_t, uint64_t> fingerprints_ ABSL_GUARDED_BY(mutex_);
  // Ticks that are in no batch; how many of them the file has, and whether it
  // has others, which are in a batch by now.
  std::vector<SpoolFile::Tick> ticks_ ABSL_GUARDED_BY(mutex_);
  size_t saved_ticks_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_stale_ticks_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time last_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Losses losses_ ABSL_GUARDED_BY(mutex_);
  Rejected rejected_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> known_ ABSL_GUARDED_BY(mutex_);

  Removals removals_ ABSL_GUARDED_BY(mutex_);
  Removals removals_in_writing_ ABSL_GUARDED_BY(mutex_);
  bool dirty_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_new_state_ ABSL_GUARDED_BY(mutex_) = false;  // beside ticks
  // The batches up to this sequence are being written.
  std::optional<uint64_t> writing_ ABSL_GUARDED_BY(mutex_);
  // The writer waits for changes_, which are taken when no batch is sealed.
  bool wants_changes_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<SpoolFile::Changes> changes_ ABSL_GUARDED_BY(mutex_);
  absl::Status save_status_ ABSL_GUARDED_BY(mutex_);  // of the last attempt
  bool is_failing_ = false;  // used by the writer's thread
  // What was found wrong with the file when it was read, and how often in a
  // row it could not be.
  absl::Status damage_ ABSL_GUARDED_BY(mutex_);
  int read_errors_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Null: it cannot be opened yet.
  std::shared_ptr<SpoolFile> file_ ABSL_GUARDED_BY(mutex_);

  std::thread writer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_H_
