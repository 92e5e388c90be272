// The number of lost ticks by agent, machine and cause.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_TICKS_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_TICKS_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "aggregator/samples/commit.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Thread-safe.
class LostTicksTable {
 public:
  using ByCause = std::map<LossCause, uint64_t>;
  // Keyed by agent and machine. An empty machine stands for all machines of the
  // agent.
  using Map = std::map<std::pair<std::string, std::string>, ByCause>;

  // Skips damaged records and reports them to `on_damage`.
  absl::Status Load(const Database& database, OnDamage on_damage);

  // Returns the entries as they are after these batches, for all entries that
  // the batches change.
  Map After(absl::Span<const BatchToCommit> batches) const;
  static void Put(const Map& entries, Changes* changes);
  void Take(Map entries);

  // Returns the sum of the machine's own losses and those of all machines of
  // its agent.
  ByCause Of(const std::string& agent, const std::string& machine) const;

 private:
  mutable absl::Mutex mutex_;
  Map entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOST_TICKS_TABLE_H_
