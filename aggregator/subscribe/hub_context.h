// The store, limits and task queues shared by the parts of a hub.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "aggregator/store/store.h"
#include "aggregator/subscribe/task_queue.h"

namespace fleetperf::aggregator {

// Thread-safe.
struct HubContext {
  // Each task queue has `threads` threads of its own.
  HubContext(Store* its_store, size_t history_values, int threads)
      : store(its_store),
        history_samples(its_store),
        max_history_values(history_values),
        live(threads),
        joining(threads),
        history(threads) {}

  Store* const store;
  // The samples of the store, wherever they are, for the history of
  // subscriptions.
  ReadableStore* history_samples;
  const size_t max_history_values;  // HubLimits::max_history_values
  // Calls its argument once all batches accepted before are stored.
  std::function<void(std::function<void()>)> after_commits;
  std::atomic<uint32_t> next_series_id = 1;
  // Makes long work end early.
  std::atomic<bool> is_stopping = false;

  // Evaluates live values. Its tasks never block.
  TaskQueue live;
  // Begins and ends subscriptions. Reads a little of the store per machine.
  TaskQueue joining;
  // Reads the history of subscriptions.
  TaskQueue history;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_CONTEXT_H_
