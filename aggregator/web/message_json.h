// Writes messages as JSON: any message as proto3 JSON, by reflection, and the
// points of a series in a form of their own, without it.

#ifndef FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_
#define FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_

#include <string>

namespace fleetperf::v1 {
class Points;
}  // namespace fleetperf::v1

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace fleetperf::aggregator::web {

// Appends the proto3 JSON of a message on one line, as protobuf's own library
// writes it by default. Of protobuf's well-known types, it may have Timestamp
// and Duration.
void AppendJson(const google::protobuf::Message& message, std::string* out);
std::string ToJson(const google::protobuf::Message& message);

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

#endif  // FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_
