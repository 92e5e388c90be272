// An in-memory index from times to batches of the log.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_INDEX_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_INDEX_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fleetperf::aggregator {

// The times of a batch: the oldest and newest sample by the machines' clocks,
// and the receipt.
struct BatchTimes {
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time newest = absl::InfinitePast();
  absl::Time received;
};

// A record of the family "times". Decoding returns false if it is not one.
std::string EncodeTimes(const BatchTimes& times, uint64_t fingerprint);
bool DecodeTimes(absl::string_view bytes, BatchTimes* times,
                 uint64_t* fingerprint);

// Consecutive batches of one epoch with neighboring times. Batches that an
// agent dropped are missing.
struct LogSegment {
  uint32_t epoch_number = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
  uint64_t batches = 0;
  BatchTimes times;  // `received` is that of the last batch
};

// Thread-safe.
class LogIndex {
 public:
  // Adds a batch. The batches of an epoch must be added in sequence order.
  void Add(uint32_t epoch_number, uint64_t sequence, const BatchTimes& times);
  // Records that batches of the epoch may have samples of the machine.
  void AddMachine(const std::string& machine, uint32_t epoch_number);

  // Returns the segments that may have samples of the machine between `from`
  // and `to`, ordered by epoch and sequence.
  std::vector<LogSegment> Find(const std::string& machine, absl::Time from,
                               absl::Time to) const;

  // Returns the segments that are probably complete: newer segments of the
  // epoch exist, or the last batch was received before `idle_since`. They are
  // ordered by epoch and sequence.
  std::vector<LogSegment> Closed(absl::Time idle_since) const;
  // Removes the batches of a segment. Batches that were added to it since
  // remain.
  void Remove(const LogSegment& segment);

  // Returns the time of receipt of the newest batch. InfinitePast if there is
  // none.
  absl::Time NewestReceived() const;

  // Returns the machines that batches of the epoch may have samples of.
  std::vector<std::string> MachinesOf(uint32_t epoch_number) const;
  bool HasBatches(uint32_t epoch_number) const;
  // Returns all epochs that have batches, in ascending order.
  std::vector<uint32_t> Epochs() const;
  // Returns the number of batches.
  uint64_t CountBatches() const;
  // Removes all machines of the epoch.
  void RemoveMachines(uint32_t epoch_number);

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, std::vector<LogSegment>> segments_
      ABSL_GUARDED_BY(mutex_);  // by epoch
  absl::flat_hash_map<std::string, absl::flat_hash_set<uint32_t>>
      epochs_of_machine_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, absl::flat_hash_set<std::string>>
      machines_of_epoch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_INDEX_H_
