// Writes values as JSON, without reflection.

#ifndef FLEETPERF_AGGREGATOR_WEB_POINTS_JSON_H_
#define FLEETPERF_AGGREGATOR_WEB_POINTS_JSON_H_

#include <string>

#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator::web {

// Appends the points of a series:
//   {"series":7,"t":[1764257122000,1764257123000.5],"v":[12.5,null],
//    "statuses":{"1":"VALUE_STATUS_GAP"},"causes":{"1":"GAP_CAUSE_NO_SAMPLES"},
//    "breaks":{"0":1},"coverage":{"0":0.5},"presence":{"0":0.5},
//    "partial":true,"newest_sample":1764257122000}
// Times are in milliseconds since 1970. Maps have the positions of points that
// differ from the default, and are left out if there are none; so are the last
// two fields.
void AppendPoints(const v1::Points& points, std::string* out);

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_POINTS_JSON_H_
