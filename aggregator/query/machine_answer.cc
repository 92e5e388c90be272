#include "aggregator/query/machine_answer.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/silent_machines.h"
#include "base/status_macros.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// Evaluates the series of a machine, and counts the windows and values in
// memory.
class Evaluators : public SeriesSink {
 public:
  Evaluators(const WindowGrid& grid, const Evaluation& evaluation,
             size_t max_held, bool takes_folds, QueryMeter* meter)
      : grid_(grid),
        evaluation_(evaluation),
        takes_folds_(takes_folds),
        intervals_(grid, evaluation.keeps_intervals),
        limit_(max_held),
        meter_(*meter) {}

  absl::Status Work(size_t steps) override { return meter_.Work(steps); }

  bool TakesFolded(const CounterFormula& formula, absl::Duration interval,
                   int64_t second, int64_t last) override {
    // Otherwise each sample yields a point.
    const bool combines = evaluation_.only_windows ||
                          grid_.step == absl::ZeroDuration() ||
                          grid_.step > interval;
    return takes_folds_ && combines &&
           RangeEvaluator::TakesFolds(formula, evaluation_.over) &&
           intervals_.AreTogether(second, last);
  }

  bool NeedsExtremes(const CounterFormula& formula) override {
    // The mean of a fraction is limited to its extremes.
    return evaluation_.over == Over::kMinimum ||
           evaluation_.over == Over::kMaximum ||
           formula.formula == perflib::Formula::kRawFraction;
  }

  bool NeedsInstanceNames() override {
    return evaluation_.needs_instance_names;
  }

  void BeginFrame(const Frame& frame) override {
    intervals_.Add(frame);
    has_ticks_ = has_ticks_ || HasTickIn(frame, grid_);
  }

  void Begin(const CounterFormula& formula) override {
    evaluators_.emplace_back(formula, grid_, evaluation_.over,
                             evaluation_.only_windows,
                             evaluation_.keeps_intervals);
  }

  absl::Status Add(size_t series, const SeriesRun& run) override {
    RangeEvaluator& evaluator = evaluators_[series];
    samples_ += run.ticks();
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    held_ -= evaluator.held();
    evaluator.Add(run, intervals_);
    held_ += evaluator.held();
    max_held_ = std::max(max_held_, held_);
    return exceeds_limit() ? meter_.TooMuchHeld() : absl::OkStatus();
  }

  SeriesAnswer Finish(FoundSeries found, const std::vector<Loss>& losses) {
    RangeEvaluator& evaluator = evaluators_[found.number];
    const std::optional<absl::Time> newest = evaluator.newest();
    const absl::Duration longest = found.interval * kMaxIntervalsApart;
    // The series continues unless a later tick shows that the instance has
    // ended.
    const bool goes_on =
        newest.has_value() && found.last_tick - *newest <= longest;
    const IntervalTimes& times = intervals_.TimesOf(
        *found.schema, found.formula.counter_id, evaluator.queries());
    SeriesResult result{
        .series = std::move(found.series),
        .points = evaluator.Finish(goes_on, losses, times),
        .total = evaluator.Total(times),
        .is_weighted = IsWeighted(found.formula, evaluation_.over)};
    if (grid_.step == absl::ZeroDuration() && newest.has_value() &&
        grid_.end - *newest > longest) {
      result.stopped = newest;
    }
    if (!goes_on) result.ended = newest;
    if (evaluation_.keeps_intervals) {
      result.intervals = IntervalsOf(found, evaluator.TakeIntervals());
    }
    return {std::move(found), std::move(result)};
  }

  std::shared_ptr<const SeriesIntervals> IntervalsOf(
      const FoundSeries& found, RangeEvaluator::Intervals there) const {
    const std::optional<IntervalSet> all =
        intervals_.SetOf(*found.schema, found.formula.counter_id);
    if (!all.has_value()) return nullptr;
    return std::make_shared<const SeriesIntervals>(
        SeriesIntervals{.grid = grid_,
                        .there = std::move(there.sound),
                        .known = all->Without(there.broken)});
  }

  // See RangeEvaluator.
  bool needs_samples() const {
    return std::any_of(evaluators_.begin(), evaluators_.end(),
                       [](const RangeEvaluator& evaluator) {
                         return evaluator.needs_samples();
                       });
  }
  bool exceeds_limit() const { return held_ > limit_; }
  size_t max_held() const { return max_held_; }  // so far
  size_t samples() const { return samples_; }    // samples read
  bool has_ticks() const { return has_ticks_; }  // in the range

 private:
  const WindowGrid grid_;
  const Evaluation evaluation_;
  const bool takes_folds_;
  TickIntervals intervals_;
  const size_t limit_;  // of held_
  QueryMeter& meter_;
  std::deque<RangeEvaluator> evaluators_;
  size_t held_ = 0;  // windows and values of all series
  size_t max_held_ = 0;
  size_t samples_ = 0;
  bool has_ticks_ = false;
};

}  // namespace

absl::StatusOr<std::optional<MachineAnswer>> EvaluateMachine(
    ReadableStore& store, const std::string& machine,
    const std::vector<SelectedCounterset>& countersets, const WindowGrid& grid,
    const Evaluation& evaluation, size_t max_held, QueryMeter* meter) {
  auto evaluators = std::make_unique<Evaluators>(grid, evaluation, max_held,
                                                 /*takes_folds=*/true, meter);
  const auto read_all = [&] {
    return ReadSeries(store, machine, countersets, grid.start, grid.end,
                      evaluators.get());
  };
  auto read = read_all();
  if (read.ok() && evaluators->needs_samples()) {
    meter->Forget(evaluators->samples());
    evaluators = std::make_unique<Evaluators>(grid, evaluation, max_held,
                                              /*takes_folds=*/false, meter);
    read = read_all();
  }
  if (evaluators->exceeds_limit()) {
    meter->Forget(evaluators->samples());
    return std::nullopt;
  }
  RETURN_IF_ERROR(read.status());
  MachineAnswer answer{.instance_names = std::move(read->instance_names),
                       .has_ticks = evaluators->has_ticks(),
                       .max_held = evaluators->max_held()};
  // So the answer does not depend on how samples are stored.
  std::vector<FoundSeries*> by_path;
  for (FoundSeries& found : read->series) by_path.push_back(&found);
  std::stable_sort(by_path.begin(), by_path.end(),
                   [](const FoundSeries* a, const FoundSeries* b) {
                     return a->series.path() < b->series.path();
                   });
  for (FoundSeries* found : by_path) {
    if (found->is_unnamed_aggregate && !evaluation.unnamed_aggregates) continue;
    SeriesAnswer series = evaluators->Finish(std::move(*found), read->losses);
    RETURN_IF_ERROR(meter->Work(series.result.points.size()));
    if (!series.result.points.empty()) {
      answer.series.push_back(std::move(series));
    }
  }
  return answer;
}

}  // namespace fleetperf::aggregator
