// Which ticks an agent took, and which of them the store has.

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

// By their PerfTime100NSec, which tells them apart.
using Ticks = std::set<int64_t>;

// Those that an agent took that keeps its blocks in this directory: a block is
// there before anything becomes of it.
Ticks ReadTaken(const std::string& capture);
// The one that was taken last, whatever its time is; none if there is none.
Ticks ReadNewestTaken(const std::string& capture);

struct Stored {
  Ticks ticks;
  std::vector<int64_t> repeated;
  std::map<std::string, uint64_t> lost;  // by cause
};
// What the store has of a machine: the raw samples of `path`.
Stored ReadStored(const Deployment& deployment, const std::string& machine,
                  const std::string& path, absl::Time from, absl::Time to);

// Those of `taken` that are not stored.
Ticks MissingOf(const Ticks& taken, const Stored& stored);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_TICKS_H_
