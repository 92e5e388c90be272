// Names of instances that are the aggregates of other instances.
//
// PerfLib does not mark aggregates: providers choose their names. The sums over
// all instances would count twice what an aggregate stands for.

#ifndef FLEETPERF_PERFLIB_AGGREGATES_H_
#define FLEETPERF_PERFLIB_AGGREGATES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/registration.h"

namespace fleetperf::perflib {

// A name that is an aggregate in all countersets, without regard to ASCII case.
struct AggregateName {
  absl::string_view name;
  absl::string_view used_by;
  absl::string_view source;  // where it is documented
};
absl::Span<const AggregateName> AggregateNames();

// Whether an instance has one of these names, or ends in "," or "/" and one of
// them, such as "0,_Total" and "_Total/_Total".
bool HasAggregateName(absl::string_view instance);

// Whether an instance is an aggregate: HasAggregateName, or one of
// registration.aggregates matches it.
bool IsAggregate(const CountersetRegistration& registration,
                 absl::string_view instance);

// Whether a name ends as the aggregate of a part does: in "," or "/" and one of
// AggregateNames().
bool EndsInAggregate(absl::string_view instance);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_AGGREGATES_H_
