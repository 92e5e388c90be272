// What the parts of a hub share.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "aggregator/store/store.h"
#include "aggregator/subscribe/task_queue.h"

namespace fleetperf::aggregator {

// What tasks need of the hub. Thread-safe.
struct HubContext {
  // Each kind of work has `threads` of its own.
  HubContext(Store* its_store, size_t history_values, int threads)
      : store(its_store),
        max_history_values(history_values),
        live(threads),
        joining(threads),
        history(threads) {}

  Store* const store;
  const size_t max_history_values;  // as in HubLimits
  // Calls a function when all that was accepted before is in the store.
  std::function<void(std::function<void()>)> after_commits;
  std::atomic<uint32_t> next_series_id = 1;
  // What takes long ends early.
  std::atomic<bool> is_stopping = false;

  // Values on their way to subscribers: waits for nothing.
  TaskQueue live;
  // Subscriptions begin and end: reads a little of the store for each machine.
  TaskQueue joining;
  // Reads all that is stored since a subscription's start.
  TaskQueue history;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_
