// Which chunks can become one.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/store/tables/chunk_table.h"

namespace fleetperf::aggregator {

// Chunks of one machine, epoch and hour, of the same shapes, that came one
// after the other: with nothing in between, in another hour or of other shapes,
// that the samples of one of their queries would have to come before or after.
// Thread-compatible.
class MergePlan {
 public:
  using Group = std::vector<ChunkKey>;

  // `share_series` says of two shapes whether queries of them may have samples
  // of the same series.
  explicit MergePlan(std::function<bool(uint32_t, uint32_t)> share_series)
      : share_series_(std::move(share_series)) {}

  // The chunks of an epoch come in their order. `shapes` are sorted.
  void Add(const ChunkKey& key, std::vector<uint32_t> shapes,
           absl::Time received);

  // Groups of two and more to which nothing is added any more: later ones have
  // come, or none since `idle_since`. They are forgotten.
  std::vector<Group> Take(absl::Time idle_since);

 private:
  struct Line {
    std::vector<uint32_t> shapes;
    Group chunks;
    absl::Time first_received;
    absl::Time last_received;
  };

  bool Conflict(const std::vector<uint32_t>& a,
                const std::vector<uint32_t>& b) const;
  void Complete(Line* line);

  const std::function<bool(uint32_t, uint32_t)> share_series_;

  // By machine and epoch.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Line>> lines_;
  std::vector<Group> complete_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_MERGE_PLAN_H_
