#include "cli/resumed_series.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/values.h"

namespace fleetperf::cli {
namespace {

// Agents hold samples for some seconds, and longer after an interruption.
constexpr absl::Duration kOverlap = absl::Minutes(1);

// Removes the first elements of each column that is not empty.
void RemoveFirst(int count, v1::Points* points) {
  const google::protobuf::Descriptor& type = *points->GetDescriptor();
  const google::protobuf::Reflection& columns = *points->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type.field(i);
    if (!field->is_repeated()) continue;
    const int size = columns.FieldSize(*points, field);
    for (int next = count; next < size; ++next) {
      columns.SwapElements(points, field, next - count, next);
    }
    for (int left = std::min(count, size); left > 0; --left) {
      columns.RemoveLast(points, field);
    }
  }
}

}  // namespace

void ResumedSeries::BeginStream() {
  by_stream_id_.clear();
  for (auto& [key, series] : series_) series.before_stream = series.newest;
}

void ResumedSeries::Translate(v1::SubscribeResponse* response) {
  for (v1::Series& series : *response->mutable_series()) {
    const auto [known, is_new] = series_.try_emplace(
        absl::StrCat("\\\\", series.machine(), series.path()));
    if (is_new) known->second.id = static_cast<uint32_t>(series_.size());
    by_stream_id_[series.id()] = &known->second;
    series.set_id(known->second.id);
  }
  for (v1::Points& points : *response->mutable_points()) RemoveOld(&points);
  for (v1::RawSamples& samples : *response->mutable_raw_samples()) {
    RemoveOld(&samples);
  }
  for (uint32_t& id : *response->mutable_ended()) id = by_stream_id_[id]->id;
}

std::optional<absl::Time> ResumedSeries::NextStart() const {
  if (newest_ == absl::InfinitePast()) return std::nullopt;
  return newest_ - kOverlap;
}

void ResumedSeries::RemoveOld(v1::Points* points) {
  Series& series = *by_stream_id_[points->series()];
  points->set_series(series.id);
  int old = 0;
  int64_t nanos = 0;      // of a point
  int64_t old_nanos = 0;  // of the last old point
  for (int i = 0; i < points->time_unix_nanos_size(); ++i) {
    nanos += points->time_unix_nanos(i);
    if (old < i || absl::FromUnixNanos(nanos) > series.before_stream) continue;
    ++old;
    old_nanos = nanos;
  }
  RemoveFirst(old, points);
  if (points->values().empty()) return;
  points->set_time_unix_nanos(0, old_nanos + points->time_unix_nanos(0));
  series.newest = std::max(series.newest, absl::FromUnixNanos(nanos));
  newest_ = std::max(newest_, series.newest);
}

void ResumedSeries::RemoveOld(v1::RawSamples* samples) {
  Series& series = *by_stream_id_[samples->series()];
  samples->set_series(series.id);
  auto* all = samples->mutable_samples();
  all->erase(std::remove_if(all->begin(), all->end(),
                            [&](const v1::RawSample& sample) {
                              return TimeOf(sample) <= series.before_stream;
                            }),
             all->end());
  if (all->empty()) return;
  series.newest = std::max(series.newest, TimeOf(*all->rbegin()));
  newest_ = std::max(newest_, series.newest);
}

}  // namespace fleetperf::cli
