// A counterset that the agent serves itself: a registration and a sampler.

#ifndef FLEETPERF_AGENT_SOURCE_PROVIDER_H_
#define FLEETPERF_AGENT_SOURCE_PROVIDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/instance_selection.h"
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

  // Same, if there is a value. Otherwise the column stays as it is.
  void Set(size_t column, std::optional<uint64_t> value) {
    if (value.has_value()) Set(column, *value);
  }

  // Makes a value of the last row absent.
  void Clear(size_t column) { present_.back() &= ~Bit(column); }

  // Adds a part to a value of the last row. Without one of its parts, the value
  // is absent.
  void Add(size_t column, std::optional<uint64_t> part) {
    if (!part.has_value()) incomplete_ |= Bit(column);
    if (Has(incomplete_, column)) {
      Clear(column);
      return;
    }
    const bool is_present = Has(present_.back(), column);
    Set(column, is_present ? values_[values_.size() - columns_ + column] + *part
                           : *part);
  }

  // Notes why values or instances are absent that another machine has: a file
  // that cannot be read, or a limit. `reason` stays the same from tick to tick.
  void Note(absl::string_view reason);
  // Same, if `status` is an error.
  void Note(const absl::Status& status) {
    if (!status.ok()) Note(status.message());
  }
  // Notes that a limit left out instances.
  void LeaveOut(uint64_t instances, absl::string_view reason) {
    left_out_ += instances;
    Note(reason);
  }
  const std::vector<std::string>& notes() const { return notes_; }
  uint64_t left_out() const { return left_out_; }

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
  ColumnSet incomplete_ = 0;  // of the last row: a part was missing
  std::vector<std::string> notes_;
  uint64_t left_out_ = 0;
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

  // Sets which instances the plan wants. A provider that shows what others
  // show, too, follows all of their selections.
  void Select(InstanceSelection selection) {
    selection_->Set(registration().name, std::move(selection));
  }

  // Source::DefineCounters for this counterset. Positions of the present
  // counters stay.
  virtual DefinedCounters DefineCounters(
      std::vector<PlannedQuery>* /*queries*/) {
    return {};
  }

  // Fills `sample`, which is empty, with the current instances and at least the
  // columns in `needed`. Reads only the files that these columns need. Values
  // that this machine does not provide stay absent; 0 is a measurement. A file
  // that is missing makes only its own values absent, and the sample notes it.
  // A counterset without instances has one row with an empty name.
  virtual absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                              CountersetSample* sample) = 0;

 protected:
  // Whether the query names this counterset, by a name, pattern or GUID.
  bool IsNamedBy(const PlannedQuery& query) const {
    return NamesCounterset(query.counterset, registration());
  }

  // A provider that can leaves the instances alone that this does not contain.
  const SharedSelection& selection() const { return *selection_; }
  void ShareSelection(std::shared_ptr<SharedSelection> selection) {
    selection_ = std::move(selection);
  }

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
  std::shared_ptr<SharedSelection> selection_ =
      std::make_shared<SharedSelection>();
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_PROVIDER_H_
