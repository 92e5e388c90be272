#include "aggregator/query/explain.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator/formula/formula_text.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxExplanations = 100;

absl::Time TimeOf(const RawSample& sample) {
  return perflib::TimeFromPerfTime100NSec(sample.clocks.perf_time_100nsec);
}

// Keeps the newest two samples at or before a time.
class NewestSink : public SeriesSink {
 public:
  explicit NewestSink(absl::Time time) : time_(time) {}

  absl::Status Add(const SeriesRun& run) override {
    interval = run.interval();
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const RawSample sample = run.Sample(tick);
      if (TimeOf(sample) > time_) continue;
      older = std::exchange(newer, sample);
    }
    return absl::OkStatus();
  }

  std::optional<RawSample> older;
  std::optional<RawSample> newer;
  absl::Duration interval;

 private:
  const absl::Time time_;
};

CalculatedValue ValueOf(const CounterFormula& formula, const NewestSink& sink) {
  if (!formula.uses_two_samples() || !sink.older.has_value()) {
    return CalculateSample(formula, *sink.newer);
  }
  const Piece piece =
      MakePiece(formula, *sink.older, *sink.newer, sink.interval);
  return piece.sound() ? CalculateGrowth(formula, piece.growth) : piece.problem;
}

v1::Explanation Explain(const FoundSeries& found, const NewestSink& sink) {
  const CounterFormula& formula = found.formula;
  const CalculatedValue value = ValueOf(formula, sink);
  v1::Explanation explanation;
  *explanation.mutable_series() = found.series;
  explanation.set_counterset_guid(found.schema->registration.guid.ToString());
  explanation.set_counter_id(formula.counter_id);
  if (formula.uses_two_samples() && sink.older.has_value()) {
    *explanation.mutable_older() = ToProto(*sink.older);
  }
  *explanation.mutable_newer() = ToProto(*sink.newer);
  explanation.set_denominator(DenominatorText(formula));
  explanation.set_formula(FormulaText(formula));
  if (value.ok()) {
    explanation.set_arithmetic(
        ArithmeticText(formula, sink.older, *sink.newer));
    explanation.set_value(value.value);
  }
  explanation.set_status(ToProto(value.status));
  explanation.set_cause(ToProto(value.cause));
  return explanation;
}

}  // namespace

absl::StatusOr<v1::ExplainValueResponse> RunExplain(
    const std::string& path, std::optional<absl::Time> time, Store& store,
    const MachineNow& now_of) {
  ASSIGN_OR_RETURN(const PathSet paths,
                   PathSet::Parse({path}, store.directory()));
  ASSIGN_OR_RETURN(const Selected selected, paths.Select(store.directory()));
  std::vector<v1::Explanation> explanations;
  InstanceCheck instance_check(paths);
  for (const auto& [machine, countersets] : selected) {
    const absl::Time at = time.value_or(now_of(machine));
    ASSIGN_OR_RETURN(MachineSeries machine_series,
                     ReadSeries(store, machine, countersets,
                                at - LongestInterval(store.directory(), machine,
                                                     countersets) *
                                         kMaxIntervalsApart,
                                at, [&](const CounterFormula&) {
                                  return std::make_unique<NewestSink>(at);
                                }));
    instance_check.Add(machine_series.instance_names);
    for (const FoundSeries& found : machine_series.series) {
      const auto& sink = static_cast<const NewestSink&>(*found.sink);
      if (!sink.newer.has_value() ||
          at - TimeOf(*sink.newer) > sink.interval * kMaxIntervalsApart) {
        continue;
      }
      explanations.push_back(Explain(found, sink));
    }
  }
  RETURN_IF_ERROR(instance_check.Finish());
  std::sort(
      explanations.begin(), explanations.end(),
      [](const auto& a, const auto& b) {
        return std::forward_as_tuple(a.series().machine(), a.series().path()) <
               std::forward_as_tuple(b.series().machine(), b.series().path());
      });
  v1::ExplainValueResponse response;
  for (v1::Explanation& explanation : explanations) {
    if (response.explanations_size() == kMaxExplanations) break;
    *response.add_explanations() = std::move(explanation);
  }
  response.set_left_out(explanations.size() -
                        static_cast<size_t>(response.explanations_size()));
  return response;
}

}  // namespace fleetperf::aggregator
