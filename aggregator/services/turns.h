// Lets callers take turns in a queue of tasks.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_TURNS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_TURNS_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace fleetperf::aggregator {

// Passes a caller's tasks to a queue one after the other: the next when the
// last has run. So a caller has one task in the queue, however many it posts,
// and other callers wait for that one alone. Thread-safe.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  using Task = std::function<void()>;
  // Runs a task later, on any thread.
  using Queue = std::function<void(Task)>;

  static std::shared_ptr<Turns> Make(Queue queue) {
    return std::shared_ptr<Turns>(new Turns(std::move(queue)));
  }

  // Runs the tasks of a caller in order. The queue keeps this object alive.
  void Post(const std::string& caller, Task task);

 private:
  explicit Turns(Queue queue) : queue_(std::move(queue)) {}

  void Enqueue(const std::string& caller, Task task);
  void EndTurn(const std::string& caller);

  const Queue queue_;
  absl::Mutex mutex_;
  // The tasks that wait, of callers that have a task in the queue.
  absl::flat_hash_map<std::string, std::deque<Task>> waiting_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_TURNS_H_
