// A machine with a random history: counters of many formulas that wrap and are
// reset, instances that come and go, missed and failed ticks, clocks that step,
// restarts, changed intervals, and losses. Some epochs have none of these.

#ifndef FLEETPERF_TESTS_AGGREGATOR_QUERY_RANDOM_MACHINE_H_
#define FLEETPERF_TESTS_AGGREGATOR_QUERY_RANDOM_MACHINE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "tests/aggregator/query/reference_evaluator.h"
#include "tests/support/test_store.h"

namespace fleetperf::testing {

// Random numbers that are the same on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}

  uint64_t Below(uint64_t limit) { return bits_() % limit; }
  int64_t Between(int64_t least, int64_t most) {
    return least +
           static_cast<int64_t>(Below(static_cast<uint64_t>(most - least + 1)));
  }
  bool OneIn(uint64_t times) { return Below(times) == 0; }
  template <typename T>
  const T& OneOf(const std::vector<T>& choices) {
    return choices[Below(choices.size())];
  }

 private:
  std::mt19937_64 bits_;
};

// The time at which a store's batches move to chunks.
enum class Compaction : uint8_t { kNever, kInBetween, kAtTheEnd };

// Writes the history of a machine into `store`, and returns it.
absl::StatusOr<ReferenceMachine> WriteRandomMachine(const std::string& name,
                                                    Compaction compaction,
                                                    Random* random,
                                                    TestStore* store);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGGREGATOR_QUERY_RANDOM_MACHINE_H_
