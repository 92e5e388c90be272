// Which instances of a counterset a plan lets an agent collect.

#ifndef FLEETPERF_AGENT_SOURCE_INSTANCE_SELECTION_H_
#define FLEETPERF_AGENT_SOURCE_INSTANCE_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/config/planned_query.h"
#include "perflib/path.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Returns whether `text`, a name, pattern or "{GUID}" of a plan, names the
// counterset.
bool NamesCounterset(const std::string& text,
                     const perflib::CountersetRegistration& registration);

// The instance rules for one counterset. Thread-compatible.
class InstanceSelection {
 public:
  // Contains all instances, and names none.
  InstanceSelection() = default;
  InstanceSelection(const perflib::CountersetRegistration& registration,
                    absl::Span<const PlannedQuery> queries,
                    absl::Span<const InstanceRule> rules);

  // Returns whether the instance matches a pattern to include, if there is any,
  // and none to exclude. An aggregate, known (perflib/aggregates.h) or named by
  // a query, always does.
  bool Contains(absl::string_view name) const;
  // Returns whether the instance matches a pattern to exclude.
  bool Excludes(absl::string_view name) const;
  bool ContainsAll() const { return !HasIncludes() && exclude_.empty(); }
  bool HasIncludes() const { return !include_.empty(); }

  const std::vector<perflib::Pattern>& include() const { return include_; }
  const std::vector<perflib::Pattern>& exclude() const { return exclude_; }

  // Returns whether the instance matches a pattern to include or one of a
  // query. An automount must be named to be touched.
  bool Names(absl::string_view name) const;

  // Returns the number of patterns.
  size_t size() const {
    return include_.size() + exclude_.size() + named_.size() +
           aggregates_.size();
  }

  bool operator==(const InstanceSelection&) const = default;

 private:
  std::vector<perflib::Pattern> include_;
  std::vector<perflib::Pattern> exclude_;
  std::vector<perflib::Pattern> named_;  // include_ and those of the queries
  std::vector<perflib::Pattern> aggregates_;  // of the queries

  bool IsAggregate(absl::string_view name) const;
};

// The selections of countersets whose instances are the same things, such as
// LogicalDisk and Linux Filesystem: what one of them excludes, none touches.
// Thread-compatible.
class SharedSelection {
 public:
  void Set(const std::string& counterset, InstanceSelection selection);

  // Returns whether the instance matches a pattern to include of one of the
  // selections, if there is any, and none to exclude.
  bool Contains(absl::string_view name) const;
  bool ContainsAll() const;
  // Return whether one of the selections excludes or names the instance.
  bool Excludes(absl::string_view name) const;
  bool Names(absl::string_view name) const;

  // Changes when the selections do.
  uint64_t generation() const { return generation_; }

 private:
  std::map<std::string, InstanceSelection> selections_;  // by counterset
  uint64_t generation_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_INSTANCE_SELECTION_H_
