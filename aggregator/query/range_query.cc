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
// Values that a query holds in memory, or windows that are to become some.
constexpr size_t kMaxHeld = 2'000'000;

absl::Status StepTooLong(absl::Duration step, absl::Duration range) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the step of ", absl::FormatDuration(step),
      " is longer than the range of ", absl::FormatDuration(range)));
}

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
  if (request.since.has_value() && *request.since < request.step) {
    return StepTooLong(request.step, *request.since);
  }
  return absl::OkStatus();
}

// A start that is so long before the end is moved down to a multiple of the
// step, so that asking again gives the same windows.
absl::Time AlignDown(absl::Time time, absl::Duration step) {
  if (step == absl::ZeroDuration()) return time;
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), step);
}

absl::Status CheckHeld(size_t held) {
  if (held <= kMaxHeld) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the query needs more than ", kMaxHeld,
                   " values at a time; choose a longer step or fewer series"));
}

class RangeSink : public SeriesSink {
 public:
  // `held` counts what all sinks of a machine hold, and what was kept before.
  RangeSink(const CounterFormula& formula, const WindowGrid& grid,
            const RangeRequest& request, StretchTable* stretches, size_t* held)
      : evaluator(formula, grid, request.over,
                  /*only_windows=*/request.aggregation.has_value()),
        stretches_(*stretches),
        held_(*held) {}

  absl::Status Add(const SeriesRun& run) override {
    held_ -= evaluator.held();
    evaluator.Add(run, stretches_.Of(run));
    held_ += evaluator.held();
    return CheckHeld(held_);
  }

  RangeEvaluator evaluator;

 private:
  StretchTable& stretches_;
  size_t& held_;
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
      if (groups_.has_value()) {
        groups_->Add(found, result.points, result.total,
                     request_.step > absl::ZeroDuration());
      } else {
        result.series = std::move(found.series);
        points_ += result.points.size();
        results_.push_back(std::move(result));
      }
      RETURN_IF_ERROR(CheckHeld(held()));
    }
    return absl::OkStatus();
  }

  // How many values and windows of groups it holds.
  size_t held() const {
    return points_ + (groups_.has_value() ? groups_->windows() : 0);
  }

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
  size_t points_ = 0;
  std::vector<SeriesResult> results_;
  std::optional<GroupedSeries> groups_;
};

// The time of day up to which samples of all machines can be there: the
// earliest of theirs. One whose clock is far behind does not hold the others
// back. Where as many are ahead as are not, those that are not count.
std::optional<absl::Time> CommonNow(const Selected& selected,
                                    const MachineNow& now_of) {
  // Ticks may wait up to five minutes at an agent.
  constexpr absl::Duration kMostBehind = absl::Minutes(6);
  std::vector<absl::Time> nows;
  for (const auto& [machine, countersets] : selected) {
    nows.push_back(now_of(machine));
  }
  if (nows.empty()) return std::nullopt;
  std::sort(nows.begin(), nows.end());
  const absl::Time median = nows[(nows.size() - 1) / 2];
  return *std::lower_bound(nows.begin(), nows.end(), median - kMostBehind);
}

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
  if (grid.count() == 0) {
    return StepTooLong(request.step, grid.end - grid.start);
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
  // Values can only be combined if they are of the same windows.
  std::optional<absl::Time> common_now;
  if (request.aggregation.has_value()) {
    common_now = CommonNow(selected, now_of);
  }
  std::set<std::string> instance_names;
  for (const auto& [machine, countersets] : selected) {
    const absl::Time now = common_now.value_or(now_of(machine));
    ASSIGN_OR_RETURN(const WindowGrid grid, GridOf(request, now));
    StretchTable stretches(grid);
    size_t held = all.held();
    ASSIGN_OR_RETURN(MachineSeries machine_series,
                     ReadSeries(store, machine, countersets, grid.start,
                                grid.end, [&](const CounterFormula& formula) {
                                  return std::make_unique<RangeSink>(
                                      formula, grid, request, &stretches,
                                      &held);
                                }));
    instance_names.merge(machine_series.instance_names);
    RETURN_IF_ERROR(all.Add(std::move(machine_series)));
  }
  if (!instance_names.empty()) {
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
