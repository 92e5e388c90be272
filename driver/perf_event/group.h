// Events that the PMU counts at the same time, or not at all.
//
// Ratios need a group: instructions per cycle is wrong if the two take turns on
// the PMU. A group counts only if all its events fit on the PMU's counters, so
// it should be small.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_GROUP_H_
#define FLEETPERF_DRIVER_PERF_EVENT_GROUP_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/counter.h"
#include "driver/perf_event/values.h"

namespace fleetperf::perf_event {

// Movable. Closes its events with the object. Thread-compatible.
class Group {
 public:
  // Opens the leader, with kGroup added to its read format. Errors are those of
  // Builder::Build.
  static absl::StatusOr<Group> Create(Builder leader);

  // Adds an event, which counts together with the leader: it is enabled here,
  // but does not count while the leader is disabled. Returns the event's
  // position in the group. The event must have the leader's target.
  absl::StatusOr<size_t> Add(Builder member);

  // Of all events at once.
  absl::Status Enable() { return events_.front().EnableGroup(); }
  absl::Status Disable() { return events_.front().DisableGroup(); }
  absl::Status Reset() { return events_.front().ResetGroup(); }

  // Reads all events at one moment. Entries are in the order of positions; the
  // leader is first. Reuses the memory of `values`.
  absl::Status Read(GroupValues* values) const;

  size_t size() const { return events_.size(); }
  Counter& operator[](size_t position) { return events_[position]; }
  const Counter& operator[](size_t position) const { return events_[position]; }

 private:
  explicit Group(Counter leader) { events_.push_back(std::move(leader)); }

  std::vector<Counter> events_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_GROUP_H_
