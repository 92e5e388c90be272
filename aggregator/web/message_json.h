// Messages as proto3 JSON.

#ifndef FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_
#define FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_

#include <string>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace fleetperf::aggregator::web {

// Appends the proto3 JSON of a message on one line, as protobuf's own library
// writes it by default. Of protobuf's well-known types, it may have Timestamp
// and Duration.
void AppendJson(const google::protobuf::Message& message, std::string* out);
std::string ToJson(const google::protobuf::Message& message);

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_MESSAGE_JSON_H_
