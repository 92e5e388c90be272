#include "cli/sample_count.h"

#include <algorithm>
#include <utility>

#include "cli/values.h"

namespace fleetperf::cli {
namespace {

constexpr double kLateIntervals = 3.5;
// Agents that are not asked to send at once hold samples for ten seconds.
constexpr absl::Duration kLongestTransfer = absl::Seconds(15);
// The interval of a series with one sample. A longer one would lose samples.
constexpr absl::Duration kUnknownInterval = absl::Minutes(1);

// Returns the point at position `i`, whose time is `nanos`.
v1::Points PointAt(const v1::Points& points, int i, int64_t nanos) {
  v1::Points point;
  point.set_series(points.series());
  point.add_time_unix_nanos(nanos);
  point.add_values(points.values(i));
  if (i < points.statuses_size()) point.add_statuses(points.statuses(i));
  if (i < points.causes_size()) point.add_causes(points.causes(i));
  if (i < points.breaks_size()) point.add_breaks(points.breaks(i));
  if (i < points.coverage_size()) point.add_coverage(points.coverage(i));
  if (i < points.presence_size()) point.add_presence(points.presence(i));
  return point;
}

}  // namespace

void SampleTimes::Add(absl::Time sample, absl::Time now) {
  const bool is_first = newest_ == absl::InfinitePast();
  if (!is_first) interval_ = sample - newest_;
  heard_ = is_first ? sample : now;
  newest_ = sample;
}

bool SampleTimes::IsLate(absl::Time now) const {
  const absl::Duration interval =
      interval_ > absl::ZeroDuration() ? interval_ : kUnknownInterval;
  return now - heard_ > interval * kLateIntervals + kLongestTransfer;
}

std::vector<v1::SubscribeResponse> SplitBySample(
    const v1::SubscribeResponse& message) {
  std::vector<v1::SubscribeResponse> parts(1);
  std::map<uint32_t, size_t> next_part;  // by series
  const auto next = [&](uint32_t series) {
    const size_t number = next_part[series]++;
    if (number == parts.size()) parts.emplace_back();
    return &parts[number];
  };
  *parts.front().mutable_series() = message.series();
  for (const v1::Points& points : message.points()) {
    int64_t nanos = 0;
    for (int i = 0; i < points.values_size(); ++i) {
      if (i >= points.time_unix_nanos_size()) break;
      nanos += points.time_unix_nanos(i);
      *next(points.series())->add_points() = PointAt(points, i, nanos);
    }
  }
  for (const v1::RawSamples& raw : message.raw_samples()) {
    for (const v1::RawSample& sample : raw.samples()) {
      v1::RawSamples* const one = next(raw.series())->add_raw_samples();
      one->set_series(raw.series());
      *one->add_samples() = sample;
    }
  }
  v1::SubscribeResponse rest = message;
  rest.clear_series();
  rest.clear_points();
  rest.clear_raw_samples();
  parts.back().MergeFrom(rest);
  return parts;
}

void SampleCount::Add(v1::SubscribeResponse* part, absl::Time now) {
  for (const v1::Series& announced : part->series()) {
    Series& series = series_[announced.id()];
    series.has_ended = false;
    series.count = std::max(series.count, rounds_);
    if (series.count == rounds_) behind_.insert(announced.id());
  }
  EraseIf(part->mutable_points(), [&](const v1::Points& points) {
    return IsBeyond(points.series(),
                    absl::FromUnixNanos(points.time_unix_nanos(0)), now);
  });
  EraseIf(part->mutable_raw_samples(), [&](const v1::RawSamples& raw) {
    return IsBeyond(raw.series(), TimeOf(raw.samples(0)), now);
  });
  for (const uint32_t id : part->ended()) {
    series_[id].has_ended = true;
    behind_.erase(id);
  }
  has_stored_ |= part->history_sent();
}

bool SampleCount::IsBeyond(uint32_t id, absl::Time time, absl::Time now) {
  Series& series = series_[id];
  series.times.Add(time, now);
  if (series.count == limit_) return true;
  ++series.count;
  largest_ = std::max(largest_, series.count);
  if (series.count > rounds_) behind_.erase(id);
  return false;
}

uint32_t SampleCount::CompleteRounds(absl::Time now) {
  const auto is_late = [&](uint32_t id) {
    return series_[id].times.IsLate(now);
  };
  while (has_stored_ && largest_ > rounds_ &&
         std::all_of(behind_.begin(), behind_.end(), is_late)) {
    BeginRound();
  }
  return rounds_;
}

// Late series miss the round that is complete.
void SampleCount::BeginRound() {
  ++rounds_;
  for (const uint32_t id : std::exchange(behind_, {})) {
    series_[id].count = rounds_;
  }
  for (const auto& [id, series] : series_) {
    if (!series.has_ended && series.count == rounds_) behind_.insert(id);
  }
}

}  // namespace fleetperf::cli
