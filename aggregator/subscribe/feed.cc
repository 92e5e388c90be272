#include "aggregator/subscribe/feed.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/query/series.h"

namespace fleetperf::aggregator {
namespace {

// Ended instances are removed once the number of remembered instances exceeds
// twice the number after the last removal, plus this one.
constexpr size_t kFewInstances = 1000;
// The number of remembered windows of a query. A series that was absent for
// longer ends.
constexpr size_t kMaxWindows = 100;

bool Collects(const CollectedQuery& query, uint32_t counter_id) {
  return std::any_of(query.columns.begin(), query.columns.end(),
                     [&](const CollectedQuery::Column& column) {
                       return column.counter_id == counter_id &&
                              !column.only_linked;
                     });
}

}  // namespace

Feed::Feed(const SelectedCounterset& selected, const FeedForm& form,
           SeriesNames* names)
    : selected_(selected),
      form_(form),
      names_(*names),
      samples_(selected, this),
      forget_above_(kFewInstances) {}

void Feed::Add(const Frame& frame) {
  if (frame.query->schema != samples_.schema() || frame.clocks->empty()) return;
  walker_.BeginFrame(frame);
  AddTimes(frame);
  samples_.Add(frame);
  EndAbsent(frame);
  if (samples_.instances() > forget_above_) Forget();
}

void Feed::AddTimes(const Frame& frame) {
  if (form_.interval <= frame.query->interval) return;  // no windows
  times_.resize(walker_.queries());
  std::map<absl::Time, int64_t>& times = times_[walker_.query()];
  for (uint32_t tick = 0; tick < frame.clocks->size(); ++tick) {
    const absl::Time time = perflib::TimeOf((*frame.clocks)[tick]);
    times[EndOfWindow(time, form_.interval)] += walker_.LengthTo(tick);
    if (times.size() > kMaxWindows) times.erase(times.begin());
  }
}

// Queries at the same time as that of the series are of other instances.
int64_t Feed::TimeOf(const Series& series, absl::Time end_of_window) const {
  int64_t sum = 0;
  for (size_t query = 0; query < times_.size(); ++query) {
    const auto time = times_[query].find(end_of_window);
    if (time != times_[query].end() &&
        !walker_.AreConcurrent(series.query, query) &&
        walker_.Collects(query, *samples_.schema(), series.counter_id)) {
      sum += time->second;
    }
  }
  return sum;
}

FeedUpdate Feed::TakeUpdate() {
  std::vector<SeriesValues>& values = update_.values;
  if (!values.empty()) values_of_update_ = values.size();
  if (values.size() < values.capacity() / 2) values.shrink_to_fit();
  return std::exchange(update_, {});
}

FeedUpdate Feed::Newest() const {
  FeedUpdate update;
  for (const Series& series : series_) {
    if (series.name == nullptr) continue;
    SeriesValues values{.series = series.name,
                        .is_unnamed_aggregate = IsUnnamedAggregate(series),
                        .is_weighted = series.evaluator.is_weighted(),
                        .interval = IntervalOf(series)};
    if (form_.raw && series.newest_sample.has_value()) {
      values.raw.set_series(series.name->id());
      *values.raw.add_samples() = ToProto(*series.newest_sample);
    } else if (series.newest_point.has_value()) {
      values.points = ToProto(series.name->id(), {*series.newest_point});
    }
    if (values.count() > 0) update.values.push_back(std::move(values));
  }
  return update;
}

FeedUpdate Feed::Ends() const {
  FeedUpdate update;
  for (const Series& series : series_) {
    if (series.name != nullptr) update.ended.push_back(series.name->id());
  }
  return update;
}

size_t Feed::AddSeries(const Instance& instance, const CounterFormula& formula,
                       std::vector<uint32_t> wanted_indexes) {
  Series series{.instance = instance,
                .counter_id = formula.counter_id,
                .wanted_indexes = std::move(wanted_indexes),
                .evaluator = StreamEvaluator(formula, form_.interval)};
  if (free_.empty()) {
    series_.push_back(std::move(series));
    return series_.size() - 1;
  }
  const size_t number = free_.back();
  free_.pop_back();
  series_[number] = std::move(series);
  return number;
}

void Feed::AddRun(size_t number, const SeriesRun& run) {
  Series& series = series_[number];
  series.sampling_interval = run.interval();
  series.query = walker_.query();
  series.is_over = false;
  absl::InlinedVector<Point, 1> points;
  v1::RawSamples raw;
  const auto time_of = [&](absl::Time end) { return TimeOf(series, end); };
  walker_.ForEachSample(series.evaluator.formula(), run, 0, run.ticks(),
                        &series.walked, [&](const WalkedSample& walked) {
                          const auto point =
                              series.evaluator.Add(walked, time_of);
                          if (form_.raw) {
                            series.newest_sample = walked.sample;
                            *raw.add_samples() = ToProto(walked.sample);
                          } else if (point.has_value()) {
                            series.newest_point = point;
                            points.push_back(*point);
                          }
                        });
  if ((points.empty() && raw.samples().empty()) || !Name(series)) return;
  raw.set_series(series.name->id());
  // Moving the values of a vector that grows takes long.
  if (update_.values.empty()) update_.values.reserve(values_of_update_);
  update_.values.push_back({.series = series.name,
                            .points = ToProto(series.name->id(), points),
                            .raw = std::move(raw),
                            .is_unnamed_aggregate = IsUnnamedAggregate(series),
                            .is_weighted = series.evaluator.is_weighted(),
                            .interval = IntervalOf(series)});
}

bool Feed::IsUnnamedAggregate(const Series& series) const {
  return aggregator::IsUnnamedAggregate(selected_, series.counter_id,
                                        series.instance.name,
                                        series.index.value_or(0));
}

bool Feed::Name(Series& series) {
  if (series.name != nullptr) return true;
  if (!series.index.has_value()) series.index = TakeIndex(series);
  const auto& wanted = series.wanted_indexes;
  if (!wanted.empty() &&
      std::count(wanted.begin(), wanted.end(), *series.index) == 0) {
    return false;
  }
  series.name = names_.Get(series.counter_id, series.instance, *series.index);
  return true;
}

// Compares names like paths do.
Feed::Indexes& Feed::IndexesOf(const Series& series) {
  return indexes_[{series.counter_id,
                   absl::AsciiStrToLower(series.instance.name)}];
}

// Takes the smallest free index.
uint32_t Feed::TakeIndex(const Series& series) {
  Indexes& indexes = IndexesOf(series);
  if (indexes.free.empty()) return indexes.end++;
  return indexes.free.extract(indexes.free.begin()).value();
}

void Feed::GiveIndexBack(Series& series) {
  if (!series.index.has_value()) return;
  IndexesOf(series).free.insert(*std::exchange(series.index, std::nullopt));
}

// Ends the series that are absent from the frame's last tick.
void Feed::EndAbsent(const Frame& frame) {
  const uint32_t last = static_cast<uint32_t>(frame.clocks->size()) - 1;
  if (frame.HasFailed(last)) return;
  const absl::Time time = perflib::TimeOf(frame.clocks->back());
  for (Series& series : series_) {
    if (series.is_over || series.sampling_interval != frame.query->interval ||
        !series.walked.newest().has_value() ||
        *series.walked.newest() >= time ||
        walker_.AreConcurrent(series.query, walker_.query()) ||
        !Collects(*frame.query, series.counter_id)) {
      continue;
    }
    series.is_over = true;
    GiveIndexBack(series);
    series.newest_point.reset();
    series.newest_sample.reset();
    if (series.name == nullptr) continue;
    update_.ended.push_back(series.name->id());
    series.name = nullptr;
  }
}

// Removes ended instances: processes come and go for as long as a subscription
// lasts.
void Feed::Forget() {
  for (const size_t number : samples_.Forget(
           [this](size_t series) { return series_[series].is_over; })) {
    free_.push_back(number);
  }
  std::erase_if(indexes_, [](const auto& entry) {
    return entry.second.free.size() == entry.second.end;
  });
  forget_above_ = 2 * samples_.instances() + kFewInstances;
}

}  // namespace fleetperf::aggregator
