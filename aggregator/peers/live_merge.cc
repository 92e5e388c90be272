#include "aggregator/peers/live_merge.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/subscribe/live_chooser.h"
#include "aggregator/subscribe/outbox.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// The limit of all names in memory.
constexpr size_t kMaxSeriesBytes = 256 << 20;

absl::Status MalformedValues(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("an aggregator's live values are malformed: ", what));
}

// The limit of times, in nanoseconds from 1970, whose differences fit in 64
// bits: 146 years.
constexpr int64_t kMaxNanos = INT64_MAX / 2;

// Returns the times of points; none if one is beyond the limit.
std::vector<int64_t> TimesOf(const v1::Points& points) {
  std::vector<int64_t> times;
  int64_t time = 0;
  for (const int64_t step : points.time_unix_nanos()) {
    if (__builtin_add_overflow(time, step, &time) || time > kMaxNanos ||
        time < -kMaxNanos) {
      return {};
    }
    times.push_back(time);
  }
  return times;
}

// Whether the values can be ranked.
bool AreNumbers(const v1::Points& points) {
  return std::all_of(points.values().begin(), points.values().end(),
                     [](double value) { return std::isfinite(value); }) &&
         std::all_of(points.presence().begin(), points.presence().end(),
                     [](float part) { return part >= 0 && part <= 1; });
}

bool HaveEqualColumns(const v1::Points& points) {
  const int size = points.values_size();
  const auto fits = [size](const auto& column) {
    return column.empty() || column.size() == size;
  };
  return size > 0 && points.time_unix_nanos_size() == size &&
         fits(points.statuses()) && fits(points.causes()) &&
         fits(points.breaks()) && fits(points.coverage()) &&
         fits(points.presence());
}

}  // namespace

absl::StatusOr<FeedUpdate> LiveMerge::Add(const v1::SubscribeResponse& message,
                                          Stream* stream) {
  const bool has_rankings = message.rankings_size() == message.series_size();
  for (int i = 0; i < message.series_size(); ++i) {
    RETURN_IF_ERROR(AddSeries(message.series(i),
                              has_rankings ? &message.rankings(i) : nullptr,
                              stream));
  }
  FeedUpdate update{.lagged = message.lagged()};
  for (const v1::Points& points : message.points()) {
    RETURN_IF_ERROR(AddPoints(points, stream, &update));
  }
  for (const v1::RawSamples& samples : message.raw_samples()) {
    RETURN_IF_ERROR(AddSamples(samples, stream, &update));
  }
  for (const uint32_t id : message.ended()) {
    const auto found = stream->series_.find(id);
    if (found == stream->series_.end()) return MalformedValues("an end");
    // An instance of the same name may have taken its place.
    if (found->second->id == id) {
      EndSeries(stream->source_, found->second.get(), &update);
    }
    stream->series_.erase(found);
  }
  if (series_.size() > forget_above_) ForgetEnded();
  return update;
}

LiveMerge::Stream LiveMerge::Resume(const Stream& before) {
  Stream stream(before.source_, ++last_stream_);
  stream.newest_ = before.newest_;
  stream.before_ = before.before_;
  for (const auto& [id, series] : before.series_) {
    stream.before_.insert(series);
  }
  absl::erase_if(stream.before_, [&](const SeriesPtr& series) {
    return !series->is_open || series->source != stream.source_;
  });
  return stream;
}

FeedUpdate LiveMerge::EndBefore(Stream* stream) {
  for (const auto& [id, series] : stream->series_) {
    stream->before_.erase(series);
  }
  FeedUpdate update;
  for (const SeriesPtr& series : stream->before_) {
    EndSeries(stream->source_, series.get(), &update);
  }
  stream->before_.clear();
  return update;
}

FeedUpdate LiveMerge::End(const Stream& stream) {
  FeedUpdate update;
  for (const auto& [id, series] : stream.series_) {
    EndSeries(stream.source_, series.get(), &update);
  }
  for (const SeriesPtr& series : stream.before_) {
    EndSeries(stream.source_, series.get(), &update);
  }
  return update;
}

