// Compares the ticks that an agent took with the ticks in the store.

#ifndef FLEETPERF_TESTS_E2E_TICKS_H_
#define FLEETPERF_TESTS_E2E_TICKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {

// Ticks, identified by their PerfTime100NSec.
using Ticks = std::set<int64_t>;

// Returns the ticks whose blocks are in the agent's capture directory. The
// agent captures each block before processing it.
Ticks ReadTaken(const std::string& capture);
// Returns the tick whose block was written last, whatever its time is. Empty if
// there is no block, or if that block has no complete header.
Ticks ReadNewestTaken(const std::string& capture);

struct Stored {
  Ticks ticks;
  std::vector<int64_t> repeated;         // stored more than once
  std::map<std::string, uint64_t> lost;  // by cause
};
// Returns the ticks of a machine that have raw samples of `path` in the store,
// and the machine's losses. Asks the aggregator at `aggregator`, or that of the
// deployment.
Stored ReadStored(const Deployment& deployment, const std::string& machine,
                  const std::string& path, absl::Time from, absl::Time to,
                  const std::string& aggregator = "");

// Returns the ticks of `taken` that are not stored.
Ticks FindMissing(const Ticks& taken, const Stored& stored);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_TICKS_H_
