// Conversions between messages and the types used by the code. Used by both
// sides of the wire.

#ifndef FLEETPERF_PROTO_CONVERSIONS_H_
#define FLEETPERF_PROTO_CONVERSIONS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/config/planned_query.h"
#include "fleetperf/v1/counterset.pb.h"
#include "perflib/registration.h"
#include "values/causes.h"

namespace fleetperf::v1 {
enum GapCause : int;
enum LossCause : int;
class InstanceRule;
class PlannedQuery;
}  // namespace fleetperf::v1

namespace fleetperf {

google::protobuf::Duration ToProto(absl::Duration duration);
google::protobuf::Timestamp ToProto(absl::Time time);
v1::CountersetRegistration ToProto(
    const perflib::CountersetRegistration& registration);

v1::LossCause ToProto(LossCause cause);
v1::GapCause ToProto(GapCause cause);
v1::PlannedQuery ToProto(const PlannedQuery& query);
v1::InstanceRule ToProto(const InstanceRule& rule);

// Any message is converted; fields out of range are clamped.
absl::Duration FromProto(const google::protobuf::Duration& duration);
absl::Time FromProto(const google::protobuf::Timestamp& timestamp);
// Returns kUnknown for causes of later versions.
LossCause FromProto(v1::LossCause cause);
PlannedQuery FromProto(const v1::PlannedQuery& query);
InstanceRule FromProto(const v1::InstanceRule& rule);

// The limit of every name. A longer name is an error or an attack.
inline constexpr size_t kMaxNameBytes = 4096;
// The limit for a counterset, and for a query.
inline constexpr size_t kMaxCounters = 4096;
// The limit of CountersetRegistration::aggregates.
inline constexpr size_t kMaxAggregates = 64;

// Returns an error if `name` is too long. Messages call it `what`.
absl::Status CheckName(absl::string_view what, const std::string& name);
// Returns an error if a name is too long or there are too many counters or
// aggregates. Agents leave out such countersets: the aggregator would refuse
// the definition and reject every batch that uses it.
absl::Status CheckLimits(const perflib::CountersetRegistration& registration);

// Error messages name the invalid field.
absl::StatusOr<perflib::CountersetRegistration> FromProto(
    const v1::CountersetRegistration& registration);

}  // namespace fleetperf

#endif  // FLEETPERF_PROTO_CONVERSIONS_H_
