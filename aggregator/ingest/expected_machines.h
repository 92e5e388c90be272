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

  // `ingest` must outlive the object. Names are canonical. `has_others`:
  // whether machines may be connected to other aggregators.
  explicit ExpectedMachines(const Ingest* ingest, Names names = {},
                            bool has_others = false)
      : ingest_(*ingest),
        has_others_(has_others),
        names_(std::make_shared<const Names>(std::move(names))) {}

  // Replaces the expected machines.
  void Set(Names names);

  std::shared_ptr<const Names> names() const;
  bool has_others() const { return has_others_; }
  // Returns the expected machines without a connected agent, by name. None if
  // there are other aggregators.
  std::vector<std::string> Missing() const;

 private:
  const Ingest& ingest_;
  const bool has_others_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Names> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_EXPECTED_MACHINES_H_
