#include "cli/joined_series.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

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

// Returns the part of its window that a value covers, as if a partial window
// were a whole one.
double CoveredPart(const Value& value, const v1::QueryRangeRequest& request) {
  if (!value.is_partial) return value.coverage;
  const absl::Duration rest = WindowOf(value, request) - value.time;
  return value.coverage *
         (1 - absl::FDivDuration(rest, FromProto(request.step())));
}

// Whether `a` says more of their window than `b`.
bool IsBetter(const Value& a, const Value& b,
              const v1::QueryRangeRequest& request) {
  const auto rank = [&](const Value& value) {
    const bool has_cause = value.cause != v1::GAP_CAUSE_UNSPECIFIED &&
                           value.cause != v1::GAP_CAUSE_NO_SAMPLES;
    return std::make_tuple(CoveredPart(value, request), value.ok(), has_cause);
  };
  return rank(a) > rank(b);
}

// Returns the number of windows that the values cover.
double CoverageOf(const RangeSeries& part,
                  const v1::QueryRangeRequest& request) {
  double sum = 0;
  for (const Value& value : part.values) {
    if (value.ok()) sum += CoveredPart(value, request);
  }
  return sum;
}

// Ranks parts by how far they continue: by the last window with samples. Of two
// that end in one window, the one whose answer ends first continues: while an
// agent is connected, the range ends with its newest sample.
auto EndOf(const RangeSeries& part, const v1::QueryRangeRequest& request) {
  absl::Time end = absl::InfinitePast();
  absl::Time answered = end;
  for (const Value& value : part.values) {
    answered = value.time;
    if (!value.ok() && value.coverage == 0) continue;
    // Without a step, only samples that do not reach the end have a time.
    end = value.newest_sample.value_or(WindowOf(value, request));
  }
  return std::make_pair(end, absl::UnixEpoch() - answered);
}

// Makes the rest of an aggregator's range a value of its whole window.
void Complete(absl::Time window, const v1::QueryRangeRequest& request,
              Value* value) {
  value->coverage = CoveredPart(*value, request);
  value->time = window;
  value->is_partial = false;
}

}  // namespace

void AddValues(const v1::QueryRangeResponse& response, RangeSeries* series) {
  ForEachValue(response.points(),
               [&](const Value& value) { series->values.push_back(value); });
}

void AddValues(const v1::QueryRawResponse& response, RawSeries* series) {
  const auto& added = response.samples().samples();
  series->values.insert(series->values.end(), added.begin(), added.end());
}

RangeSeries Join(std::vector<RangeSeries> parts,
                 const v1::QueryRangeRequest& request) {
  if (parts.size() == 1) return std::move(parts.front());
  const auto widest = std::max_element(
      parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
        return CoverageOf(a, request) < CoverageOf(b, request);
      });
  const auto newest = std::max_element(
      parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
        return EndOf(a, request) < EndOf(b, request);
      });
  RangeSeries joined{.head = newest->head};
  joined.head.clear_share();
  if (widest->head.has_share()) joined.head.set_share(widest->head.share());
  std::map<absl::Time, Value> windows;
  for (const RangeSeries& part : parts) {
    if (CoverageOf(part, request) > 0)
      joined.holders.push_back(part.holders.front());
    for (const Value& value : part.values) {
      const auto [known, is_new] =
          windows.try_emplace(WindowOf(value, request), value);
      if (!is_new && IsBetter(value, known->second, request))
        known->second = value;
    }
  }
  if (newest->values.empty()) return joined;
  // Later windows are of parts that the agent has left: their samples are in
  // flight to the newest part.
  windows.erase(windows.upper_bound(WindowOf(newest->values.back(), request)),
                windows.end());
  for (auto& [window, value] : windows) {
    const bool is_last = window == windows.rbegin()->first;
    if (value.is_partial && !is_last) Complete(window, request, &value);
    value.newest_sample = newest->values.front().newest_sample;
    joined.values.push_back(std::move(value));
  }
  return joined;
}

RawSeries Join(std::vector<RawSeries> parts, const v1::QueryRawRequest&) {
  if (parts.size() == 1) return std::move(parts.front());
  std::map<std::tuple<int64_t, int64_t, int64_t>, v1::RawSample> by_clocks;
  for (RawSeries& part : parts) {
    for (v1::RawSample& sample : part.values) {
      by_clocks.try_emplace({sample.perf_time_100nsec(),
                             sample.perf_time_stamp(), sample.perf_freq()},
                            std::move(sample));
    }
  }
  RawSeries joined{.head = parts.front().head};
  for (auto& [clocks, sample] : by_clocks) {
    joined.values.push_back(std::move(sample));
  }
  return joined;
}

}  // namespace fleetperf::cli
