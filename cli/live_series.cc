#include "cli/live_series.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>

#include "cli/values.h"
#include "proto/series_key.h"

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

void LiveSeries::BeginStream(size_t aggregator) {
  std::erase_if(by_stream_id_, [&](const auto& entry) {
    return entry.first.first == aggregator;
  });
  for (auto& [key, series] : series_) {
    series.streams.erase(aggregator);
    if (series.aggregator == aggregator) series.known_to = series.newest;
  }
}

LiveSeries::Series& LiveSeries::Describe(size_t aggregator,
                                         const v1::Series& series) {
  Series*& known = by_stream_id_[{aggregator, series.id()}];
  const std::string key = SeriesKey(series);
  for (uint32_t number = 0; known == nullptr; ++number) {
    Series& joined = series_[{key, number}];
    if (!joined.streams.insert(aggregator).second) continue;
    known = &joined;
  }
  if (known->described.id() == 0) {
    known->described = series;
    known->described.set_id(static_cast<uint32_t>(series_.size()));
  }
  return *known;
}

void LiveSeries::Translate(size_t aggregator, v1::SubscribeResponse* response) {
  google::protobuf::RepeatedPtrField<v1::Series> described;
  for (const v1::Series& series : response->series()) {
    Series& joined = Describe(aggregator, series);
    if (joined.is_open && joined.aggregator != aggregator) continue;
    joined.is_open = true;
    *described.Add() = joined.described;
  }
  const auto open = [&](uint32_t id) {
    Series& joined = Find(aggregator, id);
    if (joined.is_open) return;
    joined.is_open = true;
    *described.Add() = joined.described;
  };
  for (v1::Points& points : *response->mutable_points()) {
    const uint32_t id = points.series();
    RemoveOld(aggregator, &points);
    if (!points.values().empty()) open(id);
  }
  for (v1::RawSamples& samples : *response->mutable_raw_samples()) {
    const uint32_t id = samples.series();
    RemoveOld(aggregator, &samples);
    if (!samples.samples().empty()) open(id);
  }
  google::protobuf::RepeatedField<uint32_t> ended;
  for (const uint32_t id : response->ended()) {
    Series& joined = Find(aggregator, id);
    by_stream_id_.erase({aggregator, id});
    joined.streams.erase(aggregator);
    if (joined.aggregator.value_or(aggregator) != aggregator) continue;
    joined.is_open = false;
    ended.Add(joined.described.id());
  }
  *response->mutable_series() = std::move(described);
  *response->mutable_ended() = std::move(ended);
}

std::optional<absl::Time> LiveSeries::NextStart() const {
  if (newest_ == absl::InfinitePast()) return std::nullopt;
  return newest_ - kOverlap;
}

absl::Time LiveSeries::KnownTo(const Series& series, size_t aggregator) {
  return series.aggregator == aggregator ? series.known_to : series.newest;
}

void LiveSeries::RemoveOld(size_t aggregator, v1::Points* points) {
  Series& series = Find(aggregator, points->series());
  const absl::Time known_to = KnownTo(series, aggregator);
  points->set_series(series.described.id());
  int old = 0;
  int64_t nanos = 0;      // of a point
  int64_t old_nanos = 0;  // of the last old point
  for (int i = 0; i < points->time_unix_nanos_size(); ++i) {
    nanos += points->time_unix_nanos(i);
    if (old < i || absl::FromUnixNanos(nanos) > known_to) continue;
    ++old;
    old_nanos = nanos;
  }
  RemoveFirst(old, points);
  if (points->values().empty()) return;
  points->set_time_unix_nanos(0, old_nanos + points->time_unix_nanos(0));
  Note(aggregator, absl::FromUnixNanos(nanos), &series);
}

void LiveSeries::RemoveOld(size_t aggregator, v1::RawSamples* samples) {
  Series& series = Find(aggregator, samples->series());
  const absl::Time known_to = KnownTo(series, aggregator);
  samples->set_series(series.described.id());
  auto* all = samples->mutable_samples();
  all->erase(std::remove_if(all->begin(), all->end(),
                            [&](const v1::RawSample& sample) {
                              return TimeOf(sample) <= known_to;
                            }),
             all->end());
  if (!all->empty()) Note(aggregator, TimeOf(*all->rbegin()), &series);
}

void LiveSeries::Note(size_t aggregator, absl::Time newest, Series* series) {
  if (series->aggregator != aggregator) {
    series->aggregator = aggregator;
    series->known_to = series->newest;
  }
  series->newest = std::max(series->newest, newest);
  newest_ = std::max(newest_, series->newest);
}

}  // namespace fleetperf::cli
