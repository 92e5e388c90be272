// The keys of requests whose answers are shared.

#ifndef FLEETPERF_AGGREGATOR_WEB_REQUEST_KEY_H_
#define FLEETPERF_AGGREGATOR_WEB_REQUEST_KEY_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <string>

namespace fleetperf::aggregator::web {

// Returns the same bytes for requests that ask for the same.
inline std::string KeyOf(const google::protobuf::Message& request) {
  std::string key;
  {
    google::protobuf::io::StringOutputStream stream(&key);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    request.SerializeToCodedStream(&coded);
  }
  return key;
}

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_REQUEST_KEY_H_
