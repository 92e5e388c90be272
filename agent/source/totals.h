// Monotonic `_Total` values for counters that only grow.
//
// A plain sum over the current instances falls when a process ends or a CPU
// goes offline. The total instead adds the growth of each instance since the
// previous pass, so the counts of ended instances are retained.

#ifndef FLEETPERF_AGENT_SOURCE_TOTALS_H_
#define FLEETPERF_AGENT_SOURCE_TOTALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// The method that forms a column's total.
enum class TotalKind : uint8_t {
  kNone,        // no total
  kGrowth,      // the sum of the instances' growth
  kMeanGrowth,  // kGrowth divided by the number of instances that grew
  kSum,         // the sum of the present values
  kMean,        // the mean of the present values
  kHighest,     // the highest value so far, of ended instances, too
};

// The meaning of the first value of a new instance.
enum class NewInstance : uint8_t {
  kStartedAtZero,  // a process: its whole value is growth
  kWasCounting,    // a CPU coming online: growth starts with its next value
};

// Thread-compatible.
class Totals {
 public:
  Totals(std::vector<TotalKind> kinds, NewInstance new_instance);

  // One pass: Begin, Add for every current instance, Finish. `key` identifies
  // the instance; `values` and `present` are those of its row.
  void Begin();
  void Add(uint64_t key, absl::Span<const uint64_t> values, ColumnSet present);
  // Sets the totals in the last row of `sample`, for the columns present in at
  // least one instance of this pass.
  void Finish(CountersetSample* sample);

 private:
  struct Column {
    TotalKind kind;
    uint64_t last_pass = 0;  // the last pass with a value; 0: none yet
    uint64_t total = 0;      // the growth since the start; kHighest: the value
    // The remainder of the division for kMeanGrowth, carried to the next pass.
    uint64_t remainder = 0;
    // In this pass: the number of instances with a value, the number whose
    // growth is known, and the sum of the counted values.
    uint64_t present = 0;
    uint64_t grown = 0;
    uint64_t sum = 0;
  };
  struct Known {
    uint64_t first_pass = 0;
    uint64_t last_pass = 0;
    ColumnSet present = 0;  // columns with a value in `values`
    std::vector<uint64_t> values;
  };

  // std::nullopt if the growth is unknown.
  std::optional<uint64_t> Growth(const Column& column, size_t i,
                                 const Known& known, uint64_t value) const;

  const NewInstance new_instance_;
  std::vector<Column> columns_;
  absl::flat_hash_map<uint64_t, Known> known_;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_TOTALS_H_
