// A counterset that the agent serves itself: its registration and its samples.

#ifndef FLEETPERF_AGENT_SOURCE_PROVIDER_H_
#define FLEETPERF_AGENT_SOURCE_PROVIDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Counters of a counterset, by position in its registration. At most 64.
using ColumnSet = uint64_t;

constexpr ColumnSet Bit(size_t column) { return ColumnSet{1} << column; }
constexpr bool Has(ColumnSet columns, size_t column) {
  return (columns >> column & 1) != 0;
}

// The values of one moment: a row for each instance, a value for each column.
// Keeps its memory from tick to tick.
class CountersetSample {
 public:
  // Empties it.
  void Reset(size_t columns);

  // Adds a row, whose values are absent. The name is UTF-16.
  void AddInstance(absl::string_view utf16_name, uint32_t instance_id);

  // Sets a value of the newest row.
  void Set(size_t column, uint64_t value) {
    const size_t i = values_.size() - columns_ + column;
    values_[i] = value;
    present_.back() |= Bit(column);
  }

  size_t rows() const { return present_.size(); }
  absl::string_view Utf16Name(size_t row) const;
  uint32_t InstanceId(size_t row) const { return instances_[row].instance_id; }
  bool HasValue(size_t row, size_t column) const {
    return Has(present_[row], column);
  }
  uint64_t Value(size_t row, size_t column) const {
    return values_[row * columns_ + column];
  }
  // The values of a row and which of them are there.
  absl::Span<const uint64_t> Row(size_t row) const {
    return absl::MakeConstSpan(values_).subspan(row * columns_, columns_);
  }
  ColumnSet Present(size_t row) const { return present_[row]; }

 private:
  struct Instance {
    size_t name_begin;
    size_t name_size;
    uint32_t instance_id;
  };

  size_t columns_ = 0;
  std::string names_;
  std::vector<Instance> instances_;
  std::vector<uint64_t> values_;
  std::vector<ColumnSet> present_;
};

// Not thread-safe.
class Provider {
 public:
  explicit Provider(perflib::CountersetRegistration registration)
      : registration_(std::move(registration)) {}
  virtual ~Provider() = default;

  const perflib::CountersetRegistration& registration() const {
    return registration_;
  }

  // Fills `sample`, which is empty, with the instances there are now and at
  // least the values of the columns in `needed`; reads only what these take. A
  // value that this machine does not have stays absent. A counterset without
  // instances has one row with an empty name.
  virtual absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                              CountersetSample* sample) = 0;

 private:
  const perflib::CountersetRegistration registration_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_PROVIDER_H_
