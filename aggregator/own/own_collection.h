// Collects what the aggregator counts of itself into its own store, so that it
// is asked for like any other counterset.

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
#include "base/clock.h"
#include "base/own_counterset.h"
#include "base/wakeup.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {

// Takes a tick every ten seconds from its start to its destruction. The machine
// is not entered into the fleet's list, unless an agent is on it, too.
class OwnCollection {
 public:
  // `counterset`, `ingest` and `clock` outlive it.
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
  std::shared_ptr<Epoch> epoch_;  // the thread's own

  absl::Mutex mutex_;
  Wakeup wakeup_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_OWN_OWN_COLLECTION_H_
