// Decides which chunks can be merged.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/store/tables/chunk_keys.h"

namespace fleetperf::aggregator {

// Groups chunks of one machine, epoch, hour and set of shapes. No chunk of
// another hour or other shapes may lie between two chunks of a group if it has
// samples of the same series, because merging would change their order.
// Thread-compatible.
class MergePlan {
 public:
  using Group = std::vector<ChunkKey>;

  // `share_series` returns whether queries of two shapes may have samples of
  // the same series.
  explicit MergePlan(std::function<bool(uint32_t, uint32_t)> share_series)
      : share_series_(std::move(share_series)) {}

  // Adds a chunk. The chunks of an epoch must be added in order. `shapes` must
  // be sorted.
  void Add(const ChunkKey& key, std::vector<uint32_t> shapes,
           absl::Time received);

  // Returns the groups of two or more chunks that are complete: later chunks
  // conflict with them, or their last chunk was received before `idle_since`.
  // The plan forgets these groups.
  std::vector<Group> Take(absl::Time idle_since);

 private:
  struct Line {
    std::vector<uint32_t> shapes;
    Group chunks;
    // The earliest and the latest time of receipt. Later chunks may have
    // earlier times, because the clock may be set back.
    absl::Time first_received;
    absl::Time last_received;
  };

  // Returns the largest difference between times of receipt in the line if it
  // had another chunk.
  static absl::Duration GapOf(const Line& line, absl::Time received);

  bool Conflict(const std::vector<uint32_t>& a,
                const std::vector<uint32_t>& b) const;
  void Complete(Line* line);

  const std::function<bool(uint32_t, uint32_t)> share_series_;

  // Keyed by machine and epoch.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Line>> lines_;
  std::vector<Group> complete_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_
