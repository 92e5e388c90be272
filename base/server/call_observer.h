// Observes all calls of gRPC's synchronous API, also those of gRPC's own
// services and of unknown methods.

#ifndef FLEETPERF_BASE_SERVER_CALL_OBSERVER_H_
#define FLEETPERF_BASE_SERVER_CALL_OBSERVER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/server/connection_table.h"
#include "base/wakeup.h"

namespace fleetperf {

// While the object exists, each call authenticates its connection in `table`.
// A thread cancels stalled calls of CallTable::OfProcess, which has the calls
// of all servers that start after the first object was made. Thread-safe.
class CallObserver {
 public:
  // `table` must outlive the object.
  explicit CallObserver(ConnectionTable* table);
  ~CallObserver();
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;

 private:
  void Watch();

  ConnectionTable* const table_;
  absl::Mutex mutex_;
  Wakeup stopping_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_;  // last: it uses the other members
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CALL_OBSERVER_H_
