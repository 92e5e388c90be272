// The batches committed last, in memory: questions about the last minutes read
// neither the log nor chunks.
//
// Invariants:
// - Of each epoch, the batches from some sequence on are in memory: batches are
//   added in the order of their sequences, and removed in the order of commits.
// - Batches are removed when they exceed the budget, or `kMaxAge` after their
//   receipt. By then, they are in chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCHES_H_
#define FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/samples/commit.h"
#include "aggregator/store/recent/recent_batch.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// Thread-safe.
class RecentBatches {
 public:
  static constexpr absl::Duration kMaxAge = absl::Minutes(10);

  // `max_bytes` is the budget of all batches. 0: none is kept.
  explicit RecentBatches(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds a durable batch.
  void Add(const BatchToCommit& batch, const BatchTimes& times);
  // Records that losses in the epoch's batches may count for the machine.
  void AddMachine(const std::string& machine, uint32_t epoch_number);
  // Removes the batches received before `time`, from the first one on.
  void RemoveReceivedBefore(absl::Time time);

  // Batches by epoch and sequence.
  using Batches = std::vector<std::shared_ptr<const RecentBatch>>;
  struct Found {
    // Only batches that may have samples or losses of the machine in the range.
    Batches batches;
    // The epochs of the machine in memory, in order.
    struct OfEpoch {
      uint32_t number = 0;
      uint64_t first_sequence = 0;  // of all its batches in memory
      uint64_t last_sequence = 0;
    };
    std::vector<OfEpoch> epochs;
    // The time of the oldest sample or loss in these epochs' batches.
    absl::Time oldest = absl::InfiniteFuture();
    // Samples and losses of the machine after this time are all in memory.
    // InfiniteFuture: unknown.
    absl::Time complete_after = absl::InfiniteFuture();

    // Whether `batches` has one of the epoch.
    bool HasBatchOf(uint32_t epoch_number) const;
    // Returns the first sequence in memory; UINT64_MAX if there is none.
    uint64_t FirstSequence(uint32_t epoch_number) const;
  };
  Found Find(const std::string& machine, absl::Time from, absl::Time to) const;
  // Same, but without batches and their oldest time unless everything in the
  // range is in memory: listing batches costs more than a question of a few
  // samples from a chunk.
  Found FindIfComplete(const std::string& machine, absl::Time from,
                       absl::Time to) const;

  // Sets the time of the newest sample or loss of a machine that was not in
  // memory when Find was called.
  void SetNewestElsewhere(const std::string& machine, absl::Time time);

  // The bytes in memory, about.
  uint64_t size() const;

 private:
  struct Machine {
    absl::flat_hash_set<uint32_t> epochs;
    // The times of the newest sample or loss that was never in memory, if
    // known, and of those removed from memory.
    absl::Time never_here = absl::InfiniteFuture();
    absl::Time removed = absl::InfinitePast();
  };
  struct Epoch {
    std::deque<std::shared_ptr<const RecentBatch>> batches;
    // Of the first batch, the bytes that a removed batch counted.
    uint64_t inherited_bytes = 0;
    absl::flat_hash_set<std::string> machines;
  };

  void AddMachineOf(uint32_t epoch_number, Epoch* epoch,
                    const std::string& machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Found FindEpochs(const std::string& machine) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void FindBatches(absl::Time from, absl::Time to, Found* found) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Time FirstReceived() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void RemoveFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  mutable absl::Mutex mutex_;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint32_t, Epoch> epochs_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  // The epochs of the batches in the order of their commits.
  std::deque<uint32_t> order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_RECENT_RECENT_BATCHES_H_
