// The identity of series, which is the same in the stores of all aggregators.

#ifndef FLEETPERF_PROTO_SERIES_KEY_H_
#define FLEETPERF_PROTO_SERIES_KEY_H_

#include <string>

namespace fleetperf::v1 {
class Series;
}  // namespace fleetperf::v1

namespace fleetperf {

// Returns a key that is equal for the same series of several stores, and
// ordered as answers are: by machine, then by path without the index of the
// instance ("#2"), which each store numbers itself, then by instance, id and
// unit.
std::string SeriesKey(const v1::Series& series);

}  // namespace fleetperf

#endif  // FLEETPERF_PROTO_SERIES_KEY_H_
