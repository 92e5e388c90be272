#include "aggregator/query/range_query.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr int64_t kMaxWindows = 100'000;
constexpr size_t kMaxPoints = 10'000'000;

absl::Status CheckRequest(const RangeRequest& request) {
  if (request.since.has_value() == request.start.has_value()) {
    return absl::InvalidArgumentError(
        "exactly one of since and start is needed");
  }
  if (request.since.has_value() && *request.since <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("since must be more than 0");
  }
  if (request.step < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("step must not be negative");
  }
  return absl::OkStatus();
}

// A start that is so long before the end is moved down to a multiple of the
// step, so that asking again gives the same windows.
absl::Time AlignDown(absl::Time time, absl::Duration step) {
  if (step == absl::ZeroDuration()) return time;
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), step);
}

class RangeSink : public SeriesSink {
 public:
  RangeSink(const CounterFormula& formula, const WindowGrid& grid,
            const RangeRequest& request)
      : evaluator(formula, grid, request.over,
                  /*only_windows=*/request.aggregation.has_value()) {}

  absl::Status Add(absl::Span<const RawSample> samples,
                   absl::Duration interval) override {
    for (const RawSample& sample : samples) evaluator.Add(sample, interval);
    return absl::OkStatus();
  }

  RangeEvaluator evaluator;
};

// Where the values of a machine's series go: to the answer, or into groups.
class Results {
 public:
  explicit Results(const RangeRequest& request) : request_(request) {
    if (request.aggregation.has_value()) groups_.emplace(*request.aggregation);
  }

  absl::Status Add(MachineSeries machine_series) {
    for (FoundSeries& found : machine_series.series) {
      if (found.is_unnamed_aggregate &&
          (request_.top > 0 || groups_.has_value())) {
        continue;
      }
      const RangeEvaluator& evaluator =
          static_cast<const RangeSink&>(*found.sink).evaluator;
      // Unless a later tick shows that the instance is gone.
      const bool goes_on = evaluator.newest().has_value() &&
                           found.last_tick - *evaluator.newest() <=
                               found.interval * kMaxIntervalsApart;
      SeriesResult result{
          .points = evaluator.Finish(goes_on, machine_series.losses),
          .total = evaluator.Total()};
      if (result.points.empty()) continue;
      any_ = true;
      if (groups_.has_value()) {
        groups_->Add(found, result.points, result.total,
                     request_.step > absl::ZeroDuration());
      } else {
        result.series = std::move(found.series);
        points_ += result.points.size();
        results_.push_back(std::move(result));
      }
      if (points_ > kMaxPoints) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the answer has more than ", kMaxPoints,
            " values; choose a longer step or fewer series, or --agg"));
      }
    }
    return absl::OkStatus();
  }

  bool empty() const { return !any_; }

  std::vector<SeriesResult> Finish() {
    if (groups_.has_value()) {
      for (GroupedSeries::Group& group : groups_->Finish()) {
        results_.push_back({.series = std::move(group.series),
                            .points = std::move(group.points),
                            .total = group.total});
      }
    }
    return std::move(results_);
  }

 private:
  const RangeRequest& request_;
  bool any_ = false;
  size_t points_ = 0;
  std::vector<SeriesResult> results_;
  std::optional<GroupedSeries> groups_;
};

void KeepTop(uint32_t top, std::vector<SeriesResult>* results) {
  std::erase_if(*results, [](const SeriesResult& result) {
    return !result.total.result.ok();
  });
  std::stable_sort(results->begin(), results->end(),
                   [](const SeriesResult& a, const SeriesResult& b) {
                     return a.total.result.value > b.total.result.value;
                   });
  if (results->size() > top) results->resize(top);
}

}  // namespace

absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request, absl::Time now) {
  RETURN_IF_ERROR(CheckRequest(request));
  WindowGrid grid{.end = request.end.value_or(now), .step = request.step};
  grid.start = request.start.has_value()
                   ? *request.start
                   : AlignDown(grid.end - *request.since, request.step);
  if (grid.start >= grid.end) {
    return absl::InvalidArgumentError("the range ends before it starts");
  }
  if (grid.count() > kMaxWindows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the range has ", grid.count(), " windows, more than ",
                     kMaxWindows, "; choose a longer step"));
  }
  return grid;
}

absl::StatusOr<std::vector<SeriesResult>> RunRangeQuery(
    const RangeRequest& request, Store& store, const MachineNow& now_of) {
  ASSIGN_OR_RETURN(const PathSet paths,
                   PathSet::Parse(request.paths, store.directory()));
  ASSIGN_OR_RETURN(const Selected selected, paths.Select(store.directory()));
  Results all(request);
  std::set<std::string> instance_names;
  for (const auto& [machine, countersets] : selected) {
    ASSIGN_OR_RETURN(const WindowGrid grid, GridOf(request, now_of(machine)));
    ASSIGN_OR_RETURN(MachineSeries machine_series,
                     ReadSeries(store, machine, countersets, grid.start,
                                grid.end, [&](const CounterFormula& formula) {
                                  return std::make_unique<RangeSink>(
                                      formula, grid, request);
                                }));
    instance_names.merge(machine_series.instance_names);
    RETURN_IF_ERROR(all.Add(std::move(machine_series)));
  }
  if (all.empty() && !instance_names.empty()) {
    RETURN_IF_ERROR(paths.CheckInstances(instance_names));
  }
  std::vector<SeriesResult> results = all.Finish();
  if (request.top > 0) {
    KeepTop(request.top, &results);
  } else {
    std::stable_sort(
        results.begin(), results.end(),
        [](const SeriesResult& a, const SeriesResult& b) {
          return std::forward_as_tuple(a.series.machine(), a.series.path()) <
                 std::forward_as_tuple(b.series.machine(), b.series.path());
        });
  }
  return results;
}

}  // namespace fleetperf::aggregator
