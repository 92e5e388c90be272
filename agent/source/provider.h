// A counterset that the agent serves itself: a registration and a sampler.

#ifndef FLEETPERF_AGENT_SOURCE_PROVIDER_H_
#define FLEETPERF_AGENT_SOURCE_PROVIDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/source.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// A set of counters, by position in the counterset's registration. At most 64.
using ColumnSet = uint64_t;

constexpr ColumnSet Bit(size_t column) { return ColumnSet{1} << column; }
constexpr bool Has(ColumnSet columns, size_t column) {
  return (columns >> column & 1) != 0;
}

// The values of one moment: a row per instance, a value per column. Memory is
// reused from tick to tick.
class CountersetSample {
 public:
  // Removes all rows and sets the number of columns.
  void Reset(size_t columns);

  // Adds a row whose values are absent. The name is UTF-16.
  void AddInstance(absl::string_view utf16_name, uint32_t instance_id);

  // Sets a value of the last row.
  void Set(size_t column, uint64_t value) {
    const size_t i = values_.size() - columns_ + column;
    values_[i] = value;
    present_.back() |= Bit(column);
  }

  // Adds to a value of the last row. An absent one counts as 0.
  void Add(size_t column, uint64_t value) {
    const bool is_present = Has(present_.back(), column);
    Set(column, is_present ? values_[values_.size() - columns_ + column] + value
                           : value);
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
  // The values of a row. Present() tells which of them are set.
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

// Thread-compatible.
class Provider {
 public:
  explicit Provider(perflib::CountersetRegistration registration) {
    Register(std::move(registration));
  }
  virtual ~Provider() = default;

  // Thread-safe. The reference stays valid when the registration changes.
  const perflib::CountersetRegistration& registration() const {
    return *current_.load();
  }

  // Source::DefineCounters for this counterset. Positions of the present
  // counters stay.
  virtual DefinedCounters DefineCounters(
      std::vector<PlannedQuery>* /*queries*/) {
    return {};
  }

  // Fills `sample`, which is empty, with the current instances and at least the
  // columns in `needed`. Reads only the files that these columns need. Values
  // that this machine does not provide stay absent. A counterset without
  // instances has one row with an empty name.
  virtual absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                              CountersetSample* sample) = 0;

 protected:
  // Whether the query names this counterset, by a name, pattern or GUID.
  bool IsNamedBy(const PlannedQuery& query) const;

  void Register(perflib::CountersetRegistration registration) {
    registrations_.push_back(std::make_unique<perflib::CountersetRegistration>(
        std::move(registration)));
    current_.store(registrations_.back().get());
  }

 private:
  // All registrations so far.
  std::vector<std::unique_ptr<const perflib::CountersetRegistration>>
      registrations_;
  std::atomic<const perflib::CountersetRegistration*> current_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_PROVIDER_H_
