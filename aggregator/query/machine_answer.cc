#include "aggregator/query/machine_answer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "aggregator/query/range_evaluator.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// What reading a machine takes.
struct Usage {
  const size_t limit;    // of `held`
  size_t held = 0;       // by all its series
  size_t most_held = 0;  // so far
  size_t samples = 0;    // that were read
};

class RangeSink : public SeriesSink {
 public:
  RangeSink(const CounterFormula& formula, const WindowGrid& grid,
            const Evaluation& evaluation, StretchTable* stretches,
            QueryMeter* meter, Usage* usage)
      : evaluator(formula, grid, evaluation.over, evaluation.only_windows),
        stretches_(*stretches),
        meter_(*meter),
        usage_(*usage) {}

  absl::Status Add(const SeriesRun& run) override {
    usage_.samples += run.ticks();
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    usage_.held -= evaluator.held();
    evaluator.Add(run, stretches_.Of(run));
    usage_.held += evaluator.held();
    usage_.most_held = std::max(usage_.most_held, usage_.held);
    if (usage_.held > usage_.limit) return meter_.TooMuchHeld();
    return absl::OkStatus();
  }

  RangeEvaluator evaluator;

 private:
  StretchTable& stretches_;
  QueryMeter& meter_;
  Usage& usage_;
};

SeriesAnswer Finish(const std::vector<Loss>& losses, FoundSeries found) {
  RangeEvaluator& evaluator = static_cast<RangeSink&>(*found.sink).evaluator;
  // Unless a later tick shows that the instance is gone.
  const bool goes_on =
      evaluator.newest().has_value() && found.last_tick - *evaluator.newest() <=
                                            found.interval * kMaxIntervalsApart;
  SeriesResult result{.series = std::move(found.series),
                      .points = evaluator.Finish(goes_on, losses),
                      .total = evaluator.Total()};
  found.sink = nullptr;  // what it held is in the result
  return {std::move(found), std::move(result)};
}

}  // namespace

absl::StatusOr<std::optional<MachineAnswer>> EvaluateMachine(
    Store& store, const std::string& machine,
    const std::vector<SelectedCounterset>& countersets, const WindowGrid& grid,
    const Evaluation& evaluation, size_t most_held, QueryMeter* meter) {
  StretchTable stretches(grid);
  Usage usage{.limit = most_held};
  auto read =
      ReadSeries(store, machine, countersets, grid.start, grid.end,
                 [&](const CounterFormula& formula) {
                   return std::make_unique<RangeSink>(
                       formula, grid, evaluation, &stretches, meter, &usage);
                 });
  if (usage.held > usage.limit) {
    meter->Forget(usage.samples);
    return std::nullopt;
  }
  RETURN_IF_ERROR(read.status());
  MachineAnswer answer{.instance_names = std::move(read->instance_names),
                       .most_held = usage.most_held};
  for (FoundSeries& found : read->series) {
    if (found.is_unnamed_aggregate && !evaluation.unnamed_aggregates) continue;
    SeriesAnswer series = Finish(read->losses, std::move(found));
    if (!series.result.points.empty()) {
      answer.series.push_back(std::move(series));
    }
  }
  return answer;
}

}  // namespace fleetperf::aggregator
