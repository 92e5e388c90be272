// The values that reading an event or a group returns.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_VALUES_H_
#define FLEETPERF_DRIVER_PERF_EVENT_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace fleetperf::perf_event {

// Returns value · time_enabled / time_running in 128 bits, rounded down and at
// most 2^64 - 1, or nothing if time_running is 0: the event never ran, so its
// count is unknown rather than 0.
std::optional<uint64_t> Scaled(uint64_t value, uint64_t time_enabled,
                               uint64_t time_running);

// One event. The optional values exist if the read format asks for them.
struct CounterValue {
  uint64_t value = 0;
  // How long the event was enabled, and how long it really counted, in ns. They
  // differ if events take turns on too few hardware counters.
  std::optional<uint64_t> time_enabled;
  std::optional<uint64_t> time_running;
  std::optional<uint64_t> id;
  std::optional<uint64_t> lost;  // records that found no place in the ring

  friend bool operator==(const CounterValue&, const CounterValue&) = default;
};

struct GroupEntry {
  uint64_t value = 0;
  std::optional<uint64_t> id;
  std::optional<uint64_t> lost;

  friend bool operator==(const GroupEntry&, const GroupEntry&) = default;
};

// A group at one moment. Keeps its memory from read to read.
class GroupValues {
 public:
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::optional<uint64_t> time_enabled() const { return time_enabled_; }
  std::optional<uint64_t> time_running() const { return time_running_; }

  // All entries, in the order in which the events joined; the leader is first.
  absl::Span<const GroupEntry> entries() const { return entries_; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // Returns the entry of an event by Counter::id(), or nullptr.
  const GroupEntry* Find(uint64_t id) const;

  // Parses `words` as read(2) of an event with `read_format`, which includes
  // kGroup, returns them. Returns whether they are valid; a false leaves an
  // empty group.
  bool Parse(absl::Span<const uint64_t> words, uint64_t read_format);

 private:
  friend class Counter;

  std::optional<uint64_t> time_enabled_;
  std::optional<uint64_t> time_running_;
  std::vector<GroupEntry> entries_;
  std::vector<uint64_t> words_;  // Counter's buffer
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_VALUES_H_
