// Collects the aggregator's own counters into its own store, so that they can
// be queried like any other counterset.

#ifndef FLEETPERF_AGGREGATOR_OWN_OWN_COLLECTION_H_
#define FLEETPERF_AGGREGATOR_OWN_OWN_COLLECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/epoch.h"
#include "aggregator/ingest/ingest.h"
#include "base/os/clock.h"
#include "base/own_counterset.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

// Takes a tick every ten seconds, on a thread of its own, from construction to
// destruction. Does not add the machine to the fleet's list; only an agent on
// the machine does. Thread-compatible.
class OwnCollection {
 public:
  // The pointers must outlive the object. Its thread calls them, so
  // `counterset` must be thread-safe.
  OwnCollection(std::string machine, const OwnCounterset* counterset,
                Ingest* ingest, const Clock* clock = &Clock::Real());
  ~OwnCollection();

 private:
  void Run();
  absl::Status TakeTick();
  absl::Status BeginEpoch();
  v1::BatchContent MakeContent();
  v1::Definitions MakeDefinitions() const;

  const std::string machine_;
  const OwnCounterset& counterset_;
  Ingest& ingest_;
  const Clock& clock_;
  std::shared_ptr<Epoch> epoch_;  // used only by the thread

  absl::Mutex mutex_;
  Wakeup wakeup_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_OWN_OWN_COLLECTION_H_
