// The `_Total` of counters that only grow, kept so that it only grows, too.
//
// A sum over what exists falls when a process ends or a CPU goes offline. So
// the total adds up what each instance grew by since it was last seen; what the
// dead had counted stays in.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_TOTALS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_TOTALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// How a column's total is formed.
enum class TotalKind : uint8_t {
  kNone,        // it has no total
  kGrowth,      // the sum of what instances grew by
  kMeanGrowth,  // that, divided by the number of instances that grew
  kSum,         // the sum of the present values
  kMean,        // the mean of the present values
};

// What happens to an instance that was not there before.
enum class NewInstance : uint8_t {
  kStartedAtZero,  // a process: all it has counted is growth
  kWasCounting,    // a CPU that comes online: growth begins with its next value
};

// Not thread-safe.
class Totals {
 public:
  Totals(std::vector<TotalKind> kinds, NewInstance new_instance);

  // A pass: Begin, Add for every instance there is, Finish. `key` is the
  // instance's identity; `values` and `present` are those of its row.
  void Begin();
  void Add(uint64_t key, absl::Span<const uint64_t> values, ColumnSet present);
  // Sets the totals of the columns that some instance had in this pass, in the
  // newest row of `sample`.
  void Finish(CountersetSample* sample);

 private:
  struct Column {
    TotalKind kind;
    uint64_t last_pass = 0;  // in which some instance had it; 0: none yet
    uint64_t total = 0;      // growth since the start
    // Of the division of kMeanGrowth, kept for the next.
    uint64_t remainder = 0;
    // In this pass: the instances that have it, those whose growth is known,
    // and the sum of what counts.
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

  // Nothing if it is not known.
  std::optional<uint64_t> Growth(const Column& column, size_t i,
                                 const Known& known, uint64_t value) const;

  const NewInstance new_instance_;
  std::vector<Column> columns_;
  absl::flat_hash_map<uint64_t, Known> known_;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_TOTALS_H_