// Ends a series if the source has it.
void LiveMerge::EndSeries(uint64_t source, Series* series, FeedUpdate* update) {
  if (series->source == source && std::exchange(series->is_open, false)) {
    update->ended.push_back(series->name->id());
  }
}

absl::Status LiveMerge::AddSeries(const v1::Series& series,
                                  const v1::SeriesRanking* ranking,
                                  Stream* stream) {
  std::string key = absl::StrCat("\\\\", series.machine(), series.path());
  SeriesPtr& known = series_[std::move(key)];
  if (known == nullptr) {
    known = std::make_shared<Series>();
    auto name = std::make_shared<v1::Series>(series);
    name->set_id(++last_id_);
    name_bytes_ += name->ByteSizeLong();
    known->name = std::move(name);
  }
  if (ranking != nullptr) {
    known->is_weighted = ranking->weighted();
    known->interval = absl::Nanoseconds(ranking->interval_nanos());
  }
  if (known->source == stream->source_) known->id = series.id();
  stream->series_[series.id()] = known;
  if (stream->series_.size() > Outbox::kMaxSeries ||
      name_bytes_ > kMaxSeriesBytes) {
    return absl::ResourceExhaustedError(
        "the subscription has too many series; select fewer");
  }
  return absl::OkStatus();
}

absl::Status LiveMerge::AddPoints(const v1::Points& points, Stream* stream,
                                  FeedUpdate* update) const {
  const auto found = stream->series_.find(points.series());
  if (found == stream->series_.end()) return MalformedValues("a series");
  if (!HaveEqualColumns(points)) return MalformedValues("columns of values");
  if (!AreNumbers(points)) return MalformedValues("numbers");
  Series& series = *found->second;
  // A machine's clock may show any time, and must not affect other machines.
  const std::vector<int64_t> times = TimesOf(points);
  if (times.empty()) return absl::OkStatus();
  v1::Points added =
      series.stream == stream->number_
          ? points
          : PickPoints(points, [&](int i) {
              return times[static_cast<size_t>(i)] > series.newest;
            });
  if (added.values().empty()) return absl::OkStatus();
  added.set_series(series.name->id());
  Note(points.series(), times.back(), absl::FromUnixNanos(times.back()),
       &series, stream);
  update->values.push_back({.series = series.name,
                            .points = std::move(added),
                            .is_weighted = series.is_weighted,
                            .interval = series.interval});
  return absl::OkStatus();
}

absl::Status LiveMerge::AddSamples(const v1::RawSamples& samples,
                                   Stream* stream, FeedUpdate* update) const {
  const auto found = stream->series_.find(samples.series());
  if (found == stream->series_.end()) return MalformedValues("a series");
  Series& series = *found->second;
  SeriesValues added{.series = series.name};
  added.raw.set_series(series.name->id());
  for (const v1::RawSample& sample : samples.samples()) {
    if (series.stream == stream->number_ ||
        sample.perf_time_100nsec() > series.newest) {
      *added.raw.add_samples() = sample;
    }
  }
  if (added.raw.samples().empty()) return absl::OkStatus();
  const int64_t newest = added.raw.samples().rbegin()->perf_time_100nsec();
  Note(samples.series(), newest, perflib::TimeFromPerfTime100NSec(newest),
       &series, stream);
  update->values.push_back(std::move(added));
  return absl::OkStatus();
}

void LiveMerge::Note(uint32_t id, int64_t newest, absl::Time time,
                     Series* series, Stream* stream) {
  series->source = stream->source_;
  series->stream = stream->number_;
  series->id = id;
  series->newest = newest;
  series->is_open = true;
  stream->NoteTime(time);
}

// Forgets the series that have ended and that no stream has.
void LiveMerge::ForgetEnded() {
  std::erase_if(series_, [this](const auto& entry) {
    const SeriesPtr& series = entry.second;
    if (series->is_open || series.use_count() > 1) return false;
    name_bytes_ -= series->name->ByteSizeLong();
    return true;
  });
  forget_above_ = 2 * series_.size() + 1000;
}

}  // namespace fleetperf::aggregator
