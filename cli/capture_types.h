// The counter types of captured blocks, which the blocks do not have.

#ifndef FLEETPERF_CLI_CAPTURE_TYPES_H_
#define FLEETPERF_CLI_CAPTURE_TYPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "values/counter_formula.h"

namespace fleetperf::cli {

// Thread-compatible.
class CaptureTypes {
 public:
  // Reads the file capture.json in `directory`. Without one, no type is known.
  static absl::StatusOr<CaptureTypes> Read(const std::string& directory);

  // The counter of the block's result number `query` if the result has only one
  // and does not name it.
  std::optional<uint32_t> CounterOf(uint32_t query) const;

  // Returns the formula of a counter of the result; null if it is unknown.
  const CounterFormula* Find(uint32_t query, uint32_t counter_id) const;

  // Returns the number of the result that has another counter of the same
  // counterset and instances.
  std::optional<uint32_t> QueryOf(uint32_t query, uint32_t counter_id) const;

 private:
  struct Result {
    std::string counterset;
    std::string instance;
    uint32_t instance_id;
    std::set<uint32_t> counters;

    bool Has(uint32_t counter_id) const;
    bool IsOfSameInstances(const Result& other) const;
  };

  std::map<uint32_t, Result> results_;  // by number
  std::map<std::pair<std::string, uint32_t>, CounterFormula>
      formulas_;  // by counterset and counter
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CAPTURE_TYPES_H_
