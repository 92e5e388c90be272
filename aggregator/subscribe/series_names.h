// The names and ids that subscriptions use for the series of one counterset of
// one machine.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_SERIES_NAMES_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_SERIES_NAMES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/frame.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

// Returns the same name and id of a series to all feeds. Thread-safe.
class SeriesNames {
 public:
  // `next_id` is the next free id of the hub. It must outlive the object.
  SeriesNames(std::string machine, std::shared_ptr<const Schema> schema,
              std::atomic<uint32_t>* next_id)
      : machine_(std::move(machine)),
        schema_(std::move(schema)),
        next_id_(*next_id) {}

  // Returns the name of a counter of the `index`-th instance with its name. The
  // same object is returned for as long as a caller holds it.
  std::shared_ptr<const v1::Series> Get(uint32_t counter_id,
                                        const Instance& instance,
                                        uint32_t index);

 private:
  // The counter's id, and the instance's name, id and index.
  using Key = std::tuple<uint32_t, std::string, uint32_t, uint32_t>;

  const std::string machine_;
  const std::shared_ptr<const Schema> schema_;
  std::atomic<uint32_t>& next_id_;
  absl::Mutex mutex_;
  std::map<Key, std::weak_ptr<const v1::Series>> names_ ABSL_GUARDED_BY(mutex_);
  size_t clean_above_ ABSL_GUARDED_BY(mutex_) = 1000;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_SERIES_NAMES_H_
