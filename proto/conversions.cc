#include "proto/conversions.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/plan.pb.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// The enumerations have the same numbers as the wire's.
static_assert(static_cast<int>(LossCause::kUnknown) ==
              v1::LOSS_CAUSE_UNSPECIFIED);
static_assert(static_cast<int>(LossCause::kStoreDamaged) ==
              v1::LOSS_CAUSE_STORE_DAMAGED);
static_assert(static_cast<int>(kLastLossCause) == v1::LossCause_MAX);
static_assert(static_cast<int>(GapCause::kNone) == v1::GAP_CAUSE_UNSPECIFIED);
static_assert(static_cast<int>(GapCause::kStoreDamaged) ==
              v1::GAP_CAUSE_STORE_DAMAGED);
static_assert(static_cast<int>(kLastGapCause) == v1::GapCause_MAX);

}  // namespace

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  absl::Duration rest;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return proto;
}

v1::CountersetRegistration ToProto(
    const perflib::CountersetRegistration& registration) {
  v1::CountersetRegistration proto;
  proto.set_guid(registration.guid.Bytes());
  proto.set_name(registration.name);
  proto.set_help(registration.help);
  proto.set_provider_name(registration.provider_name);
  proto.set_detail_level(registration.detail_level);
  proto.set_instance_type(registration.instance_type);
  for (const perflib::CounterRegistration& counter : registration.counters) {
    v1::CounterRegistration* to = proto.add_counters();
    to->set_counter_id(counter.counter_id);
    to->set_type(counter.type);
    to->set_attrib(counter.attrib);
    to->set_detail_level(counter.detail_level);
    to->set_default_scale(counter.default_scale);
    if (counter.base_counter_id != perflib::kNoCounter) {
      to->set_base_counter_id(counter.base_counter_id);
    }
    if (counter.perf_time_id != perflib::kNoCounter) {
      to->set_perf_time_id(counter.perf_time_id);
    }
    if (counter.perf_freq_id != perflib::kNoCounter) {
      to->set_perf_freq_id(counter.perf_freq_id);
    }
    if (counter.multi_id != perflib::kNoCounter) {
      to->set_multi_id(counter.multi_id);
    }
    to->set_aggregate_function(counter.aggregate_function);
    to->set_name(counter.name);
    to->set_help(counter.help);
  }
  proto.mutable_aggregates()->Assign(registration.aggregates.begin(),
                                     registration.aggregates.end());
  return proto;
}

v1::LossCause ToProto(LossCause cause) {
  return static_cast<v1::LossCause>(cause);
}

v1::GapCause ToProto(GapCause cause) {
  return static_cast<v1::GapCause>(cause);
}

v1::PlannedQuery ToProto(const PlannedQuery& query) {
  v1::PlannedQuery proto;
  proto.set_counterset(query.counterset);
  proto.mutable_counters()->Assign(query.counters.begin(),
                                   query.counters.end());
  proto.mutable_instances()->Assign(query.instances.begin(),
                                    query.instances.end());
  *proto.mutable_interval() = ToProto(query.interval);
  proto.mutable_machines()->Assign(query.machines.begin(),
                                   query.machines.end());
  proto.set_wrap32(query.wrap32);
  proto.mutable_aggregates()->Assign(query.aggregates.begin(),
                                     query.aggregates.end());
  proto.set_name(query.name);
  proto.set_meanwhile(query.meanwhile);
  return proto;
}

v1::InstanceRule ToProto(const InstanceRule& rule) {
  v1::InstanceRule proto;
  proto.set_counterset(rule.counterset);
  proto.mutable_include()->Assign(rule.include.begin(), rule.include.end());
  proto.mutable_exclude()->Assign(rule.exclude.begin(), rule.exclude.end());
  return proto;
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos() % kNanosPerSecond);
}

absl::Time FromProto(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) +
         absl::Nanoseconds(timestamp.nanos() % kNanosPerSecond);
}

LossCause FromProto(v1::LossCause cause) {
  return v1::LossCause_IsValid(cause) ? static_cast<LossCause>(cause)
                                      : LossCause::kUnknown;
}

PlannedQuery FromProto(const v1::PlannedQuery& query) {
  return {.counterset = query.counterset(),
          .counters = {query.counters().begin(), query.counters().end()},
          .instances = {query.instances().begin(), query.instances().end()},
          .interval = FromProto(query.interval()),
          .wrap32 = query.wrap32(),
          .aggregates = {query.aggregates().begin(), query.aggregates().end()},
          .machines = {query.machines().begin(), query.machines().end()},
          .name = query.name(),
          .meanwhile = query.meanwhile()};
}

InstanceRule FromProto(const v1::InstanceRule& rule) {
  return {.counterset = rule.counterset(),
          .include = {rule.include().begin(), rule.include().end()},
          .exclude = {rule.exclude().begin(), rule.exclude().end()}};
}

absl::Status CheckName(absl::string_view what, const std::string& name) {
  if (name.size() <= kMaxNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, ".name has ", name.size(), " bytes, more than ", kMaxNameBytes));
}

absl::Status CheckLimits(const perflib::CountersetRegistration& registration) {
  RETURN_IF_ERROR(CheckName("CountersetRegistration", registration.name));
  for (const perflib::CounterRegistration& counter : registration.counters) {
    RETURN_IF_ERROR(CheckName("CounterRegistration", counter.name));
  }
  for (const std::string& text : registration.aggregates) {
    RETURN_IF_ERROR(CheckName("CountersetRegistration.aggregates", text));
  }
  if (registration.aggregates.size() > kMaxAggregates) {
    return absl::InvalidArgumentError(absl::StrCat(
        "CountersetRegistration has ", registration.aggregates.size(),
        " aggregates, more than ", kMaxAggregates));
  }
  if (registration.counters.size() > kMaxCounters) {
    return absl::InvalidArgumentError(absl::StrCat(
        "CountersetRegistration has ", registration.counters.size(),
        " counters, more than ", kMaxCounters));
  }
  return absl::OkStatus();
}

absl::StatusOr<perflib::CountersetRegistration> FromProto(
    const v1::CountersetRegistration& proto) {
  perflib::CountersetRegistration registration;
  const auto guid = perflib::GuidFromBytes(proto.guid());
  if (!guid.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("CountersetRegistration.guid has ", proto.guid().size(),
                     " bytes instead of 16"));
  }
  registration.guid = *guid;
  registration.name = proto.name();
  registration.help = proto.help();
  registration.provider_name = proto.provider_name();
  registration.detail_level = proto.detail_level();
  registration.instance_type = proto.instance_type();
  for (const v1::CounterRegistration& from : proto.counters()) {
    perflib::CounterRegistration& counter =
        registration.counters.emplace_back();
    counter.counter_id = from.counter_id();
    counter.type = from.type();
    counter.attrib = from.attrib();
    counter.detail_level = from.detail_level();
    counter.default_scale = from.default_scale();
    if (from.has_base_counter_id()) {
      counter.base_counter_id = from.base_counter_id();
    }
    if (from.has_perf_time_id()) counter.perf_time_id = from.perf_time_id();
    if (from.has_perf_freq_id()) counter.perf_freq_id = from.perf_freq_id();
    if (from.has_multi_id()) counter.multi_id = from.multi_id();
    counter.aggregate_function = from.aggregate_function();
    counter.name = from.name();
    counter.help = from.help();
  }
  registration.aggregates.assign(proto.aggregates().begin(),
                                 proto.aggregates().end());
  RETURN_IF_ERROR(CheckLimits(registration));
  return registration;
}

}  // namespace fleetperf
