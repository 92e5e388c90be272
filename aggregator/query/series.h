// Describes series for queries and subscriptions.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SERIES_H_
#define FLEETPERF_AGGREGATOR_QUERY_SERIES_H_

#include <cstdint>
#include <string>

#include "aggregator/query/resolver.h"
#include "aggregator/samples/frame.h"
#include "fleetperf/v1/values.pb.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

// Whether the instance of a series is an aggregate, and no path that selects
// the series names it.
bool IsUnnamedAggregate(const SelectedCounterset& selected, uint32_t counter_id,
                        const std::string& instance, uint32_t index);

// `index` is the number of the instance among those with its name. Leaves the
// id 0.
v1::Series DescribeSeries(const std::string& machine, const Schema& schema,
                          const perflib::CounterRegistration& counter,
                          const Instance& instance, uint32_t index);

// Returns a key that orders answers: by SeriesKey, then by the index of the
// instance.
std::string OrderKey(const v1::Series& series);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SERIES_H_
