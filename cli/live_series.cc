#include "cli/live_series.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "cli/sample_count.h"
#include "cli/values.h"
#include "proto/series_key.h"

namespace fleetperf::cli {
namespace {

// Agents hold samples for some seconds, and longer after an interruption.
constexpr absl::Duration kOverlap = absl::Minutes(1);

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
    if (joined.streams.insert(aggregator).second) known = &joined;
  }
  if (known->described.id() == 0) {
    known->described = series;
    known->described.set_id(static_cast<uint32_t>(series_.size()));
    by_id_[known->described.id()] = known;
  }
  return *known;
}

void LiveSeries::Translate(size_t aggregator, v1::SubscribeResponse* response) {
  v1::SubscribeResponse joined;
  for (v1::SubscribeResponse& part : SplitBySample(*response)) {
    TranslatePart(aggregator, &part);
    joined.MergeFrom(part);
  }
  response->Swap(&joined);
}

void LiveSeries::TranslatePart(size_t aggregator, v1::SubscribeResponse* part) {
  const bool is_ranked = top_ > 0 || bottom_ > 0;
  std::set<uint32_t> opened;
  for (const v1::Series& series : part->series()) {
    const Series& joined = Describe(aggregator, series);
    if (!is_ranked) opened.insert(joined.described.id());
  }
  const auto keep_new = [&](auto* all, auto time_of) {
    EraseIf(all, [&](const auto& one) {
      return !Note(aggregator, time_of(one),
                   by_stream_id_[{aggregator, one.series()}]);
    });
    for (auto& one : *all) {
      one.set_series(by_stream_id_[{aggregator, one.series()}]->described.id());
      opened.insert(one.series());
    }
  };
  keep_new(part->mutable_raw_samples(),
           [](const v1::RawSamples& raw) { return TimeOf(raw.samples(0)); });
  keep_new(part->mutable_points(), [](const v1::Points& points) {
    return absl::FromUnixNanos(points.time_unix_nanos(0));
  });
  for (const v1::Points& points : part->points()) {
    Series& series = *by_id_[points.series()];
    ForEachValue(points, [&](const Value& value) {
      const double rank = RankOf(series.described, value);
      series.rank.reset();
      if (value.ok()) series.rank = top_ > 0 ? -rank : rank;
    });
  }
  std::set<uint32_t> ended;
  for (const uint32_t id : part->ended()) {
    Series& joined = *by_stream_id_[{aggregator, id}];
    by_stream_id_.erase({aggregator, id});
    joined.streams.erase(aggregator);
    if (joined.aggregator.value_or(aggregator) != aggregator) continue;
    joined.rank.reset();
    ended.insert(joined.described.id());
  }
  if (is_ranked) {
    const std::set<uint32_t> first = First();
    for (const auto& [id, series] : by_id_) {
      if (!first.contains(id)) ended.insert(id);
    }
    std::erase_if(opened, [&](uint32_t id) { return !first.contains(id); });
    EraseIf(part->mutable_points(), [&](const v1::Points& points) {
      return !first.contains(points.series());
    });
  }
  part->clear_series();
  for (const uint32_t id : opened) {
    Series& series = *by_id_[id];
    if (std::exchange(series.is_open, true)) continue;
    *part->add_series() = series.described;
  }
  part->clear_ended();
  for (const uint32_t id : ended) {
    if (std::exchange(by_id_[id]->is_open, false)) part->add_ended(id);
  }
}

std::optional<absl::Time> LiveSeries::NextStart() const {
  if (newest_ == absl::InfinitePast()) return std::nullopt;
  return newest_ - kOverlap;
}

std::set<uint32_t> LiveSeries::First() const {
  using Counter = std::tuple<std::string, std::string, std::string>;
  std::map<Counter, std::set<std::pair<double, uint32_t>>> by_counter;
  std::set<uint32_t> first;
  for (const auto& [id, series] : by_id_) {
    if (!series->rank.has_value()) continue;
    const v1::Series& of = series->described;
    auto& ranked = by_counter[{of.counterset(), of.counter(), of.unit()}];
    ranked.emplace(*series->rank, id);
    first.insert(id);
    if (ranked.size() <= std::max(top_, bottom_)) continue;
    first.erase(ranked.rbegin()->second);
    ranked.erase(std::prev(ranked.end()));
  }
  return first;
}

bool LiveSeries::Note(size_t aggregator, absl::Time time, Series* series) {
  const bool is_owner = series->aggregator == aggregator;
  if (time <= (is_owner ? series->known_to : series->newest)) return false;
  if (!is_owner) series->known_to = series->newest;
  series->aggregator = aggregator;
  series->newest = std::max(series->newest, time);
  newest_ = std::max(newest_, series->newest);
  return true;
}

}  // namespace fleetperf::cli
