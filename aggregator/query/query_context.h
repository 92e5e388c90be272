// The environment of a query: the store, clocks, limits and cancellation.

#ifndef FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
#define FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/store/readable_store.h"

namespace fleetperf::aggregator {

// Errors name the exceeded limit and a way to stay below it.
struct QueryLimits {
  int64_t windows = 100'000;  // per range
  size_t series = 200'000;    // per machine
  // Values, windows and raw samples in memory at a time, about 300 MB. A range
  // query may hold half as many more of machines that it reads ahead.
  size_t held = 2'000'000;
  // Samples read from the store: one value per second of 10,000 machines for
  // two days.
  uint64_t samples = 2'000'000'000;
};

// Returns the current time by a machine's clock. Must be thread-safe.
using MachineNow = std::function<absl::Time(const std::string& machine)>;

// A machine without samples in a part of a query's range, or in all of it.
struct SilentMachine {
  std::string machine;
  absl::Time newest_sample;  // by its clock
  // Its clock minus the earliest of the other machines' clocks (CommonNow), if
  // that is the reason.
  std::optional<absl::Duration> clock_skew = std::nullopt;
  bool has_samples = false;  // in the rest of the range
};

struct QueryContext {
  ReadableStore& store;
  MachineNow now_of;
  QueryLimits limits = {};
  // Called on any of the query's threads, by one at a time.
  IsCancelled is_cancelled = nullptr;
  // The number of threads that read machines: one per processor, up to 8.
  size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  // Reports a path without samples (PathOf), after the answers of the others.
  // An error ends the query. Empty: a query fails with the first path that
  // selects nothing.
  std::function<absl::Status(const absl::Status& missing)> report_missing =
      nullptr;
  // Reports a silent machine, after the missing paths. An error ends the query.
  // Empty: silent machines are not reported.
  std::function<absl::Status(const SilentMachine& machine)> report_silent =
      nullptr;
  // Reports how many of the query's machines were read: before the first one,
  // and after each one, in their order. An error ends the query. Empty: not
  // reported.
  std::function<absl::Status(size_t machines_read, size_t machines)>
      report_progress = nullptr;
};

// Reports the progress if that is wanted.
absl::Status ReportProgress(const QueryContext& context, size_t machines_read,
                            size_t machines);

// Reports these errors of paths, or returns the first error that ends the
// query.
absl::Status ReportMissing(const QueryContext& context,
                           const std::vector<absl::Status>& missing);

// Counts the resources of a query and enforces the limits. Thread-safe.
class QueryMeter {
 public:
  // `context` must outlive the meter.
  explicit QueryMeter(const QueryContext& context) : context_(context) {}

  // Counts samples read. Returns an error if they are too many, or if the query
  // was cancelled.
  absl::Status Read(size_t samples);
  // Counts other work, in steps that take about as long as a sample. Returns an
  // error if the query was cancelled.
  absl::Status Work(size_t steps);
  // Subtracts samples that will be read again.
  void Forget(size_t samples);

  // Returns an error if `held` values exceed the limit.
  absl::Status CheckHeld(size_t held) const;
  absl::Status TooMuchHeld() const;

  absl::Status CheckCancelled();

 private:
  absl::Status WorkLocked(size_t steps) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const QueryContext& context_;
  absl::Mutex mutex_;
  uint64_t samples_ ABSL_GUARDED_BY(mutex_) = 0;
  // Samples and steps since the last check for cancellation.
  uint64_t unchecked_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_QUERY_CONTEXT_H_
