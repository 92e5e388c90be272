// Between the messages and the types that code works with. Used by both sides
// of the wire.

#ifndef FLEETPERF_PROTO_CONVERSIONS_H_
#define FLEETPERF_PROTO_CONVERSIONS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "fleetperf/v1/counterset.pb.h"
#include "perflib/registration.h"

namespace fleetperf {

google::protobuf::Duration ToProto(absl::Duration duration);
google::protobuf::Timestamp ToProto(absl::Time time);
v1::CountersetRegistration ToProto(
    const perflib::CountersetRegistration& registration);

// Any message becomes a value; fields out of range are cut.
absl::Duration FromProto(const google::protobuf::Duration& duration);
absl::Time FromProto(const google::protobuf::Timestamp& timestamp);

// Of anything: a longer one is somebody's mistake or worse.
inline constexpr size_t kMaxNameBytes = 4096;
// Of a counterset, and of a query.
inline constexpr size_t kMaxCounters = 4096;

// An error if the name of `what` is longer.
absl::Status CheckName(absl::string_view what, const std::string& name);
// An error if a name is longer, or if there are more counters. Agents leave out
// such a counterset: its definition would be refused, and every batch that uses
// it rejected.
absl::Status CheckLimits(const perflib::CountersetRegistration& registration);

// An error names the field that is wrong.
absl::StatusOr<perflib::CountersetRegistration> FromProto(
    const v1::CountersetRegistration& registration);

}  // namespace fleetperf

#endif  // FLEETPERF_PROTO_CONVERSIONS_H_
