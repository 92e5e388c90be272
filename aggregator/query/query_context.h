// What a query runs in: where samples are, and what it may take.

#ifndef FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
#define FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Each error that comes of one names it and says what to do.
struct QueryLimits {
  int64_t windows = 100'000;  // of a range
  size_t series = 200'000;    // of one machine
  // Values, windows and raw samples in memory at a time: some 300 MB.
  size_t held = 2'000'000;
  // Read from the store: a value a second of 10,000 machines for two days.
  uint64_t samples = 2'000'000'000;
};

// A machine's time of day.
using MachineNow = std::function<absl::Time(const std::string& machine)>;

struct QueryContext {
  Store& store;
  MachineNow now_of;
  QueryLimits limits = {};
  // Whether nobody waits for the answer any more. Empty: somebody always does.
  std::function<bool()> is_cancelled = nullptr;
};

// Counts what a query takes, and says when it must end. Thread-compatible.
class QueryMeter {
 public:
  // `context` outlives it.
  explicit QueryMeter(const QueryContext& context) : context_(context) {}

  // Counts samples that were read. An error if they are too many, or if the
  // query was cancelled.
  absl::Status Read(size_t samples);

  // Whether so much may be in memory.
  absl::Status CheckHeld(size_t held) const;

  absl::Status CheckCancelled() const;

 private:
  const QueryContext& context_;
  uint64_t samples_ = 0;
  uint64_t next_check_ = 0;  // for whether it is cancelled, at so many samples
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
