// What the hub's threads do.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_TASK_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_TASK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

class HubTask {
 public:
  virtual ~HubTask() = default;
  // Does a part of what there is to do. False if nothing is left; it is
  // scheduled when there is. Called by one thread at a time.
  virtual bool Work() = 0;
};

// What tasks need of the hub. Thread-safe.
struct HubContext {
  Store* store = nullptr;
  size_t max_history_values = 0;  // as in HubLimits
  // Has a thread call Work.
  std::function<void(std::shared_ptr<HubTask>)> schedule;
  // Calls a function when all that was accepted before is in the store.
  std::function<void(std::function<void()>)> after_commits;
  std::atomic<uint32_t> next_series_id = 1;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_TASK_H_
