// Which batches of the log hold which times, in memory.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_INDEX_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_INDEX_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fleetperf::aggregator {

// The times in a batch: of its samples, by the machines' clocks, and of its
// receipt.
struct BatchTimes {
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time newest = absl::InfinitePast();
  absl::Time received;
};

// Batches of one epoch with neighbouring sequences and times.
struct LogSegment {
  uint32_t epoch_number = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
  BatchTimes times;  // `received` is that of the last one
};

// Thread-safe.
class LogIndex {
 public:
  // Batches of an epoch come in the order of their sequences.
  void Add(uint32_t epoch_number, uint64_t sequence, const BatchTimes& times);
  // Says that batches of the epoch may tell of the machine.
  void AddMachine(const std::string& machine, uint32_t epoch_number);

  // The segments that may have samples of the machine between `from` and `to`,
  // in the order of epochs and sequences.
  std::vector<LogSegment> Find(const std::string& machine, absl::Time from,
                               absl::Time to) const;

  // The segments to which no batch is added any more, as far as can be known:
  // newer ones have come, or none since `idle_since`. In the order of epochs
  // and sequences.
  std::vector<LogSegment> Closed(absl::Time idle_since) const;
  // Removes a segment, as far as it goes: there may be more in it by now.
  void Remove(const LogSegment& segment);

  // When the newest batch of all was received; InfinitePast if there is none.
  absl::Time NewestReceived() const;

  // The machines of which batches of the epoch may tell.
  std::vector<std::string> MachinesOf(uint32_t epoch_number) const;
  bool HasBatches(uint32_t epoch_number) const;
  // All epochs that have batches, in their order.
  std::vector<uint32_t> Epochs() const;
  // Forgets which machines batches of the epoch may tell of.
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
