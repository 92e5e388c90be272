#include "cli/joined_series.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

bool HasCause(const Value& value) {
  return value.cause != v1::GAP_CAUSE_UNSPECIFIED &&
         value.cause != v1::GAP_CAUSE_NO_SAMPLES;
}

// Whether `a` says more of their window than `b`.
bool IsBetter(const Value& a, const Value& b) {
  const auto rank = [](const Value& value) {
    return std::make_tuple(value.coverage, value.ok(),
                           !value.ok() && HasCause(value));
  };
  return rank(a) > rank(b);
}

// Returns a time that the values of one window have in common. A partial
// window, the rest of the range, ends when its aggregator was asked.
absl::Time WindowOf(const Value& value, const v1::QueryRangeRequest& request) {
  if (!request.has_step()) return absl::InfiniteFuture();
  if (!value.is_partial) return value.time;
  const absl::Time origin = request.has_start_time()
                                ? FromProto(request.start_time())
                                : absl::UnixEpoch();
  return origin + absl::Ceil(value.time - origin, FromProto(request.step()));
}

// Returns the number of windows that the values cover.
double CoverageOf(const RangeSeries& part) {
  double sum = 0;
  for (const Value& value : part.values) {
    if (value.ok()) sum += value.coverage;
  }
  return sum;
}

// Returns the time of the newest value; in the infinite future if the series
// has samples up to the end of the range.
absl::Time EndOf(const RangeSeries& part,
                 const v1::QueryRangeRequest& request) {
  absl::Time end = absl::InfinitePast();
  for (const Value& value : part.values) {
    if (!value.ok()) continue;
    const absl::Time time =
        request.has_step() ? value.time : absl::InfiniteFuture();
    end = std::max(end, value.newest_sample.value_or(time));
  }
  return end;
}

}  // namespace

void RangeSeries::Add(const Response& response) {
  ForEachValue(response.points(),
               [&](const Value& value) { values.push_back(value); });
}

void RawSeries::Add(const Response& response) {
  const auto& added = response.samples().samples();
  samples.insert(samples.end(), added.begin(), added.end());
}

RangeSeries Join(std::vector<RangeSeries> parts,
                 const v1::QueryRangeRequest& request) {
  if (parts.size() == 1) return std::move(parts.front());
  const RangeSeries* widest = &parts.front();
  const RangeSeries* newest = &parts.front();
  std::map<absl::Time, Value> windows;
  std::vector<size_t> holders;
  int64_t range_end = 0;
  for (const RangeSeries& part : parts) {
    if (CoverageOf(part) > CoverageOf(*widest)) widest = &part;
    if (EndOf(part, request) > EndOf(*newest, request)) newest = &part;
    if (CoverageOf(part) > 0) {
      holders.insert(holders.end(), part.holders.begin(), part.holders.end());
    }
    range_end = std::max(range_end, part.head.range_end_unix_nanos());
    for (const Value& value : part.values) {
      const auto [known, is_new] =
          windows.try_emplace(WindowOf(value, request), value);
      if (!is_new && IsBetter(value, known->second)) known->second = value;
    }
  }
  RangeSeries joined(parts.front().head);
  joined.holders = std::move(holders);
  joined.head.clear_share();
  if (widest->head.has_share()) joined.head.set_share(widest->head.share());
  joined.head.clear_ended_unix_nanos();
  if (newest->head.has_ended_unix_nanos()) {
    joined.head.set_ended_unix_nanos(newest->head.ended_unix_nanos());
  }
  if (joined.head.has_range_end_unix_nanos()) {
    joined.head.set_range_end_unix_nanos(range_end);
  }
  for (auto& [window, value] : windows) {
    if (!newest->values.empty()) {
      value.newest_sample = newest->values.front().newest_sample;
    }
    joined.values.push_back(std::move(value));
  }
  return joined;
}

RawSeries Join(std::vector<RawSeries> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  std::map<std::tuple<int64_t, int64_t, int64_t>, v1::RawSample> by_clocks;
  for (RawSeries& part : parts) {
    for (v1::RawSample& sample : part.samples) {
      by_clocks.try_emplace({sample.perf_time_100nsec(),
                             sample.perf_time_stamp(), sample.perf_freq()},
                            std::move(sample));
    }
  }
  RawSeries joined(parts.front().head);
  for (auto& [clocks, sample] : by_clocks) {
    joined.samples.push_back(std::move(sample));
  }
  return joined;
}

void KeepRanked(const v1::QueryRangeRequest& request,
                std::vector<RangeSeries>* series) {
  const auto counter = [](const RangeSeries& of) {
    return std::tie(of.series().counterset(), of.series().counter(),
                    of.series().unit());
  };
  const double sign = request.top() > 0 ? -1 : 1;
  std::stable_sort(series->begin(), series->end(),
                   [&](const RangeSeries& a, const RangeSeries& b) {
                     if (counter(a) != counter(b))
                       return counter(a) < counter(b);
                     return sign * a.head.share() < sign * b.head.share();
                   });
  const size_t limit = std::max(request.top(), request.bottom());
  std::vector<RangeSeries> kept;
  size_t of_counter = 0;
  for (RangeSeries& one : *series) {
    const bool is_first = kept.empty() || counter(kept.back()) != counter(one);
    of_counter = is_first ? 1 : of_counter + 1;
    if (of_counter <= limit) kept.push_back(std::move(one));
  }
  *series = std::move(kept);
}

}  // namespace fleetperf::cli
