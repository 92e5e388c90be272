// The machines that the configuration expects to send samples.

#ifndef FLEETPERF_AGGREGATOR_INGEST_EXPECTED_MACHINES_H_
#define FLEETPERF_AGGREGATOR_INGEST_EXPECTED_MACHINES_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/ingest.h"

namespace fleetperf::aggregator {

// Thread-safe.
class ExpectedMachines {
 public:
  using Names = std::set<std::string>;

  // `ingest` must outlive the object. Names are canonical.
  explicit ExpectedMachines(const Ingest* ingest, Names names = {})
      : ingest_(*ingest),
        names_(std::make_shared<const Names>(std::move(names))) {}

  // Replaces the expected machines.
  void Set(Names names);

  std::shared_ptr<const Names> names() const;
  // Returns the expected machines without a connected agent, by name.
  std::vector<std::string> Missing() const;

 private:
  const Ingest& ingest_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Names> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_EXPECTED_MACHINES_H_
