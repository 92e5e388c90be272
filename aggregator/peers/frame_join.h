// Joins the samples of one machine that several stores hold, because its agent
// moved between their aggregators.

#ifndef FLEETPERF_AGGREGATOR_PEERS_FRAME_JOIN_H_
#define FLEETPERF_AGGREGATOR_PEERS_FRAME_JOIN_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Invariants of the result:
// - The samples of each store keep their order. Otherwise ticks of an epoch are
//   in the order of PerfTimeStamp, which no clock step changes, and ticks of
//   different epochs in the order of their times.
// - A tick of a query that several stores hold, because its batch was sent
//   again after a move, is there once.
// - Epochs and lives that are the same in several stores have the same numbers.
// Thread-compatible.
class FrameJoin {
 public:
  // Begins with another store. `epochs` are those of the machine's agent, by
  // number, and must outlive the store's additions; epochs that it lacks are
  // unlike those of all other stores.
  void BeginStore(const std::map<uint32_t, uint64_t>* epochs);
  // Adds samples of the store, in its order. They must not be folded. Returns
  // ResourceExhausted if all stores together have too many for the memory.
  absl::Status Add(const Frame& frame);

  // Passes on the joined samples. Returns the first error of `on_frame`.
  absl::Status Run(absl::FunctionRef<absl::Status(const Frame&)> on_frame);

 private:
  // The samples of one query in one store.
  struct Lane {
    size_t query = 0;  // the same for the same query in all stores
    std::deque<Frame> frames;
    uint32_t next = 0;  // tick of the first frame

    // Whether the lane's next tick comes before a tick of the other's frame.
    bool ComesBefore(const Lane& other, uint32_t tick) const;
  };
  using Lanes = std::vector<Lane*>;

  uint32_t EpochNumber(uint32_t number);
  std::shared_ptr<const Instance> JoinedInstance(
      const std::shared_ptr<const Instance>& instance);
  Lane* LaneOf(const CollectedQuery& query);
  size_t QueryOf(const CollectedQuery& query);
  absl::Status RunLanes(Lanes lanes,
                        absl::FunctionRef<absl::Status(const Frame&)> on_frame);
  absl::Status Emit(Lane* lane, const Lanes& lanes,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame);

  // The numbers of epochs in the result, by the agent's epoch; and by store and
  // number, for those without one.
  std::map<uint64_t, uint32_t> known_epochs_;
  std::map<std::pair<size_t, uint32_t>, uint32_t> other_epochs_;
  uint32_t last_epoch_ = 0;
  size_t bytes_ = 0;  // in memory, about
  // Of the store being added.
  size_t store_ = 0;
  const std::map<uint32_t, uint64_t>* epochs_ = nullptr;
  absl::flat_hash_map<std::shared_ptr<const Instance>,
                      std::shared_ptr<const Instance>>
      instances_;
  std::map<size_t, Lane*> lanes_of_store_;  // by query
  std::vector<std::shared_ptr<const CollectedQuery>> queries_;
  // By the hash of the schema: only queries of one schema share series.
  std::map<std::string, std::vector<std::unique_ptr<Lane>>> lanes_;
  // The ticks that were passed on, by query, PerfTime100NSec and PerfTimeStamp,
  // and the lane that had each.
  using Tick = std::tuple<size_t, int64_t, int64_t>;
  absl::flat_hash_map<Tick, const Lane*> emitted_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_FRAME_JOIN_H_
