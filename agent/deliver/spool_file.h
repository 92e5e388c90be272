// What the spool keeps on disk: an SQLite database in write-ahead mode.
//
// It follows the spool's memory. Each Write is one transaction, so that after a
// crash the file shows what the memory was at some moment of the past.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_FILE_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_FILE_H_

#include <compare>
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
#include "agent/deliver/sqlite.h"
#include "base/clock.h"

namespace fleetperf::v1 {
class Batch;
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// The number of this process's epoch: it is the last.
inline constexpr uint32_t kThisProcess = UINT32_MAX;

// Where a batch is: they are sent in this order.
struct BatchPlace {
  uint32_t epoch = 0;  // its number; they are in the order of their processes
  uint64_t sequence = 0;

  friend auto operator<=>(const BatchPlace&, const BatchPlace&) = default;
};

struct SpoolEpoch {
  uint32_t number = 0;
  uint64_t id = 0;
  uint64_t forked_from = 0;  // 0: it is not
  uint64_t acknowledged = 0;
  uint64_t last_sequence = 0;
  // Batches after this one have not arrived at the aggregator that is spoken
  // to. Not in the file: of former processes it is not known.
  uint64_t sent = UINT64_MAX;
};

// A batch, or what is left of one that was dropped.
struct SpooledBatch {
  BatchPlace place;
  std::shared_ptr<const v1::Batch> batch;  // null: dropped
  std::optional<LossCause> dropped;        // why
  TickRange ticks;
  Losses losses;  // that it tells of
};

// Thread-safe.
class SpoolFile {
 public:
  struct Options {
    std::string path;
    uint64_t epoch = 0;  // of this process
    const Clock* clock = &Clock::Real();
    std::string boot_id;  // of the machine's start; empty: not known
    // For tests, which stop threads there: called by each function below that
    // uses the file, before it does.
    std::function<void()> before_use = [] {};
  };

  // Opens the file or makes it. What the process before had not put into a
  // batch becomes one. DataLoss if the file is damaged or of a later version.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Open(
      const Options& options);

  // What can be read of a file that is damaged: which batches it held, and, as
  // one without a place, the ticks that were in none. `current` is the number()
  // of the process that wrote it last, if that is this one.
  static std::vector<SpooledBatch> Salvage(const std::string& path,
                                           int64_t current);

  // This process's number in the file.
  int64_t number() const { return current_number_; }

  // Closes the file, before its end; then there are only errors.
  void Close();

  // Says that the process ends in order, so that the next one knows.
  ~SpoolFile();

  // What the process before could not tell: that its machine lost its power.
  const Losses& power_cut() const { return power_cut_; }

  // The epochs of former processes that have batches, and that of the one
  // before this. Oldest first.
  absl::StatusOr<std::vector<SpoolEpoch>> FormerEpochs();
  // The definitions of a former epoch, in messages of limited size.
  absl::StatusOr<std::vector<v1::Definitions>> DefinitionsOf(uint32_t epoch);

  // The first batch after `place` that was not dropped.
  absl::StatusOr<std::optional<SpooledBatch>> Next(BatchPlace place);
  // Those of its epoch that were dropped after `place`.
  absl::StatusOr<std::vector<SpooledBatch>> DroppedAfter(BatchPlace place);
  // The oldest batches: those that take up `bytes`, and those that are older
  // than `age`. Without their contents, and with what to drop them for.
  absl::StatusOr<std::vector<SpooledBatch>> Oldest(uint64_t bytes,
                                                   absl::Duration age);

  struct Tick {
    std::string content;  // a serialized v1::BatchContent
    TickRange range;
  };
  struct Changes {
    std::vector<SpooledBatch> batches;     // to add
    std::vector<BatchPlace> acknowledged;  // with all before it in its epoch
    std::vector<BatchPlace> removed;       // one batch each
    // Only what is left of these is to be kept, with the cause.
    std::vector<SpooledBatch> dropped;
    bool clears_ticks = false;  // before the next are added
    std::vector<Tick> ticks;    // that are in no batch yet
    DictionaryChanges definitions;
    // Whether more has changed than the ticks and definitions: then the rest.
    bool has_state = true;
    Losses losses;     // that no batch has told of
    SpoolEpoch epoch;  // this process's
    absl::Time last_tick = absl::InfinitePast();
    // Whether it shall survive a power cut, with all before it.
    bool sync = false;
  };
  // Nothing is written if there is an error.
  absl::Status Write(const Changes& changes);

  // The room that is taken, without what is free for use again.
  absl::StatusOr<uint64_t> UsedBytes();

 private:
  explicit SpoolFile(const Options& options);
  absl::Status Begin();
  absl::Status Prepare();
  absl::Status Configure();
  absl::Status Recover();
  absl::Status SealTicks(SpoolEpoch* last);
  absl::Status BeginProcess();
  absl::Status InTransaction(const std::function<absl::Status()>& body);
  absl::Status Apply(const Changes& changes);
  absl::Status SaveState(const Changes& changes);
  absl::Status SaveEpoch(int64_t number, const SpoolEpoch& epoch);
  absl::Status Insert(const SpooledBatch& batch);
  absl::Status Define(const v1::Definitions& definitions);
  absl::Status DeleteEpochsWithoutBatches();
  static SpooledBatch RowOf(const SqliteStatement& row, int64_t current_number);
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBackPages(bool has_freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration Age() const;

  // A batch's key: the number of its epoch in the file, and its sequence.
  int64_t KeyOf(BatchPlace place) const;
  static BatchPlace PlaceOf(int64_t key, int64_t current_number);

  const Options options_;
  Losses power_cut_;
  absl::Mutex mutex_;
  std::unique_ptr<SqliteDatabase> database_;
  int64_t current_number_ = 0;  // of this process's epoch in the file
  bool has_begun_ = false;
  // How long agents have run with this file, up to the start of this one. What
  // is in it does not age while none runs: nobody knows how long that was, if
  // the clock was set meanwhile.
  absl::Duration age_at_start_;
  absl::Duration started_;  // Clock::Monotonic()
  bool may_shrink_ ABSL_GUARDED_BY(mutex_) = false;

  struct Statements {
    SqliteStatement begin, commit, next, dropped_after, oldest;
    SqliteStatement insert, acknowledge, remove, drop;
    SqliteStatement clear_ticks, add_tick, define, undefine;
    SqliteStatement save_epoch, save_acknowledged, save_process;
  };
  std::optional<Statements> statements_;  // nothing: closed
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_FILE_H_
