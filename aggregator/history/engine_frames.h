// Makes the frames again whose samples were exported as raw series.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_ENGINE_FRAMES_H_
#define FLEETPERF_AGGREGATOR_HISTORY_ENGINE_FRAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/history/engine_series.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/readable_store.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class EngineFrames {
 public:
  // `request` must outlive the object; its `selected` must be set.
  // `known_epochs` are the agent's epochs by their numbers in the store, which
  // frames then have.
  EngineFrames(const ReadableStore::ReadRequest* request,
               const std::map<uint32_t, uint64_t>& known_epochs);

  // Makes the frames of the ticks from `begin` to before `end`, in units of
  // PerfTime100NSec, and passes them on: by counterset in the order of epochs
  // and of PerfTimeStamp. Ticks and queries that are incomplete or malformed
  // are left out; malformed values are missing ones. Sorts the series. Returns
  // the first error of `on_frame`.
  absl::Status Make(int64_t begin, int64_t end, EngineSeries* series,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame);

 private:
  struct Tick;
  struct Lane;
  struct Span;
  using InstanceOfLife = std::tuple<EngineQuery::InstanceKey, uint64_t, bool>;

  // Returns null if the query is malformed, or not selected.
  std::shared_ptr<const CollectedQuery> QueryOf(
      const EngineSeries::QueryKey& key, const std::string& columns);
  std::optional<Lane> MakeLane(const EngineSeries::QueryKey& key, int64_t begin,
                               int64_t end, EngineQuery* raw);
  uint32_t EpochNumberOf(uint64_t epoch) const;
  void SortTicks(std::vector<Lane>* lanes) const;
  void MakeFrames(Lane* lane);
  void AddInstance(const EngineQuery::InstanceKey& key, EngineInstance* raw,
                   Lane* lane);
  std::shared_ptr<const Instance> InstanceOf(
      const EngineQuery::InstanceKey& key, uint64_t life, bool is_born);

  const ReadableStore::ReadRequest& request_;
  absl::flat_hash_map<uint64_t, uint32_t> known_epochs_;  // numbers
  // Queries by counterset, interval and columns. Null: malformed, or not
  // selected.
  std::map<EngineSeries::QueryKey, std::shared_ptr<const CollectedQuery>>
      queries_;
  std::map<InstanceOfLife, std::shared_ptr<const Instance>> instances_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_ENGINE_FRAMES_H_
