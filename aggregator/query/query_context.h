// What a query runs in: where samples are, and what it may take.

#ifndef FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
#define FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Each error that comes of one names it and says what to do.
struct QueryLimits {
  int64_t windows = 100'000;  // of a range
  size_t series = 200'000;    // of one machine
  // Values, windows and raw samples in memory at a time: some 300 MB. Half as
  // many more of machines that a range query reads ahead.
  size_t held = 2'000'000;
  // Read from the store: a value a second of 10,000 machines for two days.
  uint64_t samples = 2'000'000'000;
};

// A machine's time of day. Called on several threads at a time.
using MachineNow = std::function<absl::Time(const std::string& machine)>;

struct QueryContext {
  Store& store;
  MachineNow now_of;
  QueryLimits limits = {};
  // Whether nobody waits for the answer any more. Empty: somebody always does.
  // Called on any of the query's threads, by one at a time.
  std::function<bool()> is_cancelled = nullptr;
  // That read machines at a time: as many as there are processors, up to 8.
  size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
};

// Counts what a query takes, and says when it must end. Thread-safe.
class QueryMeter {
 public:
  // `context` outlives it.
  explicit QueryMeter(const QueryContext& context) : context_(context) {}

  // Counts samples that were read. An error if they are too many, or if the
  // query was cancelled.
  absl::Status Read(size_t samples);
  // Does not count samples that will be read again.
  void Forget(size_t samples);

  // Whether so much may be in memory: TooMuchHeld if not.
  absl::Status CheckHeld(size_t held) const;
  absl::Status TooMuchHeld() const;

  absl::Status CheckCancelled();

 private:
  absl::Status CheckNotCancelled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const QueryContext& context_;
  absl::Mutex mutex_;
  uint64_t samples_ ABSL_GUARDED_BY(mutex_) = 0;
  // For whether it is cancelled, at so many samples.
  uint64_t next_check_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
